package taskmodel

import (
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

// group summarises the rows with identical features.
type group struct {
	Mean     float64              // mean log peak
	Recent   float64              `cbor:"Fresh"` // log peak, smoothed exponentially: the newest row has weight 1/2
	Rows     float64              // number of rows, at most groupMemory
	Squares  float64              // sum of the squared deviations from Mean; after groupMemory rows, older deviations lose weight
	Seconds  float64              // mean log1p of the seconds; an unknown run time counts as the mean so far; 0: all are unknown
	Cores    float64              // mean log cores of the rows with a CPU measurement
	CoreRows float64              // number of rows with a CPU measurement, at most groupMemory
	Seen     int                  // models.Clock when the newest row was added
	Newest   [newestPeaks]float64 // peaks of the newest rows, newest first; 0: none
	Older    [olderPeaks]float32  `cbor:",omitzero"` // peaks of the rows before those of Newest, newest first; 0: none
}

// groups holds the groups of a task by groupKey. The features of most tasks include continuous numbers, so most groups
// have one row. Such a group is stored in a compact form, a singleRow, which takes less than half the memory. A blob stores
// map[uint64]group.
type groups struct {
	keys    []uint64    // ascending
	at      []uint32    // by key, in the order of `keys`: an index in `full` or, if the bit isSingle is set, in `singles`
	full    []group     // in any order
	singles []singleRow // in any order
}

// isSingle is the bit that marks an element of groups.at as an index in groups.singles.
const isSingle = 1 << 31

type singleRow struct {
	mean, seconds float64 // as in group
	cores         float64 // log cores; NaN: no measurement
	peak          float64
	seen          uint32
}

// newSingleRow returns ok = false if the compact form cannot hold all values of g.
func newSingleRow(g *group) (s singleRow, ok bool) {
	s = singleRow{mean: g.Mean, seconds: g.Seconds, cores: g.Cores, peak: g.Newest[0], seen: uint32(g.Seen)}
	if g.CoreRows == 0 {
		s.cores = math.NaN()
	}
	return s, s.group() == *g
}

func (s *singleRow) group() group {
	g := group{Mean: s.mean, Recent: s.mean, Rows: 1, Seconds: s.seconds, Seen: int(s.seen), Newest: [newestPeaks]float64{s.peak}}
	if !math.IsNaN(s.cores) {
		g.Cores, g.CoreRows = s.cores, 1
	}
	return g
}

func (gs *groups) len() int { return len(gs.keys) }

func (gs *groups) find(key uint64, dst *group) *group {
	i, ok := slices.BinarySearch(gs.keys, key)
	if !ok {
		return nil
	}
	gs.read(i, dst)
	return dst
}

func (gs *groups) read(i int, dst *group) {
	if at := gs.at[i]; at&isSingle != 0 {
		*dst = gs.singles[at&^isSingle].group()
	} else {
		*dst = gs.full[at]
	}
}

func (gs *groups) set(key uint64, g *group) {
	i, ok := slices.BinarySearch(gs.keys, key)
	if !ok {
		gs.keys, gs.at = slices.Insert(gs.keys, i, key), slices.Insert(gs.at, i, 0)
		gs.at[i] = gs.insert(g)
		return
	}
	at := gs.at[i]
	if at&isSingle == 0 {
		gs.full[at] = *g
		return
	}
	gs.removeSingle(at)
	gs.at[i] = gs.insert(g)
}

// insert stores a group and returns its element for groups.at.
func (gs *groups) insert(g *group) uint32 {
	if s, ok := newSingleRow(g); ok {
		gs.singles = append(gs.singles, s)
		return uint32(len(gs.singles)-1) | isSingle
	}
	gs.full = append(gs.full, *g)
	return uint32(len(gs.full) - 1)
}

// removeSingle removes a compact group; `at` is its element of gs.at. The last compact group takes the place of the removed
// one in gs.singles.
func (gs *groups) removeSingle(at uint32) {
	last := uint32(len(gs.singles) - 1)
	if moved := slices.Index(gs.at, last|isSingle); moved >= 0 {
		gs.at[moved] = at
	}
	gs.singles[at&^isSingle] = gs.singles[last]
	gs.singles = gs.singles[:last]
}

// newGroups converts the form that a blob stores. The slices of the result have no unused capacity.
func newGroups(stored map[uint64]group) *groups {
	gs := &groups{keys: make([]uint64, 0, len(stored)), at: make([]uint32, 0, len(stored))}
	singles := 0
	for key, g := range stored {
		gs.keys = append(gs.keys, key)
		if _, ok := newSingleRow(&g); ok {
			singles++
		}
	}
	slices.Sort(gs.keys)
	gs.full, gs.singles = make([]group, 0, len(stored)-singles), make([]singleRow, 0, singles)
	for _, key := range gs.keys {
		g := stored[key]
		gs.at = append(gs.at, gs.insert(&g))
	}
	return gs
}

func (gs *groups) stored() map[uint64]group {
	stored := make(map[uint64]group, gs.len())
	for i, key := range gs.keys {
		var g group
		gs.read(i, &g)
		stored[key] = g
	}
	return stored
}

// MarshalCBOR encodes the groups as map[uint64]group.
func (gs *groups) MarshalCBOR() ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(gs.stored())
}

// UnmarshalCBOR decodes the output of MarshalCBOR.
func (gs *groups) UnmarshalCBOR(data []byte) error {
	var stored map[uint64]group
	if err := decoding.Unmarshal(data, &stored); err != nil {
		return err
	}
	*gs = *newGroups(stored)
	return nil
}

func (gs *groups) bytes() int64 {
	return sliceBytes(gs.keys) + sliceBytes(gs.at) + sliceBytes(gs.full) + sliceBytes(gs.singles)
}
