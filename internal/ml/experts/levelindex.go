package experts

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// levelIndex orders the rows of a ledger by the predicted level of one model. It holds
// positions only, because copies of the levels would need more memory than the ledger.
type levelIndex struct {
	model int
	order []uint16 // positions in the ledger, ordered by level; among equal levels the newest first

	version uint64 // changes with order; no other index has the same version
}

// maxLedgerRows is the number of rows that a uint16 position can address.
const maxLedgerRows = 1 << 16

// versions is the last version number in use.
var versions atomic.Uint64

// build indexes a ledger whose oldest row is at position oldest. It sorts copies of the levels and
// breaks ties by age, which takes a third of the time of a stable sort of positions.
func (l *levelIndex) build(ledger []Entry, oldest int) {
	type row struct {
		level   float64
		at, age uint16
	}
	n := len(ledger)
	rows := make([]row, n)
	for age := range n {
		at := uint16((oldest + age) % n)
		rows[age] = row{l.level(ledger, at), at, uint16(age)}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(b.age, a.age))
	})
	l.version, l.order = versions.Add(1), make([]uint16, n)
	for i := range rows {
		l.order[i] = rows[i].at
	}
}

func (l *levelIndex) level(ledger []Entry, at uint16) float64 {
	return ledger[at].Point.Level[l.model]
}

// search returns the index of the first row at or above a level.
func (l *levelIndex) search(ledger []Entry, level float64) int {
	low, high := 0, len(l.order)
	for low < high {
		if middle := (low + high) / 2; l.level(ledger, l.order[middle]) < level {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// insert adds the row at a position of the ledger.
func (l *levelIndex) insert(ledger []Entry, at int) {
	l.version = versions.Add(1)
	l.order = slices.Insert(l.order, l.search(ledger, l.level(ledger, uint16(at))), uint16(at))
}

// remove removes the row at a position, while the ledger still holds it.
func (l *levelIndex) remove(ledger []Entry, at int) {
	l.version = versions.Add(1)
	i := l.search(ledger, l.level(ledger, uint16(at)))
	for l.order[i] != uint16(at) {
		i++
	}
	l.order = slices.Delete(l.order, i, i+1)
}

// neighbours caches the last result of nearest, because one answer needs it several times.
type neighbours struct {
	version  uint64
	low      int
	unsorted []float64
	sorted   []float64
	table    quantileTable
}

// nearest fills near with the sorted residuals of the k rows nearest in level.
func (l *levelIndex) nearest(ledger []Entry, level float64, k int, near *neighbours) {
	n := len(l.order)
	low := max(0, min(n-k, l.search(ledger, level)-k/2))
	if l.version == near.version && low == near.low {
		return
	}
	near.version, near.low, near.unsorted = l.version, low, near.unsorted[:0]
	for _, at := range l.order[low:min(n, low+k)] {
		e := &ledger[at]
		near.unsorted = append(near.unsorted, e.Log-e.Point.Level[l.model])
	}
	near.sorted = sortedCopy(near.unsorted, near.sorted)
	near.table.compute(near.sorted)
}
