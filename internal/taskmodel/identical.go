package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// groupKey returns the key of the group of a row, which summarises the rows with identical features: a hash of the features
// (FNV-1a, 64 bit). The hash includes the names of the fields, so that keys stay valid when the schema grows. If `selected`
// is not nil, the hash covers only the selected columns.
func groupKey(columns []column, cells []sizing.Value, selected []bool) uint64 {
	h := noValues
	for j := range columns {
		if v := cells[j]; v.Kind != sizing.Missing && !columns[j].IsOtherKind && (selected == nil || selected[j]) {
			h = h.with(&columns[j], v)
		}
	}
	return uint64(h)
}

// valuesHash is the FNV-1a hash of names and values of features.
type valuesHash uint64

const noValues valuesHash = 14695981039346656037

func (h valuesHash) with(c *column, v sizing.Value) valuesHash {
	h = h.withText(c.Name)
	if v.Kind == sizing.Category {
		return h.withText(v.Text)
	}
	bits := math.Float64bits(v.Num)
	for shift := 0; shift < 64; shift += 8 {
		h = h.withByte(byte(bits >> shift))
	}
	return h
}

func (h valuesHash) withText(s string) valuesHash {
	for i := range len(s) {
		h = h.withByte(s[i])
	}
	return h.withByte(0)
}

func (h valuesHash) withByte(b byte) valuesHash { return (h ^ valuesHash(b)) * 1099511628211 }

func (m *models) addToGroups(r *row) {
	m.Clock++
	m.Groups.add(groupKey(m.Enc.Columns, r.Cells, nil), r, m.Clock)
	m.addToRecurring(r, m.Clock)
}

// add adds a row to the group of a key. `seen` is models.Clock at this row. Newest and Older get the measured peak of a low
// outlier (winsorise.go), but any number of successive low outliers never lowers the result of largestPeak. Mean and
// Recent get its raised peak until the features explain the measured one (see group.explains).
func (gs *groups) add(key uint64, r *row, seen int) {
	g := gs.find(key, new(group))
	y := math.Log(r.Peak)
	if g.explains(r) {
		y = math.Log(r.measured())
	}
	if g == nil {
		g = &group{Recent: y}
	} else {
		g.Recent += (y - g.Recent) * 0.5
		g.Squares += (y - g.Mean) * (y - g.Mean)
	}
	if g.Rows == groupMemory {
		g.Squares *= 1 - 1.0/groupMemory
	}
	g.Rows = min(g.Rows+1, groupMemory)
	g.Mean += (y - g.Mean) / g.Rows
	switch {
	case r.Untimed:
	case g.Seconds == 0:
		g.Seconds = math.Log1p(r.Seconds)
	default:
		g.Seconds += (math.Log1p(r.Seconds) - g.Seconds) / g.Rows
	}
	if r.Cores > 0 {
		g.CoreRows = min(g.CoreRows+1, groupMemory)
		g.Cores += (math.Log(r.Cores) - g.Cores) / g.CoreRows
	}
	g.Seen = seen
	if oldest := float32(g.Newest[newestPeaks-1]); r.Measured == 0 || oldest > slices.Max(g.Older[:]) {
		copy(g.Older[1:], g.Older[:])
		g.Older[0] = oldest
	}
	copy(g.Newest[1:], g.Newest[:])
	g.Newest[0] = r.measured()
	gs.set(key, g)
}

// explains reports whether the features explain a low outlier: at least newestPeaks earlier rows have the same features, and
// largestPeak is below the threshold of low outliers, which is r.Peak.
func (g *group) explains(r *row) bool {
	return g != nil && g.Rows >= newestPeaks && g.largestPeak() < r.Peak
}

// minAmount returns the smallest amount to grant to a run with the features of the group, in bytes; zero for a nil group.
func (g *group) minAmount() float64 {
	if g == nil {
		return 0
	}
	return slices.Max(g.Newest[:]) * (1 + Headroom)
}

func (g *group) largestPeak() float64 {
	return max(slices.Max(g.Newest[:]), float64(slices.Max(g.Older[:])))
}

const (
	olderPeaks  = 5 // length of group.Older; largestPeak covers 3 + 5 = 8 peaks, and the margins above repeats are factors on it
	newestPeaks = 3 // length of group.Newest, which determines minAmount; few peaks, so that minAmount soon follows a change

	// Headroom is the share of the largest peak of identical runs that is granted above this peak. Even after several equal
	// peaks, the next peak may be slightly larger.
	Headroom = 0.02
)

func (gs *groups) forgetOldest() {
	if gs.len() <= maxGroups {
		return
	}
	stored := gs.stored()
	keys := slices.Clone(gs.keys)
	slices.SortFunc(keys, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(stored[b].Seen, stored[a].Seen), cmp.Compare(a, b))
	})
	for _, key := range keys[maxGroups:] {
		delete(stored, key)
	}
	*gs = *newGroups(stored)
}
