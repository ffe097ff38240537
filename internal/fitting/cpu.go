package fitting

import (
	"cmp"
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The rules that foretell how many cores a try uses at most.
const (
	anyCores  = iota // what the task used of late, whatever the features
	lineCores        // ridge of the log cores in log features
	sameCores        // rows with identical features, shrunk to the line
	coreRules        // how many there are
)

const (
	cpuQuantile     = 0.99
	oneCoreAtMost   = 1.25 // what a single thread is measured at, by sampling and helpers
	cpuStep         = 0.25
	minCPURows      = 5    // measured tries before anything is said
	minCPULineRows  = 12   // … before a line is believed at all
	minCPURuleRows  = 30   // … and before the features may say it
	maxCPUResiduals = 500  // residuals kept
	cpuRuleGain     = 0.95 // share of the featureless rule's loss that features must come below
	cpuForget       = 0.999
	cpuRange        = 0.7 // log units that a line may leave the range of what was seen
)

// Cores is what a task's tries used of processors at most. Every rule is asked
// before it is told; the one of least loss on what came later answers, by the 99th
// percentile of its own honest residuals: throttling is what costs, not a quarter
// of a core.
type Cores struct {
	Spread [coreRules]experts.Window // honest residuals of log cores
	Loss   [coreRules]float64        // forgetting pinball loss (Koenker & Bassett 1978) at the quantile, in cores
}

// learn tells what a try used, and what the rules' levels were before: NaN of a
// rule that knew too little, whose error would say nothing of the next. They are
// charged where all of them spoke.
func (c *Cores) learn(levels *[coreRules]float64, used float64) {
	if c.featureResiduals(levels) >= minCPURows {
		for rule, level := range levels {
			short := used - c.request(rule, level)
			c.Loss[rule] = c.Loss[rule]*cpuForget + max(cpuQuantile*short, (cpuQuantile-1)*short)
		}
	}
	for rule, level := range levels {
		if !math.IsNaN(level) {
			c.Spread[rule].Add(math.Log(used)-level, maxCPUResiduals)
		}
	}
}

// featured is how many residuals the rules with features can go by for a row.
func (c *Cores) featureResiduals(levels *[coreRules]float64) int {
	if math.IsNaN(levels[lineCores]) {
		return 0
	}
	return len(c.Spread[lineCores].Sorted)
}

// request is the rule's quantile of what a try with its level uses, in cores.
func (c *Cores) request(rule int, level float64) float64 {
	sorted := c.Spread[rule].Sorted
	n := len(sorted)
	return math.Exp(level + sorted[min(n-1, int(math.Ceil(cpuQuantile*float64(n))))])
}

// best is the rule that answers.
func (c *Cores) bestRule(levels *[coreRules]float64) int {
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

// answer is the CPU request, in quarters of a core; a single-threaded task gets one
// core. Zero: not known.
func (c *Cores) answer(levels *[coreRules]float64) sizing.Cores {
	all := &c.Spread[anyCores]
	if len(all.Sorted) < minCPURows {
		return 0
	}
	rule := c.bestRule(levels)
	used := c.request(rule, levels[rule])
	if used <= oneCoreAtMost && math.Exp(all.Median()) > cpuStep {
		return sizing.Cores(min(1, math.Ceil(used/cpuStep)*cpuStep))
	}
	return sizing.Cores(math.Ceil(used/cpuStep) * cpuStep)
}

// noCores are the levels where the features say nothing.
var noCoreLevels = [coreRules]float64{anyCores: 0, lineCores: math.NaN(), sameCores: math.NaN()}

// coreLevels are the log cores that the rules foretell of a row; line is its
// encoding.
func (m *models) coreLevels(cells []sizing.Value, line []float64) (levels [coreRules]float64) {
	if m.ridges == nil || m.CoreRows < minCPULineRows {
		return noCoreLevels
	}
	levels[lineCores] = max(m.CoreLow-cpuRange, min(m.CoreHigh+cpuRange, m.ridges[logCores].Predict(line)))
	levels[sameCores] = levels[lineCores]
	if g := m.Groups[groupKey(m.Enc.Columns, cells)]; g != nil && g.CoreRows > 0 {
		levels[sameCores] = (g.Cores*g.CoreRows + groupShrink*levels[lineCores]) / (g.CoreRows + groupShrink)
	}
	return levels
}

// measureCores notes what the fitted rows used.
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

// coreLevelsOf are the log cores that the rules foretell of a try.
func (m *Model) coreLevelsOf(t *TrainingRow) [coreRules]float64 {
	if m.Models == nil || m.Models.ridges == nil {
		return noCoreLevels
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(t.Features, b.cells)
	b.line, b.tree = m.Models.Enc.encode(b.cells, b.line[:0], b.tree[:0])
	return m.Models.coreLevels(b.cells, b.line)
}

// cpu is the CPU request of the row that b holds.
func (m *Model) cpuOfRow(q *Question, b *buffers) sizing.Cores {
	levels := m.Models.coreLevels(b.cells, b.line)
	return m.cpuRequest(q, &levels)
}

// cores is the CPU request by the rules' levels, within the bounds of the static request.
func (m *Model) cpuRequest(q *Question, levels *[coreRules]float64) sizing.Cores {
	return m.CPU.boundByRequest(m.CPU.answer(levels), cmp.Or(q.Requested.CPU, m.Requested.CPU))
}
