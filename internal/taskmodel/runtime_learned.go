package taskmodel

import (
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// LearnedTry is a success that the model has learned.
type LearnedTry struct {
	Features sizing.Features
	Seq      int64         // HistoryRow.Seq; math.MaxInt64 if it is unknown, so that no change of the level applies
	Duration time.Duration // 0: unknown
}

// LearnedRunTimes predicts the run times of learned tries, in their order, as if the group of identical features lacked the
// tries of the same run (leave-one-out). With the group, the prediction of a try would contain its own run time, and would be
// better than that of a new try: if the features of each run are unique, by a third. Each element of `runs` holds the tries
// of one run. The result is nil if no run has a ratio (see Ratios).
func (m *Model) LearnedRunTimes(runs [][]LearnedTry) RunTimes {
	if m.Models == nil || len(m.Overrun.Ring) == 0 {
		return nil
	}
	ratios, all := m.ratioDistribution(m.ratiosGiven(&shape.Given{})).copied(), RunTimes{}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	for _, tries := range runs {
		own := m.sumByGroup(tries)
		for i := range tries {
			var p experts.Point
			b.cells = m.cells(tries[i].Features, b.cells)
			m.Models.predict(b.cells, &p, b)
			if b.group != nil && m.Models.ridges != nil && !p.Imputed && !b.isCleaned {
				rest := b.group.without(own[groupKey(m.Models.Enc.Columns, b.cells, nil)])
				p.Duration += m.Models.pointRunTime(b.cells, b.line, rest) - m.Models.pointRunTime(b.cells, b.line, b.group)
			}
			r := m.runTimeOf(ratios, &p, b)
			r.levels = slices.Clone(r.levels)
			all = append(all, r)
		}
	}
	return all
}

// groupSum sums up tries with identical features.
type groupSum struct {
	rows      float64
	seconds   float64 // sum of log1p of the seconds, at the newest level
	isUnknown bool    // some duration is unknown
}

// sumByGroup sums up tries by groupKey.
func (m *Model) sumByGroup(tries []LearnedTry) map[uint64]groupSum {
	sums := map[uint64]groupSum{}
	var cells []sizing.Value
	for i := range tries {
		t := &tries[i]
		cells = m.cells(t.Features, cells)
		key := groupKey(m.Models.Enc.Columns, cells, nil)
		s := sums[key]
		s.rows++
		s.seconds += math.Log1p(m.DurationLevels.Level.shift(t.Seq, t.Duration.Seconds()))
		s.isUnknown = s.isUnknown || t.Duration <= 0
		sums[key] = s
	}
	return sums
}

// without returns the group without the tries of a sum; nil if no row remains, or if the seconds of the other rows are unknown.
func (g *group) without(s groupSum) *group {
	rest := *g
	rest.Rows -= s.rows
	if s.isUnknown || rest.Rows < .5 {
		return nil
	}
	if rest.Seconds = (g.Seconds*g.Rows - s.seconds) / rest.Rows; g.Seconds == 0 || rest.Seconds <= 0 {
		return nil
	}
	return &rest
}
