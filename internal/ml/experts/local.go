package experts

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// local is the rows of a ledger in order of what one model predicted: their places, of
// one level the newest first. It holds no numbers of its own, of which there would be
// more than in the ledger itself.
type local struct {
	model int
	order []uint16 // places in the ledger

	stamp uint64 // of what it holds: no other local, and none later, has the same
}

// mostRows is how many rows a ledger may have.
const mostRows = 1 << 16

// stamps are given out once each.
var stamps atomic.Uint64

// fill takes in a ledger whose oldest row is at oldest, in place of what was there.
func (l *local) fill(ledger []Entry, oldest int) {
	n := len(ledger)
	l.stamp, l.order = stamps.Add(1), make([]uint16, n)
	for age := range n {
		l.order[n-1-age] = uint16((oldest + age) % n)
	}
	slices.SortStableFunc(l.order, func(a, b uint16) int { return cmp.Compare(l.level(ledger, a), l.level(ledger, b)) })
}

func (l *local) level(ledger []Entry, at uint16) float64 { return ledger[at].Point.Level[l.model] }

// find is where the rows of a level or above begin.
func (l *local) find(ledger []Entry, level float64) int {
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

// add takes in the row that is in the ledger at a place.
func (l *local) add(ledger []Entry, at int) {
	l.stamp = stamps.Add(1)
	l.order = slices.Insert(l.order, l.find(ledger, l.level(ledger, uint16(at))), uint16(at))
}

// remove takes out the row that is still in the ledger at a place.
func (l *local) remove(ledger []Entry, at int) {
	l.stamp = stamps.Add(1)
	i := l.find(ledger, l.level(ledger, uint16(at)))
	for l.order[i] != uint16(at) {
		i++
	}
	l.order = slices.Delete(l.order, i, i+1)
}

// nearest is what near found last: one answer asks for it several times.
type nearest struct {
	stamp  uint64
	low    int
	found  []float64 // unsorted
	sorted []float64
	table  table
}

// near fills found with the k residuals nearest in level, sorted.
func (l *local) near(ledger []Entry, level float64, k int, found *nearest) {
	n := len(l.order)
	low := max(0, min(n-k, l.find(ledger, level)-k/2))
	if l.stamp == found.stamp && low == found.low {
		return
	}
	found.stamp, found.low, found.found = l.stamp, low, found.found[:0]
	for _, at := range l.order[low:min(n, low+k)] {
		e := &ledger[at]
		found.found = append(found.found, e.Log-e.Point.Level[l.model])
	}
	found.sorted = sorted(found.found, found.sorted)
	found.table.read(found.sorted)
}
