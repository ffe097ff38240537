package taskmodel

import (
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A report waits in quarantine if it is too far from everything known of the task, in
// either direction: most such reports are in the wrong unit or of the wrong container.
// A quarantined report changes no allocation. A second similar report releases it, so
// real growth and rare modes cost one more report.
//
//	rows   too large                                    too small
//	0      8 × allocated, 100 × requested               1/900 of allocated or requested
//	1-7    100 × largest peak and prediction, or        1/10 of the prediction, 1/900 of allocated, and
//	       8 × allocated and 4 × peak and prediction    no earlier row missed it by nearly as much
//	8-     4 × largest peak and prediction, or          the same with 1/100 of the prediction
//	       300 × prediction if no earlier row missed
//	       it by nearly as much
//	any    64Ti; no report confirms it                  1 MiB and 1/900 of allocated or requested; no report confirms it
//
// An OOM kill at or below the amount that the service granted is never quarantined.
const (
	// The smallest mistaken unit is a factor of 1000 (kB for B, MiB for KiB), and a success uses
	// at most its allocation. So a mistaken report is this far below the allocation, if the limit
	// is exceeded by at most a tenth.
	unitFactor = 900
	// A prediction may be wrong by a factor of ten, so a mistaken unit misses it at least this
	// much.
	missFactor          = 100
	missFactorColdStart = 10 // if the peak also looks like a mistaken unit of the allocation
	// A large report in quarantine may be real growth, and then the next such run is killed;
	// learned by mistake, it only wastes. So it must miss the prediction by more.
	missHighFactor = 300
	// Limits that are not enforced are exceeded: in a public trace by up to 34 × the request, and
	// 2 of its 999 rows exceed 8 ×.
	allocatedFactor = 8
	requestedFactor = 100
	// No node has twice the largest server: no report confirms such a peak.
	maxPossible = 2 * sizing.LargestServer

	rangeFactor         = 4  // of the largest peak so far: no prediction was tested above it
	minRangeRows        = 8  // measured rows before the largest peak is reliable
	confirmShortFactor  = 2  // a confirming report may deviate less than a quarantined one by this factor …
	confirmBeyondFactor = 10 // … or more by this factor: beyond that it is another mistaken unit
	maxQuarantined      = 64 // more reports are the task's normal behaviour: the oldest is learned
)

// quarantinedReport is a report that waits for confirmation by another.
type quarantinedReport struct {
	TrainingRow
	Expected float64 `cbor:",omitzero"` // bytes; zero in models stored before this field existed: far below the peak
}

// isLow reports whether the report is below its expectation.
func (h *quarantinedReport) isLow() bool { return float64(h.Peak) < h.Expected }

// QuarantineReason explains why Learn would quarantine t; "" if it would not.
func (m *Model) QuarantineReason(t TrainingRow) string {
	m.Sampling.raise(&t)
	if t.Censoring != sizing.Exact && t.Censoring != sizing.AtLeast || t.Confirmable() && m.findConfirmed(&t) >= 0 {
		return ""
	}
	d, ok := m.checkPlausibility(&t)
	if !ok {
		return ""
	}
	return d.describe(t.Peak)
}

// Quarantined describes each report in quarantine.
func (m *Model) Quarantined() []sizing.Quarantined {
	var all []sizing.Quarantined
	for i := range m.Quarantine {
		h := &m.Quarantine[i]
		q := sizing.Quarantined{Memory: h.Peak, Detail: "far above all known peaks of the task"}
		if h.Expected > 0 {
			q.Detail = implausibility{h.Expected, "the expected peak"}.describe(h.Peak)
		}
		all = append(all, q)
	}
	return all
}

// quarantine stores t in quarantine if it is implausible, after releasing the reports that t
// confirms.
func (m *Model) quarantine(t *TrainingRow) bool {
	m.releaseConfirmed(t)
	d, ok := m.checkPlausibility(t)
	if ok {
		m.addToQuarantine(t, d)
	}
	return ok
}

// quarantineOld is quarantine for an old row of a long history. The models have seen few rows by
// then, so their predictions alone prove nothing: the row must also leave the range.
func (m *Model) quarantineOld(t *TrainingRow) bool {
	m.releaseConfirmed(t)
	peak := float64(t.Peak)
	if peak <= rangeFactor*m.Experts.MaxPeak && peak*missFactor >= float64(m.Smallest) {
		return false
	}
	return m.quarantine(t)
}

// addToQuarantine stores t, and makes room for it if necessary.
func (m *Model) addToQuarantine(t *TrainingRow, d implausibility) {
	if len(m.Quarantine) == maxQuarantined {
		m.evictOldest()
	}
	m.Quarantine = append(m.Quarantine, quarantinedReport{*t, d.expected})
}

// evictOldest makes room. So many reports are the task's normal behaviour, so it learns the
// oldest, unless that is impossible: such reports are never fitted.
func (m *Model) evictOldest() {
	oldest := slices.IndexFunc(m.Quarantine, func(h quarantinedReport) bool { return h.Confirmable() })
	if oldest < 0 {
		m.Quarantine = slices.Delete(m.Quarantine, 0, 1)
		return
	}
	m.release(oldest)
}

// releaseConfirmed releases the reports that t confirms.
func (m *Model) releaseConfirmed(t *TrainingRow) {
	for i := m.findConfirmed(t); i >= 0; i = m.findConfirmed(t) {
		m.release(i)
	}
}

// findConfirmed returns the index of a quarantined report that t confirms; −1 if there is none.
func (m *Model) findConfirmed(t *TrainingRow) int {
	if len(m.Quarantine) == 0 || !t.Confirmable() {
		return -1
	}
	peak := float64(t.Peak)
	c, known := m.forecast(t.Features)
	// A report that the features predict is no evidence for one that they do not.
	addsEvidence := func(low bool) bool {
		switch {
		case !known:
			return true
		case low:
			return peak*unitFactor/missFactor < c.low
		}
		return peak > m.Experts.MaxPeak || peak > unitFactor/missFactor*c.high
	}
	return slices.IndexFunc(m.Quarantine, func(h quarantinedReport) bool {
		waiting := float64(h.Peak)
		switch {
		case !h.Confirmable():
			return false
		case h.isLow():
			return t.Censoring == sizing.Exact && peak <= confirmShortFactor*waiting && peak*confirmBeyondFactor >= waiting && addsEvidence(true)
		}
		return peak*confirmShortFactor >= waiting && peak <= confirmBeyondFactor*waiting && addsEvidence(false)
	})
}

// release learns a report from quarantine.
func (m *Model) release(i int) {
	t := m.Quarantine[i].TrainingRow
	m.Quarantine = slices.Delete(m.Quarantine, i, i+1)
	if t.Censoring == sizing.AtLeast {
		m.learnBound(&t)
		return
	}
	m.learnExact(&t)
}

// releasePlausible releases the reports that are plausible by now. Checking at every eighth row
// suffices, because a task's history changes no faster.
func (m *Model) releasePlausible() {
	if m.Experts.LearnedRows%minRangeRows != 0 {
		return
	}
	for i := 0; i < len(m.Quarantine); {
		if _, ok := m.checkPlausibility(&m.Quarantine[i].TrainingRow); ok {
			i++
			continue
		}
		m.release(i)
	}
}

// quarantinedSeqs returns the rows in quarantine, by Seq.
func (m *Model) quarantinedSeqs() map[int64]bool {
	seqs := make(map[int64]bool, len(m.Quarantine))
	for i := range m.Quarantine {
		seqs[m.Quarantine[i].Seq] = true
	}
	return seqs
}
