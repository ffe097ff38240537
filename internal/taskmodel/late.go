package taskmodel

import (
	"github.com/loadaware/loadaware/internal/sizing"
)

// A model learns rows in the order of their arrival. If a team imports its history some days after the first reports, runs that
// ended long ago arrive last. A model that learned them last would treat them as the newest runs, and would size the next runs
// by an earlier state of the task. Therefore a training that finds many such peaks learns the whole history from
// scratch, in the order of time. Until then, runs that ended before all learned ones change only the range of the peaks.

const (
	// A peak is late if at least 1/lateShare of the peaks that arrived before it belong to runs that ended after its run. A
	// model is learned from scratch if it has learned, or would learn, at least minLate late peaks, and at least 1/lateShare of
	// the number of its learned peaks. Fewer late peaks change little. So single late reports cost nothing, and the work for
	// all these trainings together stays in proportion to the history.
	lateShare = 16
	minLate   = 8
)

// latePeaks counts the late peaks in h that the model has not learned yet, and the peaks in h that it has learned. The rows
// of h must be in the order of time.
func (m *Model) latePeaks(h *sizing.History) (late, learned int) {
	isNew := make(map[int]bool)
	for _, i := range m.newRows(h) {
		isNew[i] = true
	}
	hasPeak := func(i int) bool {
		_, censoring := h.Rows[i].Peak()
		return censoring.HasPeak()
	}
	for i := range h.Rows {
		if !isNew[i] && hasPeak(i) {
			learned++
		}
	}
	after := 0 // learned peaks after row i
	for i := len(h.Rows) - 1; i >= 0; i-- {
		switch {
		case !hasPeak(i):
		case !isNew[i]:
			after++
		case after > 0 && after*lateShare >= learned && !sizing.IsReproduction(h.Rows[i].RunID): // a reproduced run shows what the task needs now
			late++
		}
	}
	return late, learned
}

func (m *Model) isOutOfOrder(h *sizing.History) bool {
	late, learned := m.latePeaks(h)
	return late > 0 && m.Late+late >= max(minLate, learned/lateShare)
}

// oldestPeak returns the end of the oldest run with a peak in Unix seconds; 0 if no row has a peak.
func oldestPeak(h *sizing.History) (oldest int64) {
	for i := range h.Rows {
		r := &h.Rows[i]
		if _, censoring := r.Peak(); censoring.HasPeak() && (oldest == 0 || r.At.Unix() < oldest) {
			oldest = r.At.Unix()
		}
	}
	return oldest
}

// precedesAll reports whether the run of t ended before all learned runs with a peak. It returns false for a reproduced run,
// and while Learn still refits the models.
func (m *Model) precedesAll(t *TrainingRow) bool {
	return m.Oldest != 0 && t.At < m.Oldest && !t.Reproduced && !m.isEarly()
}

// learnPreceding learns a row that precedesAll. Its peak changes only the range of the peaks; the next fit uses the row, too.
func (m *Model) learnPreceding(t *TrainingRow) {
	m.countTry(t)
	if t.Censoring == sizing.Exact && !m.quarantineOld(t) {
		m.widenRange(t.Peak)
		m.Experts.MaxPeak = max(m.Experts.MaxPeak, float64(t.Peak))
	}
}
