package taskmodel

import (
	"maps"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Peaks that return to a level several times alternate between two levels, such as on the first days of each month. One return
// suffices if all runs between the rise and the return have weekdays that no other run has, such as the first weekend. A fit then
// forgets these changes and learns the measured peaks, so that the models can learn what the levels depend on.

// minReturns is the decayed number of returns from which the peaks alternate: two within 69 rows or, if the rows have a date and
// there are several per day, within 69 days. A release that is rolled back has one return.
const minReturns = 1.5

// returnAge returns the exponent of levelDecay with which a row reduces levels.Returns: 1 or, if the row has a date, the days since
// the row before it, but at most 1. A date may explain levels that alternate with the week or the month, whatever the number of
// runs per day.
func returnAge(cells []sizing.Value, seconds int64) float64 {
	if !slices.ContainsFunc(cells, func(v sizing.Value) bool { return v.Kind == sizing.Date }) {
		return 1
	}
	return min(1, float64(seconds)/secondsPerDay)
}

func (l *levels) alternates() bool { return l.Returns >= minReturns }

// keptChanges returns the changes by which a fit on the rows of h moves peaks.
func (l *levels) keptChanges(h *sizing.History) []levelChange {
	n := len(l.Changes)
	if l.alternates() || n >= 2 && l.Changes[n-1].Log < 0 && haveOwnWeekdays(h, l.Changes[n-2].Seq, l.Changes[n-1].Seq) {
		return l.beforeAlternation()
	}
	return l.Changes
}

// beforeAlternation returns no changes if the peaks have returned several times, else those before the newest rise.
func (l *levels) beforeAlternation() []levelChange {
	if l.alternates() {
		return nil
	}
	return l.Changes[:max(0, len(l.Changes)-2)]
}

// haveOwnWeekdays reports whether, for a date of the schema, the weekdays of the measured rows from number `from` to before number
// `to` occur in no other measured row.
func haveOwnWeekdays(h *sizing.History, from, to int64) bool {
	first, end := indexOf(h, from), indexOf(h, to)
	for j := range h.Schema.Fields {
		if h.Schema.Fields[j].Kind != sizing.Date || first < 0 {
			continue
		}
		if own, others := weekdaysOf(h, j, first, end); own != 0 && others != 0 && own&others == 0 {
			return true
		}
	}
	return false
}

// weekdaysOf returns the weekdays of field j, one bit each, in the measured rows from first to before end, and in the others.
func weekdaysOf(h *sizing.History, j, first, end int) (own, others uint8) {
	for i := range h.Rows {
		r := &h.Rows[i]
		if _, censoring := r.Peak(); censoring != sizing.Exact || j >= len(r.Features) {
			continue
		}
		v := h.Schema.Fields[j].Value(r.Features[j])
		if v.Kind != sizing.Date {
			continue
		}
		bit := uint8(1) << int(sizing.Weekday(v.LocalDays()))
		if first <= i && i < end {
			own |= bit
		} else {
			others |= bit
		}
	}
	return own, others
}

// forgetAlternation removes the changes by which the fit has not moved peaks. It must run only after a fit for which keptChanges
// has left out changes (see refit).
func (l *levels) forgetAlternation() {
	l.Changes = l.beforeAlternation()
	maps.DeleteFunc(l.Added, func(change int64, _ affine) bool {
		return !slices.ContainsFunc(l.Changes, func(c levelChange) bool { return c.Seq == change })
	})
}

// relearnUnmoved learns the rows with Unmoved again: the fit has used their measured peaks, so that features may explain the levels.
// When they were learned first, models that ignore the features had small errors, because they followed each change.
func (m *Model) relearnUnmoved(rows []row) {
	if m.Models.ridges == nil {
		return // no feature explains the levels
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.isLift = false
	var p experts.Point
	for i := range rows {
		r := &rows[i]
		if !r.Unmoved || r.Imputed {
			continue
		}
		if m.predict(r.Cells, sizing.DefaultRiskTarget, &p, b); !p.Imputed {
			m.Experts.LearnDeferred(&p, r.Peak, r.Seconds, &b.scratch)
			m.Experts.SetPool(&m.Share, nil)
			m.learnColdStart(r, &p, 1, nil, b)
		}
	}
}

// isMoved reports whether two peaks differ by more than the rounding errors of a rise and the return from it.
func isMoved(from, to float64) bool { return math.Abs(to-from) > 1e-9*from }
