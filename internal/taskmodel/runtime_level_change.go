package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/conformal"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// If the run times of runtimeLevelBatches successive batches (runTimeDrift) are far outside the known ratios, and about
// equally far, the run times have a new level (a level shift, Box & Tiao 1975), such as after a release of the task's
// program. Then all that was learned before these runs counts at the new level: the ratios of run times to predictions
// stay valid, and a fit moves the earlier run times to the new level. The ratios of these runs are errors of
// predictions for the old level, so they leave the known ratios. Without this, they would be the tail of the predicted
// run times for hundreds of runs, and the models would predict a mixture of both levels.
//
// The inputs of these runs must not explain their run times: no input may have the same value in all of them and
// another value in the last run at the old level. If the run times return to the old level, they alternate, and the
// models must learn why. So the change is revoked, and the task gets no further one.
//
// An isolated outlier moves the predictions of the next runs, so that their errors may be far outside the ratios and
// about equal, too. Therefore, the same predictions must not have such an error for one of the runs before them.

const (
	runtimeLevelBatches = 3  // fewer would take two rare long runs in succession for a new level
	earlierRuns         = 3  // runs with which a new level is compared; one of them alone may be a rare long run
	minLevelRatios      = 20 // least number of ratios that count (countedRatios); the 95 % quantile is one of them
)

// runTimeState is what the model has learned about run times apart from the ratios and the fitted models.
type runTimeState struct {
	P95, P99  conformal.Adaptive // corrections of the levels 0.95 and 0.99
	Low, High float64            `cbor:",omitzero"` // range of log1p of the learned run times

	Mixture meanMixture  `cbor:",omitzero"` // averages the point prediction and the mean of the runs
	Drift   runTimeDrift `cbor:",omitzero"` // corrects the average of Mixture by its recent errors
}

// runTimeLevel holds what is known about changes of the level of the run times. A level is in log1p of seconds.
type runTimeLevel struct {
	Changes     []runTimeChange   `cbor:",omitempty"` // accepted changes, oldest first
	Candidate   *runTimeCandidate `cbor:",omitempty"` // of the newest runs; nil: they are not at a new level
	Unfitted    float64           `cbor:",omitzero"`  // sum of the accepted changes that the models have not learned yet
	HasReturned bool              `cbor:",omitzero"`  // a change was revoked, so the task has no further changes
	Earlier     []timedRun        `cbor:",omitempty"` // newest runs not far outside the ratios, at the newest level, oldest first
}

type timedRun struct {
	_     struct{} `cbor:",toarray"`
	Log   float64  // log1p of the seconds
	Cells []sizing.Value
}

type runTimeChange struct {
	_   struct{} `cbor:",toarray"`
	Seq int64    // of the first run at the new level
	Log float64  // new level minus old level
}

// runTimeCandidate holds the newest runs while they may be the first ones at a new level. Their errors are those of the
// predictions that the state before the first of them gives.
type runTimeCandidate struct {
	Seq       int64 // of the first run
	Before    runTimeState
	Log       float64 // error of the first run
	Deviation float64 // standard deviation of the ratios before the first run
	Errors    float64 // sum of the errors
	Runs      float64 // number of errors in Errors
	Batches   int     // number of batches with these runs
	Ratios    int     // number of ratios that were added to Overrun since the first run, including that of the first run

	// Shared holds by field the value that all runs have and the last run at the old level does not have; missing: none.
	Shared []sizing.Value `cbor:",omitempty"`
}

// learnRunTimeLevel compares a run with the known level of the run times. It must run after the other parts of the
// model have learned the run time, except ratioCache. `before` is the state before the run. p and b are as in
// learnRunTime.
func (m *Model) learnRunTimeLevel(r *row, t *TrainingRow, before *runTimeState, isNewBatch bool, p *experts.Point, b *buffers) {
	l := &m.DurationLevels.Level
	if p.Imputed || t.Reproduced || l.HasReturned || m.isEarly() {
		return
	}
	log := math.Log1p(r.Seconds)
	if c := l.Candidate; c != nil {
		if m.mayExplainJump(t, r.Cells, p, b) {
			return
		}
		if err := log - m.runTimeBy(&c.Before, p, b); isSameLevel(err, c.Log, c.Deviation) {
			c.add(err, isNewBatch, r.Cells)
			if c.Batches >= runtimeLevelBatches && !c.isExplained() {
				m.acceptRunTimeLevel()
			}
			return
		}
		l.Candidate = nil
	}
	err := log - m.runTimeBy(before, p, b)
	deviation, isOutside := m.isOutsideRatios(err)
	switch {
	case !isOutside:
		l.addEarlier(log, r.Cells)
	case len(l.Earlier) == earlierRuns && !m.mayExplainJump(t, r.Cells, p, b) && !m.wasAtLevel(err, deviation, before, len(r.Cells)):
		last := l.Earlier[len(l.Earlier)-1].Cells
		l.Candidate = &runTimeCandidate{Seq: t.Seq, Before: *before, Log: err, Deviation: deviation, Ratios: 1, Shared: differing(r.Cells, last)}
		l.Candidate.add(err, true, r.Cells)
	}
}

func (l *runTimeLevel) addEarlier(log float64, cells []sizing.Value) {
	var oldest timedRun
	if len(l.Earlier) == earlierRuns {
		oldest = l.Earlier[0]
		l.Earlier = slices.Delete(l.Earlier, 0, 1)
	}
	l.Earlier = append(l.Earlier, timedRun{Log: log, Cells: append(oldest.Cells[:0], cells...)})
}

// wasAtLevel reports whether the present predictions with a state have about the error `err` for one of the earlier
// runs, too. `fields` is the number of fields of the schema.
func (m *Model) wasAtLevel(err, deviation float64, state *runTimeState, fields int) bool {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	return slices.ContainsFunc(m.DurationLevels.Level.Earlier, func(e timedRun) bool {
		var p experts.Point
		b.cells = append(b.cells[:0], e.Cells...)
		for len(b.cells) < fields { // the schema has grown
			b.cells = append(b.cells, sizing.Value{})
		}
		m.Models.predict(b.cells, &p, b)
		return isSameLevel(e.Log-m.runTimeBy(state, &p, b), err, deviation)
	})
}

// add adds a run. Its cells may be more than those of the first run, because a schema grows.
func (c *runTimeCandidate) add(err float64, isNewBatch bool, cells []sizing.Value) {
	c.Errors += err
	c.Runs++
	c.Batches += boolToInt(isNewBatch)
	for i := range c.Shared {
		if i >= len(cells) || c.Shared[i] != cells[i] {
			c.Shared[i] = sizing.Value{}
		}
	}
}

// isExplained reports whether an input may explain the run times of the candidate.
func (c *runTimeCandidate) isExplained() bool {
	return slices.ContainsFunc(c.Shared, func(v sizing.Value) bool { return v != sizing.Value{} })
}

// differing returns the cells that differ from those of an earlier run; the others are missing.
func differing(cells, earlier []sizing.Value) []sizing.Value {
	result := slices.Clone(cells)
	for i := range min(len(cells), len(earlier)) {
		if cells[i] == earlier[i] {
			result[i] = sizing.Value{}
		}
	}
	return result
}

// countRatio counts a ratio that was added to Overrun.
func (l *runTimeLevel) countRatio() {
	if l.Candidate != nil {
		l.Candidate.Ratios++
	}
}

// isOutsideRatios reports whether an error is far outside the ratios that were known before the run, and returns their
// standard deviation.
func (m *Model) isOutsideRatios(err float64) (deviation float64, isOutside bool) {
	known := m.ratios.own // updateRunTimes has not added the ratio of the run yet
	n := len(known)
	if n < minLevelRatios {
		return 0, false
	}
	deviation = max(experts.MinJumpDeviation, experts.InterquartileDeviation(known[n/4], known[n*3/4]))
	most := known[n-1]
	if err < 0 {
		most = -known[0]
	}
	return deviation, math.Abs(err) > max(experts.MinJump, experts.JumpDeviations*deviation, experts.JumpRatio*most)
}

// acceptRunTimeLevel accepts the level of the candidate, or revokes the newest change if the candidate undoes it. If
// more than half of the ratios come from the candidate, too few would remain, and the level stays.
func (m *Model) acceptRunTimeLevel() {
	d := &m.DurationLevels
	l, c := &d.Level, d.Level.Candidate
	l.Candidate = nil
	if 2*c.Ratios > len(m.Overrun.Ring) {
		return
	}
	change := c.Errors / c.Runs
	if n := len(l.Changes); n > 0 && isSameLevel(change, -l.Changes[n-1].Log, c.Deviation) {
		change, l.HasReturned = -l.Changes[n-1].Log, true
		l.Changes = l.Changes[:n-1]
	} else {
		l.add(runTimeChange{Seq: c.Seq, Log: change})
	}
	l.Unfitted += change
	for i := range l.Earlier {
		l.Earlier[i].Log += change
	}
	end := d.Drift.Batch.End
	d.runTimeState = c.Before.at(change)
	d.Drift.Batch = errorBatch{End: end}
	m.Overrun.DropNewest(c.Ratios)
}

// at returns the state after a change of the level.
func (s runTimeState) at(change float64) runTimeState {
	if s.High > 0 { // otherwise the range is unknown
		s.Low, s.High = s.Low+change, s.High+change
	}
	s.Mixture.Mean += change
	return s
}

// add adds a change. If there are too many, it merges the two oldest ones.
func (l *runTimeLevel) add(c runTimeChange) {
	if len(l.Changes) == maxLevelChanges {
		l.Changes[1].Log += l.Changes[0].Log
		l.Changes = slices.Delete(l.Changes, 0, 1)
	}
	l.Changes = append(l.Changes, c)
}

// align returns a function that returns the seconds at the newest level for the seconds of row i of h.
func (l *runTimeLevel) align(h *sizing.History) func(i int, seconds float64) float64 {
	first := make([]int, len(l.Changes)) // by change: index of the first row at the new level; −1: h lacks this row
	for k := range l.Changes {
		first[k] = indexOf(h, l.Changes[k].Seq)
	}
	return func(i int, seconds float64) float64 {
		change := 0.0
		for k, c := range l.Changes {
			if i < first[k] || first[k] < 0 && h.Rows[i].Seq < c.Seq {
				change += c.Log
			}
		}
		return shiftSeconds(seconds, change)
	}
}

// shift returns the seconds at the newest level for the seconds of the row `seq`.
func (l *runTimeLevel) shift(seq int64, seconds float64) float64 {
	change := 0.0
	for _, c := range l.Changes {
		if seq < c.Seq {
			change += c.Log
		}
	}
	return shiftSeconds(seconds, change)
}

// shiftSeconds adds a number to log1p of a run time. 0 is an unknown run time and stays.
func shiftSeconds(seconds, change float64) float64 {
	if change == 0 || seconds == 0 {
		return seconds
	}
	return secondsAt(math.Log1p(seconds) + change)
}
