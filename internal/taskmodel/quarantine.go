package taskmodel

import (
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A report waits in quarantine if it is far above or far below everything that is known about the
// task: most such reports are in the wrong unit or from the wrong container. A quarantined report
// changes no predicted peak. Its outcome, request, allocation and CPU count like those of any try (see countTry). Its
// peak changes a grant only if the report is a further kill of a run; see hasSmallerKnownKill. A second similar report confirms
// the first, so real growth, or a rare kind of runs, is learned one report later.
//
// rows is the number of measured rows that the experts have learned (Experts.LearnedRows).
//
//	rows   quarantined if above                         quarantined if below
//	0      8 × allocated (measured peaks only), or      1/900 of allocated, or of requested if the
//	       100 × allocated or requested                 allocation is unknown
//	1-7    100 × largest, or                            1/10 of the prediction and 1/900 of allocated*
//	       both 8 × allocated and 4 × largest,
//	       or 300 × prediction*
//	8-     4 × rise × largest**, or                     1/100 of the prediction and 1/900 of allocated*
//	       both 8 × allocated and 4 × largest,
//	       or 300 × prediction*
//	any    64Ti (cannot be confirmed)                   1 MiB and 1/900 of allocated or requested (cannot be confirmed)
//
// largest is the largest of the measured peaks, the prediction and Experts.MaxPeak, which includes the allocations that were
// killed after the first measured peak. rise is the largest ratio of a plausible input to the upper edge of its range, at
// least 1. If 4 × rise is above the factor 100 or 300 of another limit, it replaces this factor. Only a measured peak can be
// too small.
//
// From 8 rows on, let given be the allocation or, if it is unknown, the request. If Experts.MaxPeak is at most 8 × given,
// only an OOM kill can confirm a quarantined measured peak above 100 × given.
//
// * Only if no earlier residual is similar and no feature is imputed. If the allocation is unknown, 1/100
// of the prediction alone decides.
//
// ** 100 × largest if a category or a bool has a new value.
//
// A measured peak between the largest kill of its run and its allocation is never quarantined, unless it is above 64Ti or
// unitFactor times this kill; see isBetweenKillAndAllocation.
//
// An OOM kill at or below the amount that the service granted, or at or below minGranted, is never
// quarantined, unless it is above 64Ti.
const (
	// unitFactor: two units differ by a factor of at least 1000 (B and kB, KiB and MiB), and a measured
	// peak exceeds an enforced limit by at most a tenth. Under such a limit, a peak in kB that is read as bytes is
	// therefore at least this factor below the allocation.
	unitFactor = 900
	// missFactor: a prediction may be wrong by a factor of ten, so a peak in the wrong unit differs
	// from the prediction by at least this factor.
	missFactor          = 100
	missFactorColdStart = 10 // missFactor with fewer than minRangeRows rows and a known allocation; the peak must also be below 1/unitFactor of the allocation
	// missHighFactor is larger than missFactor: if a large report is real growth, its quarantine causes a kill; if it
	// is wrong, learning it only wastes memory.
	missHighFactor = 300
	// allocatedFactor: a run may exceed a limit that is not enforced. In the trace pai (docs/benchmarks.md), 2 of
	// 999 rows exceed 8 × the request, and the largest is 34 × its request.
	allocatedFactor = 8
	requestedFactor = 100 // larger than allocatedFactor, because a request does not limit a run
	// maxPossible is more memory than any node has, so no report confirms a larger peak.
	maxPossible = 2 * sizing.LargestServer

	rangeFactor          = 4  // multiple of the largest peak so far; a smaller one would quarantine more correct reports
	minRangeRows         = 8  // measured rows from which the largest peak is reliable
	confirmNearerFactor  = 2  // largest factor by which a confirming report may be nearer to the expectation than the quarantined report
	confirmFartherFactor = 10 // largest factor by which a confirming report may be farther from the expectation; a report that is even farther is in another unit
	maxQuarantined       = 64 // largest number of stored reports; with more, such peaks are normal for the task, so the model learns the oldest
)

type quarantinedReport struct {
	TrainingRow
	Expected float64 `cbor:",omitzero"` // expected peak in bytes; zero in models of releases that quarantined only large peaks
}

func (r *quarantinedReport) isLow() bool { return float64(r.Peak) < r.Expected }

func (r *quarantinedReport) reference() string {
	switch sizing.Bytes(r.Expected) {
	case r.Allocated.Memory:
		return "the allocation"
	case r.Requested.Memory:
		return "the request"
	}
	return "the expected peak"
}

// QuarantineReason explains why Learn would quarantine t; "" if Learn would not, or if t confirms another report.
func (m *Model) QuarantineReason(t TrainingRow) string {
	m.Sampling.raise(&t)
	t.Peak, t.Censoring = m.boundAppOOM(t.Outcome, t.Peak, t.Censoring, t.Allocated.Memory)
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
func (m *Model) Quarantined() []sizing.QuarantinedReport {
	var all []sizing.QuarantinedReport
	for i := range m.Quarantine {
		r := &m.Quarantine[i]
		q := sizing.QuarantinedReport{Memory: r.Peak, Detail: "far above all known peaks of the task"}
		if r.Expected > 0 {
			q.Detail = implausibility{r.Expected, r.reference()}.describe(r.Peak)
		}
		all = append(all, q)
	}
	return all
}

// LargestConfirmed returns `largest`, the largest reported peak of a success. If this peak waits in quarantine, it returns the
// largest learned peak instead.
func (m *Model) LargestConfirmed(largest sizing.Bytes) sizing.Bytes {
	waits := func(r quarantinedReport) bool { return r.Censoring == sizing.Exact && r.Peak >= largest }
	if largest > m.Largest && slices.ContainsFunc(m.Quarantine, waits) {
		return m.Largest
	}
	return largest
}

// SmallestConfirmed returns the smallest learned peak if smallest, the smallest reported peak of a success, waits in
// quarantine. Otherwise it returns smallest.
func (m *Model) SmallestConfirmed(smallest sizing.Bytes) sizing.Bytes {
	waits := func(r quarantinedReport) bool { return r.Censoring == sizing.Exact && r.Peak <= smallest }
	if smallest < m.Smallest && slices.ContainsFunc(m.Quarantine, waits) {
		return m.Smallest
	}
	return smallest
}

// quarantine first releases the reports that t confirms. It reports whether t is implausible and now in quarantine.
func (m *Model) quarantine(t *TrainingRow) bool {
	m.releaseConfirmed(t)
	d, ok := m.checkPlausibility(t)
	if ok {
		m.addToQuarantine(t, d)
	}
	return ok
}

// quarantineOld is quarantine for a row that changes only the range of the peaks; see learnRange and learnPreceding. The models
// have learned only few rows, or only newer rows. So their predictions do not suffice, and the row must also be far outside the
// range of the learned peaks.
func (m *Model) quarantineOld(t *TrainingRow) bool {
	m.releaseConfirmed(t)
	peak := float64(t.Peak)
	if peak <= rangeFactor*m.Experts.MaxPeak && peak*missFactor >= float64(m.Smallest) {
		return false
	}
	return m.quarantine(t)
}

func (m *Model) addToQuarantine(t *TrainingRow, d implausibility) {
	if len(m.Quarantine) == maxQuarantined {
		m.evictOldest()
	}
	m.Quarantine = append(m.Quarantine, quarantinedReport{*t, d.expected})
}

// evictOldest releases the oldest confirmable report and learns it, because with so many reports such
// peaks are normal for the task. If no report is confirmable, it discards the oldest.
func (m *Model) evictOldest() {
	oldest := slices.IndexFunc(m.Quarantine, func(r quarantinedReport) bool { return r.Confirmable() })
	if oldest < 0 {
		m.Quarantine = slices.Delete(m.Quarantine, 0, 1)
		return
	}
	m.release(oldest)
}

func (m *Model) releaseConfirmed(t *TrainingRow) {
	for i := m.findConfirmed(t); i >= 0; i = m.findConfirmed(t) {
		m.release(i)
	}
}

func (m *Model) findConfirmed(t *TrainingRow) int {
	if len(m.Quarantine) == 0 || !m.CanBeConfirmed(t) {
		return -1
	}
	peak := float64(t.Peak)
	c, known := m.forecast(t)
	// If the models predict the peak of t, then t is no evidence for a report with a peak that they do not predict.
	addsEvidence := func(low bool) bool {
		switch {
		case !known:
			return true
		case low:
			return peak*unitFactor/missFactor < c.low
		}
		return peak > m.Experts.MaxPeak || peak > unitFactor/missFactor*c.high
	}
	return slices.IndexFunc(m.Quarantine, func(r quarantinedReport) bool {
		waiting := float64(r.Peak)
		switch {
		case !r.Confirmable() || t.Censoring == sizing.Exact && m.isFarAboveAllocation(&r.TrainingRow):
			return false
		case r.isLow():
			return t.Censoring == sizing.Exact && peak <= confirmNearerFactor*waiting && peak*confirmFartherFactor >= waiting && addsEvidence(true)
		}
		return peak*confirmNearerFactor >= waiting && peak <= confirmFartherFactor*waiting && addsEvidence(false)
	})
}

func (m *Model) release(i int) {
	t := m.Quarantine[i].TrainingRow
	m.Quarantine = slices.Delete(m.Quarantine, i, i+1)
	if t.Censoring == sizing.AtLeast {
		m.learnBound(&t)
		return
	}
	m.learnExact(&t)
}

// releasePlausible learns the quarantined reports that have become plausible. It checks them only at every eighth row,
// because a task changes slowly.
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

func (m *Model) quarantinedSeqs() map[int64]bool {
	seqs := make(map[int64]bool, len(m.Quarantine))
	for i := range m.Quarantine {
		seqs[m.Quarantine[i].Seq] = true
	}
	return seqs
}
