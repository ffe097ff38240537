package backtest

import (
	"container/heap"
	"time"
)

// outcomeQueue has the successes of tries that are still running in simulated time.
type outcomeQueue struct{ pending byEnd }

// add queues the outcome of a row until the end of its try, and sets ReportedAt to this end.
func (d *outcomeQueue) add(o Outcome, row int) {
	o.ReportedAt = o.end()
	heap.Push(&d.pending, queuedOutcome{o, row})
}

// deliver passes the outcomes of tries that ended at the time `now` or earlier to `learn`, in the order in which they
// ended.
func (d *outcomeQueue) deliver(now time.Time, learn func(Outcome) error) error {
	for len(d.pending) > 0 && !d.pending[0].ReportedAt.After(now) {
		if err := learn(heap.Pop(&d.pending).(queuedOutcome).Outcome); err != nil {
			return err
		}
	}
	return nil
}

// queuedOutcome has the row number to break ties between equal end times.
type queuedOutcome struct {
	Outcome
	row int
}

// byEnd implements heap.Interface.
type byEnd []queuedOutcome

func (h byEnd) Len() int      { return len(h) }
func (h byEnd) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h byEnd) Less(i, j int) bool {
	if c := h[i].ReportedAt.Compare(h[j].ReportedAt); c != 0 {
		return c < 0
	}
	return h[i].row < h[j].row
}
func (h *byEnd) Push(x any) { *h = append(*h, x.(queuedOutcome)) }
func (h *byEnd) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
