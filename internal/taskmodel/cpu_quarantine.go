package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A CPU measurement in the wrong unit (millicores, percent) would lead to a request that no node
// can satisfy. Therefore a measurement far above the task's history, request and allocation waits
// in quarantine, like an implausible peak, until a second measurement confirms it. If the quarantine is full, the oldest
// measurement is learned. In the table, the first column is the number of learned measurements, and the given CPU is the
// largest of three amounts: the try's request, its allocation and the last request of the task. The largest use is that of
// the newest maxCPUResiduals measurements.
//
//	measurements      quarantined if above
//	0                 8 × the given CPU; if that is unknown, 128 cores
//	1-7               8 × the given CPU and 4 × the largest use; if the given CPU is unknown, 100 × the largest use
//	8-                4 × the largest use, 4 × the prediction, and the given CPU
//
// A measurement of at most one core is never quarantined.
const (
	cpuAlwaysPlausible = 1.0   // cores; any process may use a whole core for a moment
	maxUnknownCPU      = 128.0 // cores; largest plausible first measurement if the given CPU is unknown: larger nodes are rare
	cpuRepeated        = 3     // number of measurements above the static request from which an answer may exceed the request
	cpuCeilingFactor   = 8     // largest answer as a multiple of the static request; a larger answer often fits no node
	minCPUCeiling      = 4     // cores; an answer may be this large in spite of cpuCeilingFactor, because nearly every node has at least four cores
)

// quarantinedCores is a CPU measurement that waits until another one confirms it.
type quarantinedCores struct {
	Seq    int64              // TrainingRow.Seq
	Used   float64            // cores
	Levels [coreRules]float64 // predictions of the CPU rules (cpu.go) at the time of the report, in log cores
}

// coresExpectation is the expectation with which checkCores compares a CPU measurement.
type coresExpectation struct {
	expected  float64 // cores
	reference string  // the source of the expectation
}

// QuarantineCoresReason explains why Learn would quarantine the CPU measurement of t; "" if Learn would not, or if t confirms
// another measurement.
func (m *Model) QuarantineCoresReason(t TrainingRow) string {
	if !hasCores(&t) {
		return ""
	}
	levels := m.coreLevelsOf(&t)
	d, implausible := m.checkCores(&t, &levels)
	if !implausible || m.findConfirmedCores(float64(t.CPUMax)) >= 0 {
		return ""
	}
	return fmt.Sprintf("%v cores is %.0f times %s (%s)", float64(t.CPUMax), float64(t.CPUMax)/d.expected, d.reference, sizing.FormatFactor(d.expected))
}

func hasCores(t *TrainingRow) bool {
	return t.CPUMax > 0 && t.Outcome == sizing.Success && sizing.PlausibleCores(t.CPUMax, max(t.Allocated.CPU, t.Requested.CPU))
}

// learnCores first learns the quarantined measurements that t confirms. It returns false if t has no CPU measurement that may
// be learned, or if the measurement is now in quarantine.
func (m *Model) learnCores(t *TrainingRow) bool {
	if !hasCores(t) {
		return false
	}
	used := float64(t.CPUMax)
	for i := m.findConfirmedCores(used); i >= 0; i = m.findConfirmedCores(used) {
		m.releaseCores(i)
	}
	levels := m.coreLevelsOf(t)
	if _, implausible := m.checkCores(t, &levels); implausible {
		if len(m.QuarantineCores) == maxQuarantined {
			m.releaseCores(0)
		}
		m.QuarantineCores = append(m.QuarantineCores, quarantinedCores{Seq: t.Seq, Used: used, Levels: levels})
		return false
	}
	m.CPU.learn(&levels, used)
	return true
}

// checkCores returns the expectation with which it compared the CPU measurement of t, and whether the measurement is
// implausible. `levels` are the predictions of the CPU rules (recent use, line, same features) for t.
func (m *Model) checkCores(t *TrainingRow, levels *[coreRules]float64) (coresExpectation, bool) {
	used := float64(t.CPUMax)
	history := m.CPU.Residuals[anyCores].Sorted
	own := coresExpectation{0, "the largest CPU use of the newest runs"}
	if n := len(history); n > 0 {
		own.expected = math.Exp(history[n-1])
	}
	for _, level := range levels[lineCores:] {
		if predicted := math.Exp(level); predicted > own.expected { // false for NaN
			own = coresExpectation{predicted, "the prediction from its features"}
		}
	}
	given := coresExpectation{float64(max(t.Allocated.CPU, t.Requested.CPU, m.Requested.CPU)), "the largest request or allocation"}
	unknown := coresExpectation{maxUnknownCPU, "a large node"}
	switch {
	case used <= cpuAlwaysPlausible:
		return coresExpectation{}, false
	case len(history) == 0 && given.expected == 0:
		return unknown, used > unknown.expected
	case len(history) == 0:
		return given, used > allocatedFactor*given.expected
	case len(history) < minRangeRows && given.expected == 0:
		return own, used > missFactor*own.expected
	case len(history) < minRangeRows && given.expected > own.expected:
		return given, used > allocatedFactor*given.expected
	case len(history) < minRangeRows:
		return own, used > rangeFactor*own.expected && used > allocatedFactor*given.expected
	}
	return own, used > rangeFactor*own.expected && used > given.expected
}

func (m *Model) findConfirmedCores(used float64) int {
	return slices.IndexFunc(m.QuarantineCores, func(c quarantinedCores) bool {
		return used*confirmNearerFactor >= c.Used && used <= confirmFartherFactor*c.Used
	})
}

func (m *Model) releaseCores(i int) {
	c := m.QuarantineCores[i]
	m.QuarantineCores = slices.Delete(m.QuarantineCores, i, i+1)
	m.CPU.learn(&c.Levels, c.Used)
}

// fittedCores returns the CPU measurement of a history row in cores; zero if the models must not learn it.
func fittedCores(r *sizing.HistoryRow, quarantinedRows map[int64]bool) float64 {
	t := TrainingRow{CPUMax: r.CPUMax, Outcome: r.Outcome, Requested: r.Requested, Allocated: r.Allocated}
	if quarantinedRows[r.Seq] || !hasCores(&t) {
		return 0
	}
	return float64(r.CPUMax)
}

func (m *Model) quarantinedCoreSeqs() map[int64]bool {
	if len(m.QuarantineCores) == 0 {
		return nil
	}
	seqs := make(map[int64]bool, len(m.QuarantineCores))
	for i := range m.QuarantineCores {
		seqs[m.QuarantineCores[i].Seq] = true
	}
	return seqs
}

// boundByRequest returns the answer, limited by the static request: to the request until cpuRepeated measurements are above
// it, then to a multiple of the request. A request of zero is unknown and does not limit the answer.
func (c *CPUModel) boundByRequest(answer, requested sizing.Cores) sizing.Cores {
	if requested == 0 || answer <= requested {
		return answer
	}
	all := c.Residuals[anyCores].Sorted
	above, _ := slices.BinarySearch(all, math.Log(float64(requested))+1e-9)
	if len(all)-above < cpuRepeated {
		return requested
	}
	return min(answer, max(cpuCeilingFactor*requested, minCPUCeiling))
}
