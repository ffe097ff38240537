package fitting

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Quarantine holds back a report that is too far from everything known of the
// task, in either direction: most such reports name the wrong unit or the wrong
// container. A held report changes no allocation. A second report of its kind
// releases it, so that real growth and rare modes cost one report more.
//
//	rows   too large                                    too small
//	0      8 × allocated, 100 × requested               1/900 of allocated or requested
//	1-7    100 × largest peak and forecast, or          1/10 of the forecast, 1/900 of allocated, and
//	       8 × allocated and 4 × peak and forecast      no earlier row missed it by nearly as much
//	8-     4 × largest peak and forecast, or            the same with 1/100 of the forecast
//	       300 × forecast if no earlier row missed it
//	       by nearly as much
//	any    64Ti, which nothing confirms                 1 MiB and 1/900 of allocated or requested, which nothing confirms
//
// An OOM kill at or below what the service granted is never held.
const (
	// The smallest mistaken unit is a factor of 1000 (kB for B, MiB for KiB), and a
	// success uses at most what it has: so a mistaken report is this far below it, if
	// the limit is exceeded by no more than a tenth.
	unitFactor = 900
	// A forecast may be wrong by ten, so a mistaken unit is at least this far from it.
	missFactor      = 100
	missFactorYoung = 10 // beside an allocation that the peak is a mistaken unit below
	// A report held for being large may be growth, and the next such run is killed for
	// it; one learned by mistake only wastes. So the forecast must be missed by more.
	missHighFactor = 300
	// Limits that are not enforced are exceeded: the most in a public trace is 34 ×
	// the request, and two of its 999 rows exceed 8 ×.
	allocatedFactor = 8
	requestedFactor = 100
	// No node has twice the largest server: such a report is never confirmed.
	maxPossible = 2 * sizing.LargestServer

	rangeFactor         = 4  // of the largest peak so far: beyond it no forecast was tested
	minRangeRows        = 8  // measured rows before the largest peak says much
	confirmShortFactor  = 2  // short of a held report, what confirms it …
	confirmBeyondFactor = 10 // … and beyond it: further off is another mistaken unit
	maxQuarantined      = 64 // more than that is how the task behaves: the oldest is learned
)

// quarantined is a report that waits for another to confirm it.
type quarantinedReport struct {
	TrainingRow
	Expected float64 `cbor:",omitzero"` // bytes; zero in models stored before this field: far below the peak
}

func (h *quarantinedReport) isLow() bool { return float64(h.Peak) < h.Expected }

// doubt says what a report is held against.
type implausibility struct {
	expected  float64 // bytes
	reference string  // what they are
}

// forecast is what the models say of a row before it is learned, in bytes.
type forecast struct {
	low, high float64 // the least and the most of the models that see the features
	center    float64 // that of LineTrees, whose residuals are kept
	imputed   bool    // a guess: features are missing
}

func (m *Model) forecast(f sizing.Features) (c forecast, known bool) {
	if m.Models == nil {
		return forecast{}, false
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(f, b.cells)
	var p experts.Point
	m.Models.predict(b.cells, &p, b)
	trees, line := math.Exp(p.Level[experts.Trees]), math.Exp(p.Level[experts.LineTrees])
	return forecast{low: min(trees, line), high: max(trees, line), center: line, imputed: p.Blind}, true
}

// Doubt explains why Learn would hold t back; empty if it would not.
func (m *Model) QuarantineReason(t TrainingRow) string {
	m.Sampling.raise(&t)
	if t.Censoring != sizing.Exact && t.Censoring != sizing.AtLeast || t.Confirmable() && m.findConfirmed(&t) >= 0 {
		return ""
	}
	d, ok := m.check(&t)
	if !ok {
		return ""
	}
	return d.describe(t.Peak)
}

func (d implausibility) describe(peak sizing.Bytes) string {
	times := float64(peak) / d.expected
	if times < 1 {
		return fmt.Sprintf("%d bytes is 1/%.0f of %s (%s)", peak, 1/times, d.reference, sizing.Bytes(d.expected).Approx())
	}
	return fmt.Sprintf("%d bytes is %.0f times %s (%s)", peak, times, d.reference, sizing.Bytes(d.expected).Approx())
}

// Quarantined explains each report that is held back.
func (m *Model) Quarantined() []sizing.Quarantined {
	var all []sizing.Quarantined
	for i := range m.Quarantine {
		h := &m.Quarantine[i]
		q := sizing.Quarantined{Memory: h.Peak, Detail: "far above everything known of the task"}
		if h.Expected > 0 {
			q.Detail = implausibility{h.Expected, "what was expected of it"}.describe(h.Peak)
		}
		all = append(all, q)
	}
	return all
}

// quarantine holds t back if it is implausible, and releases what t confirms.
func (m *Model) quarantine(t *TrainingRow) bool {
	m.releaseConfirmed(t)
	d, ok := m.check(t)
	if ok {
		m.addToQuarantine(t, d)
	}
	return ok
}

// quarantineSkimmed is quarantine for an old row of a bulk, whose models saw few rows
// yet: their forecasts alone prove nothing, so the row must also leave the range.
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

// overflow makes room. So many reports are how the task behaves, unless they are
// impossible: those are left out of every fit anyway.
func (m *Model) evictOldest() {
	oldest := slices.IndexFunc(m.Quarantine, func(h quarantinedReport) bool { return h.Confirmable() })
	if oldest < 0 {
		m.Quarantine = slices.Delete(m.Quarantine, 0, 1)
		return
	}
	m.release(oldest)
}

// doubt reports whether t is implausible, and against what.
func (m *Model) check(t *TrainingRow) (implausibility, bool) {
	if d, ok := checkAlways(t); ok {
		return d, true
	}
	if killedAsGranted(t) {
		return implausibility{}, false
	}
	if m.Experts.Told == 0 {
		return checkFirst(t)
	}
	peak := float64(t.Peak)
	c, known := m.forecast(t.Features)
	if !known {
		c = forecast{low: 0, high: m.Experts.MaxPeak, center: m.Experts.MaxPeak}
	}
	reach := implausibility{c.high, "what its features foretold"}
	if m.Experts.MaxPeak > c.high {
		reach = implausibility{m.Experts.MaxPeak, "the largest peak so far"}
	}
	allocated := float64(t.Allocated.Memory)
	switch {
	case m.Experts.Told >= minRangeRows && peak > rangeFactor*reach.expected, peak > missFactor*reach.expected:
		return reach, true
	case peak > rangeFactor*reach.expected && allocated > 0 && peak > allocatedFactor*allocated:
		return implausibility{allocated, "what was allocated"}, true
	case c.imputed || !known:
		return implausibility{}, false
	case peak > missHighFactor*c.high && !m.hasSimilarMiss(peak/c.center):
		return implausibility{c.high, "what its features foretold"}, true
	case t.Censoring == sizing.Exact && peak*m.missFactor(allocated) < c.low && (allocated == 0 || peak*unitFactor < allocated) &&
		!m.hasSimilarMiss(peak/c.center):
		return implausibility{c.low, "what its features foretold"}, true
	}
	return implausibility{}, false
}

// missFactor is by how much a forecast must exceed a peak to make it implausible. The
// first few rows say little of the others, so the allocation counts for more.
func (m *Model) missFactor(allocated float64) float64 {
	if m.Experts.Told < minRangeRows && allocated > 0 {
		return missFactorYoung
	}
	return missFactor
}

// doubtFirst judges a report before any peak is known.
func checkFirst(t *TrainingRow) (implausibility, bool) {
	peak := float64(t.Peak)
	allocated, requested := float64(t.Allocated.Memory), float64(t.Requested.Memory)
	scale := implausibility{allocated, "what was allocated"}
	if allocated == 0 {
		scale = implausibility{requested, "what was requested"}
	}
	switch {
	case t.Censoring == sizing.Exact && peak*unitFactor < scale.expected:
		return scale, true
	case t.Censoring == sizing.Exact && allocated > 0 && peak > allocatedFactor*allocated,
		scale.expected > 0 && peak > requestedFactor*scale.expected:
		return scale, true
	case requested > 0 && peak > requestedFactor*requested:
		return implausibility{requested, "what was requested"}, true
	}
	return implausibility{}, false
}

// missedBefore reports whether an earlier row missed its forecast the same way, and
// by a tenth of the ratio at least: then such rows belong to the task.
func (m *Model) hasSimilarMiss(ratio float64) bool {
	miss := math.Log(ratio)
	slack := math.Log(unitFactor / missFactor)
	return slices.ContainsFunc(m.OutOfSample, func(e outOfSample) bool {
		if miss < 0 {
			return e.Residual <= miss+slack
		}
		return e.Residual >= miss-slack
	})
}

// confirm releases the reports that t confirms.
func (m *Model) releaseConfirmed(t *TrainingRow) {
	for i := m.findConfirmed(t); i >= 0; i = m.findConfirmed(t) {
		m.release(i)
	}
}

// confirmed is the place of a held report that t confirms; -1 if there is none.
func (m *Model) findConfirmed(t *TrainingRow) int {
	if len(m.Quarantine) == 0 || !t.Confirmable() {
		return -1
	}
	peak := float64(t.Peak)
	c, known := m.forecast(t.Features)
	// A report that the features foretell says nothing of one that they do not.
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

// release learns a held report.
func (m *Model) release(i int) {
	t := m.Quarantine[i].TrainingRow
	m.Quarantine = slices.Delete(m.Quarantine, i, i+1)
	if t.Censoring == sizing.AtLeast {
		m.learnBound(&t)
		return
	}
	m.learnExact(&t)
}

// reconsider releases what would be accepted if it came now. Every eighth row is
// enough: what is known of a task does not change faster.
func (m *Model) releasePlausible() {
	if m.Experts.Told%minRangeRows != 0 {
		return
	}
	for i := 0; i < len(m.Quarantine); {
		if _, ok := m.check(&m.Quarantine[i].TrainingRow); ok {
			i++
			continue
		}
		m.release(i)
	}
}

// held are the rows in quarantine, by their place in order of arrival.
func (m *Model) quarantinedSeqs() map[int64]bool {
	seqs := make(map[int64]bool, len(m.Quarantine))
	for i := range m.Quarantine {
		seqs[m.Quarantine[i].Seq] = true
	}
	return seqs
}
