package backtest

import (
	"container/heap"
	"time"
)

// delayed holds what is not known yet: successes of tries that still run.
type delayed struct{ pending byEnd }

// add keeps an outcome until its try ends.
func (d *delayed) add(o Outcome, row int) {
	o.ToldAt = o.end()
	heap.Push(&d.pending, ended{o, row})
}

// due removes the outcomes of tries that ended by now, in order of their end.
func (d *delayed) due(now time.Time, tell func(Outcome) error) error {
	for len(d.pending) > 0 && !d.pending[0].ToldAt.After(now) {
		if err := tell(heap.Pop(&d.pending).(ended).Outcome); err != nil {
			return err
		}
	}
	return nil
}

// ended is an outcome with its row's place, which orders equal ends.
type ended struct {
	Outcome
	row int
}

// byEnd implements heap.Interface.
type byEnd []ended

func (h byEnd) Len() int      { return len(h) }
func (h byEnd) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h byEnd) Less(i, j int) bool {
	if c := h[i].ToldAt.Compare(h[j].ToldAt); c != 0 {
		return c < 0
	}
	return h[i].row < h[j].row
}
func (h *byEnd) Push(x any) { *h = append(*h, x.(ended)) }
func (h *byEnd) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
