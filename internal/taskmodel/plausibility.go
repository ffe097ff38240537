package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	// minContainer is the memory of a pause container, the smallest container of a pod; no program uses less.
	minContainer = sizing.MiB
	// minGranted is the default minimum grant. A wrong report of a kill at or below this amount costs
	// at most about this amount per pod.
	minGranted = 64 * sizing.MiB
)

// isKilledAtGrant reports whether t was killed at or below the amount that this service granted, or at or below minGranted.
// Such a kill is plausible, even if it is far from all peaks.
func isKilledAtGrant(t *TrainingRow) bool {
	return t.Censoring == sizing.AtLeast && t.Peak <= max(t.Granted, minGranted)
}

// isBetweenKillAndAllocation reports whether the measured peak of t is above the largest killed allocation of its run, below
// unitFactor times this amount, and at most its own allocation. Such a peak is plausible, even if it is far above all peaks:
// the kill shows that the run needs more. A peak from unitFactor times the kill on is probably in a smaller unit.
func (m *Model) isBetweenKillAndAllocation(t *TrainingRow) bool {
	if t.Censoring != sizing.Exact || t.Peak > t.Allocated.Memory {
		return false
	}
	killed, peak := m.killedBefore(t.Run), float64(t.Peak)
	return killed < peak && peak < unitFactor*killed
}

// releaseGranted learns the quarantined kills that isKilledAtGrant now finds plausible: the receipt of a kill may have been
// stored after the kill was quarantined.
func (m *Model) releaseGranted(h *sizing.History) {
	for i := 0; i < len(m.Quarantine); {
		t := &m.Quarantine[i].TrainingRow
		at := slices.IndexFunc(h.Rows, func(r sizing.HistoryRow) bool { return r.Seq == t.Seq })
		if at >= 0 {
			t.Granted = h.Rows[at].Granted
		}
		if at >= 0 && isKilledAtGrant(t) && t.Confirmable() {
			m.release(i)
			continue
		}
		i++
	}
}

// isTooSmall reports whether the peak of a success is less than any container uses and, compared
// with the allocation or request, is probably in the wrong unit. No report can confirm such a peak,
// because every row of a file in the wrong unit repeats the mistake.
func isTooSmall(peak sizing.Bytes, censoring sizing.Censoring, allocated, requested sizing.Bytes) bool {
	return censoring == sizing.Exact && peak < minContainer && float64(peak)*unitFactor < float64(max(allocated, requested))
}

// Confirmable reports whether another report can confirm t if t is quarantined, as far as t alone shows; see CanBeConfirmed.
func (t *TrainingRow) Confirmable() bool {
	return t.Peak <= maxPossible && !isTooSmall(t.Peak, t.Censoring, t.Allocated.Memory, t.Requested.Memory)
}

// isFarAboveAllocation reports whether the peak of a success is more than requestedFactor times its allocation (or its request,
// if the allocation is unknown), although Experts.MaxPeak, the largest peak or killed allocation at the present level of the
// task, is at most allocatedFactor times this amount. It returns false while fewer than minRangeRows measured rows are learned.
// No run uses so much more than its pod was given: the source of the peak has changed its unit, and a second such report
// repeats the mistake.
func (m *Model) isFarAboveAllocation(t *TrainingRow) bool {
	given := float64(t.Allocated.Memory)
	if given == 0 {
		given = float64(t.Requested.Memory)
	}
	return t.Censoring == sizing.Exact && m.Experts.LearnedRows >= minRangeRows && given > 0 &&
		float64(t.Peak) > requestedFactor*given && m.Experts.MaxPeak <= allocatedFactor*given
}

// CanBeConfirmed reports whether a similar report can confirm t if t is quarantined. Unlike Confirmable, it also compares t
// with the learned peaks.
func (m *Model) CanBeConfirmed(t *TrainingRow) bool {
	return t.Confirmable() && !m.isFarAboveAllocation(t)
}

func checkWithoutHistory(t *TrainingRow) (implausibility, bool) {
	switch {
	case t.Peak > maxPossible:
		return implausibility{float64(maxPossible), "the largest plausible peak"}, true
	case t.Confirmable():
		return implausibility{}, false
	case t.Allocated.Memory >= t.Requested.Memory:
		return implausibility{math.Max(1, float64(t.Allocated.Memory)), "the allocation"}, true
	}
	return implausibility{float64(t.Requested.Memory), "the request"}, true
}

// implausibility is the expectation that a report violates.
type implausibility struct {
	expected  float64 // bytes
	reference string  // the source of the expectation
}

func (d implausibility) describe(peak sizing.Bytes) string {
	times := float64(peak) / d.expected
	if times < 1 {
		return fmt.Sprintf("%d bytes is 1/%.0f of %s (%s)", peak, 1/times, d.reference, sizing.Bytes(d.expected).Approx())
	}
	return fmt.Sprintf("%d bytes is %.0f times %s (%s)", peak, times, d.reference, sizing.Bytes(d.expected).Approx())
}

// forecast is the models' prediction of the peak of a row, in bytes.
type forecast struct {
	low, high float64 // smallest and largest of the predictions of Trees and LineTrees
	center    float64 // prediction of LineTrees, whose residuals are stored
	imputed   bool    // the row lacks rarely missing features
	rise      float64 // largest factor by which a relevant plausible input, or the inputs together (jointExcess), exceed the known range; 1: none
	isNew     bool    // a category or a bool has a new value; see hasNewValue
}

func (m *Model) forecast(t *TrainingRow) (c forecast, known bool) {
	if m.Models == nil {
		return forecast{}, false
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(t.Features, b.cells)
	if t.Censoring == sizing.Exact {
		b.peak = m.Models.classify(float64(t.Peak))
		defer func() { b.peak = unknownPeak }()
	}
	var p experts.Point
	m.Models.predict(b.cells, &p, b)
	m.Levels.shiftToNewest(&p)
	trees, line := math.Exp(p.Level[experts.Trees]), math.Exp(p.Level[experts.LineTrees])
	c = forecast{low: min(trees, line), high: max(trees, line), center: line, imputed: p.Imputed}
	c.rise, c.isNew = m.Models.largestRise(b.cells), m.Models.Enc.hasNewValue(b.cells)
	return c, true
}

func (m *models) largestRise(cells []sizing.Value) float64 {
	t := m.trendOf(cells)
	largest := t.jointExcess(cells)
	for j := t.firstInput(); j < len(t.Ranges) && m.ridges != nil; j++ {
		if distance := t.distance(j, cells); t.isRelevant(j, distance) && !t.isImplausible(j, cells, unknownPeak) {
			largest = max(largest, distance)
		}
	}
	return math.Exp(largest)
}

func (m *Model) checkPlausibility(t *TrainingRow) (implausibility, bool) {
	if d, ok := checkWithoutHistory(t); ok {
		return d, true
	}
	if isKilledAtGrant(t) || m.isBetweenKillAndAllocation(t) {
		return implausibility{}, false
	}
	if m.Experts.LearnedRows == 0 {
		return checkFirstReport(t)
	}
	peak := float64(t.Peak)
	c, known := m.forecast(t)
	most := max(m.Experts.MaxPeak, float64(m.Largest)) // a return to an earlier level lowers MaxPeak
	if !known {
		c = forecast{low: 0, high: most, center: most, rise: 1}
	}
	largest := implausibility{c.high, "the prediction from its features"}
	if most > c.high {
		largest = implausibility{most, "the largest peak so far"}
		if most > float64(m.Largest) && most <= float64(m.Bound) { // see raiseBound
			largest.reference = "the largest killed allocation so far"
		}
	}
	allocated := float64(t.Allocated.Memory)
	switch {
	case m.Experts.LearnedRows >= minRangeRows && !c.isNew && peak > rangeFactor*c.rise*largest.expected, peak > max(missFactor, rangeFactor*c.rise)*largest.expected:
		return largest, true
	case peak > rangeFactor*largest.expected && allocated > 0 && peak > allocatedFactor*allocated:
		return implausibility{allocated, "the allocation"}, true
	case c.imputed || !known:
		return implausibility{}, false
	case peak > max(missHighFactor, rangeFactor*c.rise)*c.high && !m.hasSimilarMiss(peak/c.center):
		return implausibility{c.high, "the prediction from its features"}, true
	case t.Censoring == sizing.Exact && peak*m.missFactor(allocated) < c.low && (allocated == 0 || peak*unitFactor < allocated) &&
		!m.hasSimilarMiss(peak/c.center):
		return implausibility{c.low, "the prediction from its features"}, true
	}
	return implausibility{}, false
}

// missFactor returns the factor by which the prediction for a run must exceed its peak to make the peak
// implausible. The factor is smaller for a task with few rows if the allocation is known, because the
// allocation is then stronger evidence than the prediction.
func (m *Model) missFactor(allocated float64) float64 {
	if m.Experts.LearnedRows < minRangeRows && allocated > 0 {
		return missFactorColdStart
	}
	return missFactor
}

func checkFirstReport(t *TrainingRow) (implausibility, bool) {
	peak := float64(t.Peak)
	allocated, requested := float64(t.Allocated.Memory), float64(t.Requested.Memory)
	scale := implausibility{allocated, "the allocation"}
	if allocated == 0 {
		scale = implausibility{requested, "the request"}
	}
	switch {
	case t.Censoring == sizing.Exact && peak*unitFactor < scale.expected:
		return scale, true
	case t.Censoring == sizing.Exact && allocated > 0 && peak > allocatedFactor*allocated,
		scale.expected > 0 && peak > requestedFactor*scale.expected:
		return scale, true
	case requested > 0 && peak > requestedFactor*requested:
		return implausibility{requested, "the request"}, true
	}
	return implausibility{}, false
}

// hasSimilarMiss reports whether an earlier row deviated from its prediction in the same direction by at
// least a ninth of the factor of this row. `ratio` is the row's peak divided by its prediction; the factor
// is ratio, or 1/ratio if the ratio is below 1. If there is such a row, large deviations are normal for the task.
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
