package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Rules that predict the largest number of cores of a try.
const (
	anyCores  = iota // recent use of the task, independent of the features
	lineCores        // ridge regression of the log cores
	sameCores        // mean log cores of the rows with identical features, shrunk towards the ridge regression
	coreRules        // number of rules
)

const (
	cpuQuantile     = 0.99  // the CPU request is this quantile of the predicted use
	oneCoreAtMost   = 1.25  // largest number of cores that sampling may report for a single thread
	cpuStep         = 0.25  // cores; predicted requests are rounded up to multiples of cpuStep
	minCPURows      = 5     // smallest number of tries with a CPU measurement for an answer
	minCPULineRows  = 12    // lineCores and sameCores predict only if at least this number of fitted rows have a CPU measurement
	minCPURuleRows  = 30    // smallest number of residuals of lineCores with which lineCores and sameCores may answer
	maxCPUResiduals = 500   // largest number of stored residuals of each rule, the newest ones
	cpuRuleGain     = 0.95  // lineCores or sameCores answers only if its loss is below this share of the loss of anyCores
	cpuForget       = 0.999 // factor on the summed losses at each new row, so that older rows count less
	cpuRange        = 0.7   // logarithm of the largest factor (2) by which a prediction of lineCores may be outside the range of the fitted rows
)

// CPUModel predicts the largest CPU use of a task's tries. It evaluates every rule out of sample, except after a fit with new
// cycles of a date (learnCycles). The rule with the smallest loss answers (see bestRule) with its prediction plus the 99th
// percentile of its own residuals, both in log cores. The percentile is high, because a lack of cores costs more than an excess
// of a quarter of a core.
type CPUModel struct {
	Residuals [coreRules]experts.Window `cbor:"Spread"` // out-of-sample residuals of log cores
	Loss      [coreRules]float64        // discounted pinball loss (Koenker & Bassett 1978) at cpuQuantile, in cores
}

// learn records the use of a try in cores. `levels` are the rules' predictions before the try, in log cores; NaN means that
// a rule does not predict. The losses count only rows that every rule predicted, and only while lineCores has at least
// minCPURows residuals.
func (c *CPUModel) learn(levels *[coreRules]float64, used float64) {
	if c.featureResiduals(levels) >= minCPURows {
		for rule, level := range levels {
			short := used - c.request(rule, level)
			c.Loss[rule] = c.Loss[rule]*cpuForget + max(cpuQuantile*short, (cpuQuantile-1)*short)
		}
	}
	for rule, level := range levels {
		if !math.IsNaN(level) {
			c.Residuals[rule].Add(math.Log(used)-level, maxCPUResiduals)
		}
	}
}

// featureResiduals returns the number of residuals of lineCores, which is also that of sameCores; zero if these two rules did
// not predict the row.
func (c *CPUModel) featureResiduals(levels *[coreRules]float64) int {
	if math.IsNaN(levels[lineCores]) {
		return 0
	}
	return len(c.Residuals[lineCores].Sorted)
}

// request returns the quantile cpuQuantile of a rule for a try, in cores; `level` is the rule's
// prediction in log cores. The rule must have residuals.
func (c *CPUModel) request(rule int, level float64) float64 {
	sorted := c.Residuals[rule].Sorted
	n := len(sorted)
	return math.Exp(level + sorted[min(n-1, int(math.Ceil(cpuQuantile*float64(n))))])
}

// mixtureRequest returns the quantile cpuQuantile of a mixture of the rule's predictions with equal weights, in cores.
func (c *CPUModel) mixtureRequest(rule int, levels [][coreRules]float64) float64 {
	low, high := math.Inf(1), 0.0
	for i := range levels {
		r := c.request(rule, levels[i][rule])
		low, high = min(low, r), max(high, r)
	}
	if low == high {
		return high
	}
	sorted := c.Residuals[rule].Sorted
	enough := cpuQuantile * float64(len(sorted)*len(levels))
	return math.Exp(bisect(math.Log(low), math.Log(high), func(log float64) bool {
		below := 0
		for i := range levels {
			n, _ := slices.BinarySearch(sorted, log-levels[i][rule])
			below += n
		}
		return float64(below) >= enough
	}))
}

func (c *CPUModel) bestRule(levels *[coreRules]float64) int {
	rule := anyCores
	if c.featureResiduals(levels) < minCPURuleRows {
		return rule
	}
	least := c.Loss[anyCores] * cpuRuleGain
	for k := lineCores; k < coreRules; k++ {
		if c.Loss[k] < least {
			rule, least = k, c.Loss[k]
		}
	}
	return rule
}

// answer returns the CPU request, a multiple of cpuStep; zero if there are too few measurements. `levels` are the rules'
// predictions: one element, or several with equal weights. A task counts as single-threaded if the predicted quantile is at
// most oneCoreAtMost and the median of its use is above cpuStep. Such a task gets at most one core.
func (c *CPUModel) answer(levels [][coreRules]float64) sizing.Cores {
	all := &c.Residuals[anyCores]
	if len(all.Sorted) < minCPURows {
		return 0
	}
	used := c.mixtureRequest(c.bestRule(&levels[0]), levels)
	if used <= oneCoreAtMost && math.Exp(all.Median()) > cpuStep {
		return sizing.Cores(min(1, math.Ceil(used/cpuStep)*cpuStep))
	}
	return sizing.Cores(math.Ceil(used/cpuStep) * cpuStep)
}

// noCoreLevels are the rules' predictions if only anyCores predicts. The level of anyCores is always 0, so that its
// residuals are the logarithms of the uses themselves.
var noCoreLevels = [coreRules]float64{anyCores: 0, lineCores: math.NaN(), sameCores: math.NaN()}

// withoutCoreInputs is a mixture that predicts CPU from the earlier uses alone: noCoreLevels is its only element.
var withoutCoreInputs = [][coreRules]float64{noCoreLevels}

// coreLevels returns the rules' predictions for a row, in log cores; b.line is the encoded row.
func (m *models) coreLevels(cells []sizing.Value, b *buffers) (levels [coreRules]float64) {
	if m.ridges == nil || m.CoreRows < minCPULineRows {
		return noCoreLevels
	}
	levels[lineCores] = max(m.CoreLow-cpuRange, min(m.CoreHigh+cpuRange, m.ridges[logCores].Predict(b.line)+m.CoreCycles.effect(cells)))
	levels[sameCores] = levels[lineCores]
	if g := m.groupOf(cells, b); g != nil && g.CoreRows > 0 {
		levels[sameCores] = (g.Cores*g.CoreRows + groupShrink*levels[lineCores]) / (g.CoreRows + groupShrink)
	}
	return levels
}

// groupOf returns the group of a row, which summarises the learned rows with identical features; nil if there is none.
// If predictGroup has just looked up the same row, groupOf reuses the result in b.
func (m *models) groupOf(cells []sizing.Value, b *buffers) *group {
	if len(cells) > 0 && len(b.groupOf) == len(cells) && &b.groupOf[0] == &cells[0] {
		return b.group
	}
	return m.Groups.find(groupKey(m.Enc.Columns, cells, nil), &b.groupValue)
}

func (m *models) summariseCores(rows []row) {
	m.CoreLow, m.CoreHigh = math.Inf(1), math.Inf(-1)
	for i := range rows {
		if rows[i].Cores > 0 {
			used := math.Log(rows[i].Cores)
			m.CoreRows++
			m.LogCores += (used - m.LogCores) / float64(m.CoreRows)
			m.CoreLow, m.CoreHigh = min(m.CoreLow, used), max(m.CoreHigh, used)
		}
	}
}

// coreLevelsOf returns the rules' predictions for a try, in log cores. If the try lacks a rarely missing feature, or if a question
// with its features would drop the value of one (see models.clean), only anyCores predicts: the errors of lineCores and
// sameCores for imputed features say nothing about their errors for known ones.
func (m *Model) coreLevelsOf(t *TrainingRow) [coreRules]float64 {
	if m.Models == nil || m.Models.ridges == nil {
		return noCoreLevels
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(t.Features, b.cells)
	cells := m.Models.clean(b.cells, b)
	if m.Models.Enc.isIncomplete(cells) {
		return noCoreLevels
	}
	b.line, b.tree = m.Models.Enc.encode(cells, b.line[:0], b.tree[:0])
	return m.Models.coreLevels(cells, b)
}

// cpuOfRow returns the CPU request for the row in b. If the row lacks a rarely missing feature, or if the prediction of the peak
// dropped the value of one, the request comes from a mixture: one prediction with the values of each donor row in b.similar,
// which the prediction of the peak has set.
func (m *Model) cpuOfRow(q *Question, b *buffers) sizing.Cores {
	cells := b.cells
	if b.isCleaned {
		cells = b.cleaned
	}
	b.coreLevels = b.coreLevels[:0]
	if m.Models.ridges == nil || !m.Models.Enc.isIncomplete(cells) {
		b.coreLevels = append(b.coreLevels, m.Models.coreLevels(cells, b))
		return m.cpuRequest(q, b.coreLevels)
	}
	for _, near := range b.similar {
		m.Models.encodeDonorRow(cells, near, b)
		b.coreLevels = append(b.coreLevels, m.Models.coreLevels(b.imputed, b))
	}
	b.line, b.tree = m.Models.Enc.encode(cells, b.line[:0], b.tree[:0])
	return m.cpuRequest(q, b.coreLevels)
}

func (m *Model) cpuRequest(q *Question, levels [][coreRules]float64) sizing.Cores {
	return m.CPU.boundByRequest(m.CPU.answer(levels), cmp.Or(q.Requested.CPU, m.Requested.CPU))
}
