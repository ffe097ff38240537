package modelcache

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Rebuild restores the state that the model of a version had after it had learned `tries` tries: it lets the stored version
// learn the rows that arrived later. Version 0 is the model of a task that had no stored version yet. Later reports may have
// added peaks to rows before the next try arrived. Therefore Rebuild passes each state of the model with this number of tries
// to `accept`, oldest first, until accept returns true.
//
// Rebuild does not call accept if the version is no longer stored or cannot be decoded, or if the stored rows do not give that
// number of tries. The same applies if the version lacks maxTail or more of these tries: of so many, the model in use may
// have learned only the newest ones. Rebuild does not change the cache.
func (c *Cache) Rebuild(ctx context.Context, key sizing.TaskKey, version int, tries int64, accept func(*taskmodel.Model) bool) error {
	model, lastSeq := taskmodel.New(), int64(0)
	if version > 0 {
		stored, err := c.store.Model(ctx, key, version)
		if sizing.KindOf(err) == sizing.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if model = c.openVersion(key, &stored); model == nil {
			return nil
		}
		lastSeq = stored.LastSeq
	}
	missing := tries - int64(model.Tries)
	if missing < 0 || missing >= maxTail {
		return nil
	}
	replay, err := c.readReplay(ctx, key, model, lastSeq, int(missing))
	if err != nil {
		return err
	}
	c.setPoolOf(key, model)
	replay.learnTries(model)
	if int64(model.Tries) != tries {
		return nil
	}
	for {
		c.setPoolOf(key, model)
		if accept(model) || !replay.learnPeak(model, replay.next) {
			return nil
		}
	}
}

// replay holds what a model learns again after its training.
type replay struct {
	tries []taskmodel.TrainingRow // in order of arrival
	peaks []laterPeak             // that later reports added, in order of arrival; the model has learned none of them
	next  int64                   // Seq of the try after `tries`
}

// laterPeak is the peak of a row that a later report added when the newest row of the task was `after`.
type laterPeak struct {
	after int64
	row   taskmodel.TrainingRow
}

// readReplay reads the first n rows after row lastSeq, and the peaks that later reports added to them, or to rows that the
// model has learned without a peak.
func (c *Cache) readReplay(ctx context.Context, key sizing.TaskKey, model *taskmodel.Model, lastSeq int64, n int) (*replay, error) {
	r := &replay{next: math.MaxInt64}
	tail, err := c.store.Since(ctx, key, lastSeq, n+1)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return nil, err
	}
	if len(tail.Rows) > n {
		r.next = tail.Rows[n].Seq
		tail.Rows = tail.Rows[:n]
	}
	for i := range tail.Rows {
		first := tail.Rows[i]
		if first.MeasuredAfter > 0 {
			first.MemoryMax, first.MemorySampled = 0, 0
		}
		r.tries = append(r.tries, taskmodel.NewTrainingRow(&tail.Schema, &first))
	}
	r.addPeaks(&tail, 0)
	if len(model.Awaited) > 0 {
		earlier, err := c.store.NewestSince(ctx, key, 0, lastSeq, maxTail)
		if err != nil {
			return nil, err
		}
		r.addPeaks(&earlier, lastSeq)
	}
	slices.SortStableFunc(r.peaks, func(a, b laterPeak) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.row.Seq, b.row.Seq))
	})
	return r, nil
}

// addPeaks adds the peaks that later reports added to the rows of h while row `from`, or a newer one, was the newest row of
// the task.
func (r *replay) addPeaks(h *sizing.History, from int64) {
	for i := range h.Rows {
		if after := h.Rows[i].MeasuredAfter; after > 0 && after >= from {
			row := taskmodel.NewTrainingRow(&h.Schema, &h.Rows[i])
			row.Amends = true
			r.peaks = append(r.peaks, laterPeak{after, row})
		}
	}
}

// learnTries makes the model learn the tries, and between them the peaks that arrived before the newest try.
func (r *replay) learnTries(m *taskmodel.Model) {
	for _, row := range r.tries {
		for r.learnPeak(m, row.Seq) {
		}
		m.Learn(row)
	}
}

// learnPeak makes the model learn the next peak that arrived before row `seq`. It returns false if there is none.
func (r *replay) learnPeak(m *taskmodel.Model, seq int64) bool {
	for len(r.peaks) > 0 && r.peaks[0].after < seq {
		row := r.peaks[0].row
		r.peaks = r.peaks[1:]
		if learnAmended(m, row) {
			return true
		}
	}
	return false
}

func (c *Cache) openVersion(key sizing.TaskKey, stored *store.Model) *taskmodel.Model {
	model, err := taskmodel.Open(stored.Blob)
	if err != nil {
		c.log.Warn("failed to decode a stored model; explanations of its answers use only the receipts", "task", key.String(), "version", stored.Version, "err", err)
		return nil
	}
	return model
}

func (c *Cache) setPoolOf(key sizing.TaskKey, model *taskmodel.Model) {
	if t := c.Find(key); t != nil {
		sum, others, _ := t.pool.sumWith(t.key.Task, model.Pool())
		model.SetPool(&sum, others)
	}
}
