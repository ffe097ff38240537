package experts

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// levelIndex orders the rows of a residual store by the predicted level of one model, and by the log residual of
// this model. It holds numbers of 16 bits only, because copies of the levels and residuals of all models would need
// more memory than the residual store.
type levelIndex struct {
	model      int
	order      []uint16 // indices in byResidual, ordered by level; among equal levels the newest row first
	byResidual []uint16 // positions in the residual store, ordered by residual; among equal residuals the newest row first

	version uint64 // changes with each change of the index; two indexes never have the same version, except 0 before the first change
}

// maxStoredRows is the number of rows that a uint16 position can address.
const maxStoredRows = 1 << 16

var versions atomic.Uint64

type indexedRow struct {
	value    float64 // the value by which rows are sorted
	at       uint16  // position in the residual store
	sequence uint16  // 0 for the oldest row; larger for newer ones
}

// build indexes a residual store whose oldest row is at the position `oldest`. It sorts copies of the values and
// breaks ties by indexedRow.sequence, which is faster than a stable sort of positions.
func (l *levelIndex) build(entries []Entry, oldest int) {
	n := len(entries)
	rows := make([]indexedRow, n)
	for i := range n {
		at := uint16((oldest + i) % n)
		rows[i] = indexedRow{l.residual(entries, at), at, uint16(i)}
	}
	compare := func(a, b indexedRow) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(b.sequence, a.sequence))
	}
	slices.SortFunc(rows, compare)
	l.version, l.order, l.byResidual = versions.Add(1), make([]uint16, n), make([]uint16, n)
	rank := make([]uint16, n) // by position
	for i := range rows {
		l.byResidual[i] = rows[i].at
		rank[rows[i].at] = uint16(i)
	}
	for i := range rows {
		rows[i].value = l.level(entries, rows[i].at)
	}
	slices.SortFunc(rows, compare)
	for i := range rows {
		l.order[i] = rank[rows[i].at]
	}
}

func (l *levelIndex) level(entries []Entry, at uint16) float64 {
	return entries[at].Point.Level[l.model]
}

func (l *levelIndex) residual(entries []Entry, at uint16) float64 {
	return entries[at].Log - entries[at].Point.Level[l.model]
}

func (l *levelIndex) search(entries []Entry, level float64) int {
	low, high := 0, len(l.order)
	for low < high {
		if middle := (low + high) / 2; l.level(entries, l.byResidual[l.order[middle]]) < level {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (l *levelIndex) searchResidual(entries []Entry, residual float64) int {
	low, high := 0, len(l.byResidual)
	for low < high {
		if middle := (low + high) / 2; l.residual(entries, l.byResidual[middle]) < residual {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (l *levelIndex) insert(entries []Entry, at int) {
	l.version = versions.Add(1)
	i := l.search(entries, l.level(entries, uint16(at)))
	rank := uint16(l.searchResidual(entries, l.residual(entries, uint16(at))))
	for j, r := range l.order {
		if r >= rank {
			l.order[j] = r + 1
		}
	}
	l.byResidual = slices.Insert(l.byResidual, int(rank), uint16(at))
	l.order = slices.Insert(l.order, i, rank)
}

// remove removes a row, which the residual store must still hold.
func (l *levelIndex) remove(entries []Entry, at int) {
	l.version = versions.Add(1)
	i := l.search(entries, l.level(entries, uint16(at)))
	for l.byResidual[l.order[i]] != uint16(at) {
		i++
	}
	rank := l.order[i]
	l.order = slices.Delete(l.order, i, i+1)
	l.byResidual = slices.Delete(l.byResidual, int(rank), int(rank)+1)
	for j, r := range l.order {
		if r > rank {
			l.order[j] = r - 1
		}
	}
}

// neighbours caches the last result of levelIndex.nearest, because one answer needs it several times.
type neighbours struct {
	version uint64        // of the index
	low     int           // first of the nearest rows, as an index in levelIndex.order
	ranks   []uint64      // bit set of indices in levelIndex.byResidual; all bits are zero between calls
	sorted  []float64     // residuals of the nearest rows, ascending
	table   quantileTable // of these residuals
	scaled  []float64     // the residuals divided by TreeScale, ascending; empty until levelIndex.scaled computes them
}

// nearest fills the cache `near` with the sorted residuals of the k rows nearest in level: as many above the level
// as below it, where possible. It sorts the rows by a bit set of their ranks, which is faster than sorting the
// residuals (BenchmarkNearest).
func (l *levelIndex) nearest(entries []Entry, level float64, k int, near *neighbours) {
	n := len(l.order)
	low := max(0, min(n-k, l.search(entries, level)-k/2))
	if l.version == near.version && low == near.low {
		return
	}
	if words := (n + 63) / 64; len(near.ranks) < words {
		near.ranks = make([]uint64, words)
	}
	for _, rank := range l.order[low:min(n, low+k)] {
		near.ranks[rank/64] |= 1 << (rank % 64)
	}
	near.version, near.low, near.sorted, near.scaled = l.version, low, near.sorted[:0], near.scaled[:0]
	for word, set := range near.ranks {
		for ; set != 0; set &= set - 1 {
			at := l.byResidual[64*word+bits.TrailingZeros64(set)]
			near.sorted = append(near.sorted, l.residual(entries, at))
		}
		near.ranks[word] = 0
	}
	near.table.compute(&ascending{values: near.sorted})
}

// scaled returns the residuals of the rows that nearest found last, divided by their TreeScale, in ascending order.
func (l *levelIndex) scaled(entries []Entry, near *neighbours) []float64 {
	if len(near.scaled) == 0 {
		for _, rank := range l.order[near.low : near.low+len(near.sorted)] {
			at := l.byResidual[rank]
			near.scaled = append(near.scaled, l.residual(entries, at)/entries[at].Point.Scale[TreeScale])
		}
		slices.Sort(near.scaled)
	}
	return near.scaled
}
