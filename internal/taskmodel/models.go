package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Targets of the ridge regression.
const (
	logPeak    = iota
	peak       // divided by models.Unit
	logSeconds // log1p of the seconds; for an unknown run time, the predicted value
	logCores   // for a row without a measurement, the mean of the other rows
	targetCount
)

// models are the point predictors of one task. The line is the ridge regression of the log peak, see lineRidge. A fit replaces
// the encoding, the line, the combinations, the trees, PeakTrend and RunTimeTrend. Between fits, learn updates the groups, the
// newest peaks, the stack, the smoothed errors, the ranges of the peaks and of the inputs, and the statistics of the encoding.
// It also updates the ridge regressions, except those with an offset. LineTrees (experts.LineTrees) is the sum of the
// prediction of the line, of the effect of the combination of categories, and of the prediction of the trees Resid.
type models struct {
	Enc      *encoder
	Line     linear.State      // sums of the ridge regressions; only set while a blob is encoded or decoded, see line
	Trees    *gbt.Regressor    // of the log peak; nil if there are few rows or no columns for trees
	Resid    *gbt.Regressor    // of the residuals of the line with Combinations; nil if Trees is
	Spread   *gbt.Regressor    // of log |out-of-sample residual|; nil if there are few residuals
	Groups   *groups           // rows with identical features, by groupKey
	Recent   experts.Window    // newest log peaks
	Stack    *linear.Corrector // corrects LineTrees by other models and the recent errors
	Base     float64           // mean of log |out-of-sample residual|, shrunk to log spreadPrior; the spread if Spread is nil
	Drift    float64           // error of LineTrees, smoothed exponentially at driftRate
	Trend    float64           // error of LineTrees, smoothed at trendRate
	Unit     float64           // mean peak of the fitted rows in bytes, times the factor of shiftLevel
	Low      float64           // smallest log peak of the fitted rows and of those learned since
	High     float64           // largest log peak of the same rows as Low
	LogSec   float64           // mean log1p of the seconds of the fitted rows with a known run time; if there is none, log1p of a minute
	LogCores float64           // mean log cores of the fitted rows with a measurement
	CoreRows int               // number of fitted rows with a measurement of CPU
	CoreLow  float64           // smallest log cores of the fitted rows
	CoreHigh float64           // largest log cores of the fitted rows
	Clock    int               // number of learned rows

	PeakTrend trend `cbor:"Beyond,omitzero"` // extrapolates outside the range of the inputs

	RunTimeTrend runTimeTrend `cbor:",omitzero"` // extrapolates the run time; earlier releases do not store it

	ValueTrends valueTrends `cbor:",omitzero"` // replace PeakTrend and RunTimeTrend for some rows, see trendOf; earlier releases ignore them

	// RecurringColumns selects the columns whose values recur; nil: all, none, or too few rows (see findRecurring).
	// Recurring holds the groups of rows with the same values of these columns.
	RecurringColumns []bool  `cbor:",omitempty"`
	Recurring        *groups `cbor:",omitempty"`

	// Offset is the part of each peak in bytes that does not depend on the features; 0: none. Above predicts
	// log(peak − Offset), and is the line if there is an offset. Only a fit changes them.
	Offset float64       `cbor:",omitzero"`
	Above  *linear.Ridge `cbor:",omitempty"`

	// RunTimeOffset is one second plus the part of each run time that does not depend on the features; 0: no such part is
	// known. RunTimeAbove predicts log(1 + seconds − RunTimeOffset), and predicts the run time if there is an offset. Only a
	// fit changes them. Earlier releases ignore them and predict the run time by ridges.
	RunTimeOffset float64       `cbor:",omitzero"`
	RunTimeAbove  *linear.Ridge `cbor:",omitempty"`

	// Combinations are the effects of combinations of categories on LineTrees. Only a fit estimates them.
	Combinations combinations `cbor:",omitzero"`

	NewValues newValues `cbor:",omitempty"` // what the rows since the fit show about values that no row of the fit had

	// RunTimeCycles and CoreCycles are the effects of the calendar on the run time and the cores. Only a fit changes them.
	RunTimeCycles cycleEffects `cbor:",omitempty"`
	CoreCycles    cycleEffects `cbor:",omitempty"`

	Unsolved int // number of rows added to the ridge regressions since they were last solved

	Restart *restart `cbor:",omitempty"` // nil: the features do not show when a row ran

	IsUntimed bool `cbor:",omitzero"` // no fitted row has a known run time

	// Solved is the stored form of ridges. It is only set while a blob is encoded or decoded, and
	// only if rows were added to the ridge regressions since they were last solved.
	Solved []*linear.Ridge `cbor:",omitempty"`

	line   *linear.Online  // the ridge regressions of all targets
	ridges []*linear.Ridge // the last solution of line, by target
}

const (
	maxRecentRows = 2000 // largest number of log peaks in Recent; with fewer, quantiles follow changes sooner
	ridgeSlack    = 0.7  // largest distance of the line outside the range from Low to High: a factor of 2, as a logarithm; for the stack see predictStack
	minTreeRows   = 16   // rows from which trees are fitted
	minSpreadRows = 60   // out-of-sample residuals from which the spread is fitted
	spreadFloor   = 0.01 // added to the magnitude of a residual, so that the logarithm of the sum is finite
	spreadPrior   = 0.3  // initial spread, weighted as three residuals
	groupShrink   = 0.5  // weight, in rows, of LineTrees in the predicted peak of a group, and of the line in its predicted cores
	groupMemory   = 20   // rows after which the oldest lose weight in the means of a group; with fewer, the means follow changes sooner
	maxGroups     = 4000 // largest number of groups that a fit takes from the previous models; bounds the size of a model
	stackSlack    = 6.0  // largest distance of the stack from the median: a factor of 400, as a logarithm; bounds a diverging stack
	driftRate     = 0.3  // weight of the newest error in Drift, which averages over about three errors
	trendRate     = 0.05 // weight of the newest error in Trend, which averages over about twenty errors
	signalCount   = 6    // inputs of the stack
)

// row is one row to learn from. Its peak is measured, or imputed if it is censored; see impute.
type row struct {
	Cells    []sizing.Value
	Peak     float64 // bytes
	Seconds  float64
	Cores    float64 // largest use; 0: unknown
	Weight   float64 // in a fit, in rows
	Residual float64 // out-of-sample residual of LineTrees; NaN: unknown
	Granted  float64 `cbor:"Answered"` // bytes that would have been granted before the row was learned; 0: unknown
	Imputed  bool    // the true peak is censored, and Peak is an estimate
	Untimed  bool    `cbor:",omitzero"` // the duration is unknown, and Seconds is a default
	At       int64   `cbor:",omitzero"` // the start of the try in Unix seconds, or its end if the start is unknown
	Isolated bool    `cbor:"-"`         // withoutIsolated removed a number
	Unmoved  bool    `cbor:"-"`         // the fit learns the measured peak, which earlier fits moved to another level; see levels.keptChanges
	Repeated float64 `cbor:"-"`         // share of the weight that shiftLevel removes, because the errors of the instances of a DAG run are correlated; see setRepeated
	Measured float64 `cbor:"-"`         // of a low outlier, whose Peak and Weight winsorise changed: the measured peak; otherwise 0
}

// fitModels fits the point predictors on rows, oldest first. It takes the parts that a fit does not
// replace, such as the groups, the stack and the drift, from prev. prev and fits may be nil.
func fitModels(schema *sizing.Schema, rows []row, prev *models, trees TreeParams, seed uint64, fits *FitCache, ablated *Ablation) (*models, error) {
	m := &models{Groups: new(groups), Base: math.Log(spreadPrior), Stack: linear.NewCorrector(signalCount)}
	y := make([]float64, len(rows))
	cells := make([][]sizing.Value, len(rows))
	for i := range rows {
		y[i], cells[i] = math.Log(rows[i].Peak), rows[i].Cells
		m.Unit += rows[i].Peak / float64(len(rows))
	}
	m.summariseSeconds(rows)
	m.summariseCores(rows)
	m.Enc = newEncoder(schema, cells, y)
	m.fitTrend(rows, y)
	m.fitValueTrends(rows)
	if prev != nil {
		m.Stack, m.Base, m.Drift, m.Trend = prev.Stack, prev.Base, prev.Drift, prev.Trend
	}
	if prev != nil && prev.Groups != nil {
		m.Groups, m.Recent, m.Clock = prev.Groups, prev.Recent, prev.Clock
		m.Groups.forgetOldest()
	} else {
		for i := range rows {
			m.Recent.Add(y[i], maxRecentRows)
			m.addToGroups(&rows[i])
		}
	}
	m.fitRecurring(prev, rows)
	if len(rows) < 2 || m.Enc.LineWidth == 0 {
		for i := range rows {
			m.Enc.learn(cells[i], y[i])
		}
		return m, nil
	}
	t, err := m.fitLine(rows, y)
	if err == nil && m.findPeakDays(rows, y) {
		t, err = m.fitLine(rows, y)
	}
	if err == nil && !ablated.NoSteps && m.findStep(rows) {
		t, err = m.fitLine(rows, y)
	}
	if err != nil {
		return nil, err
	}
	m.fitRunTimeErrors(rows)
	m.fitCycles(rows)
	if m.Restart, err = m.fitRestart(rows, y, prev); err != nil {
		return nil, err
	}
	if err := m.fitTrees(t, rows, trees.config(len(rows), seed), fits, ablated); err != nil {
		return nil, err
	}
	m.PeakTrend.separateRemote(rows)
	for i := range rows {
		m.PeakTrend.observeHighest(rows[i].Cells)
	}
	return m, nil
}

// withoutRows returns a copy from which a fit takes only what does not depend on the level of the peaks.
func (m *models) withoutRows() *models {
	c := *m
	c.Groups, c.Recurring, c.RecurringColumns = nil, nil, nil
	return &c
}

func (m *models) summariseSeconds(rows []row) {
	timed := 0
	for i := range rows {
		if !rows[i].Untimed {
			timed++
		}
	}
	m.IsUntimed = timed == 0
	for i := range rows {
		if !rows[i].Untimed {
			m.LogSec += math.Log1p(rows[i].Seconds) / float64(timed)
		}
	}
	if m.IsUntimed {
		m.LogSec = math.Log1p(secondsOf(0))
	}
}

// fitTrend fits the trends of the peaks and of the run times. It leaves out the rows with an isolated number (see
// withoutIsolated): this number is far above the others of its feature although the peak is small, or far below them although
// the peak is large.
func (m *models) fitTrend(rows []row, y []float64) {
	if slices.ContainsFunc(rows, func(r row) bool { return r.Isolated }) {
		whole, logs := make([]row, 0, len(rows)), make([]float64, 0, len(rows))
		for i := range rows {
			if !rows[i].Isolated {
				whole, logs = append(whole, rows[i]), append(logs, y[i])
			}
		}
		rows, y = whole, logs
	}
	m.PeakTrend.addInputs(m.Enc)
	for i := range rows {
		m.PeakTrend.observe(rows[i].Cells, nil)
	}
	m.PeakTrend.setLogOffsets(rows)
	m.PeakTrend.fit(rows, y)
	m.RunTimeTrend = m.PeakTrend.fitRunTime(rows)
}

// fitLine fits the ridge regressions and the offsets, and returns the rows as the trees need them. It processes the rows in
// order, so that the statistic of a category value contains only earlier rows. The ridge regressions learn the rows with an
// unknown run time last, because the other rows predict these run times.
func (m *models) fitLine(rows []row, y []float64) (*table.Table, error) {
	online, err := linear.NewOnline(m.Enc.LineWidth, targetCount, math.Inf(1), linear.Config{})
	if err != nil {
		return nil, err
	}
	m.line = online
	m.Offset, m.Above, m.RunTimeOffset, m.RunTimeAbove = 0, nil, 0, nil // of a line with other columns
	t := &table.Table{Names: make([]string, m.Enc.TreeWidth), Y: y, W: make([]float64, len(rows)), X: make([]float64, 0, len(rows)*m.Enc.TreeWidth)}
	var x []float64
	var untimed []int
	var inputs [][]float64
	newest := min(len(rows), maxOffsetRows)
	peaks := newOffsetRows(newest, m.Enc.LineWidth)
	m.Low, m.High = math.Inf(1), math.Inf(-1)
	for i := range rows {
		x, t.X = m.Enc.encode(rows[i].Cells, x[:0], t.X)
		t.W[i] = rows[i].Weight
		m.Low, m.High = min(m.Low, y[i]), max(m.High, y[i])
		if len(rows)-i <= newest {
			peaks.add(x, y[i], rows[i].Weight)
		}
		if rows[i].Untimed && !m.IsUntimed {
			untimed, inputs = append(untimed, i), append(inputs, slices.Clone(x))
		} else if err := m.line.Add(x, m.targets(&rows[i], x), rows[i].Weight); err != nil {
			return nil, err
		}
		m.Enc.learn(rows[i].Cells, y[i])
	}
	if len(untimed) > 0 {
		m.ridges, _ = m.line.Solve() // without a solution the unknown run times count as the mean
	}
	for k, i := range untimed {
		if err := m.line.Add(inputs[k], m.targets(&rows[i], inputs[k]), rows[i].Weight); err != nil {
			return nil, err
		}
	}
	if m.ridges, err = m.line.Solve(); err != nil {
		return nil, err
	}
	if err := m.fitOffset(&peaks); err != nil {
		return nil, err
	}
	return t, m.fitRunTimeOffset(peaks.withRunTimes(rows[len(rows)-newest:]))
}

// targets returns the targets of the ridge regressions for a row with the encoded inputs x. The predicted run time replaces
// an unknown one: the mean of the other rows would flatten the slopes.
func (m *models) targets(r *row, x []float64) []float64 {
	used := m.LogCores
	if r.Cores > 0 {
		used = math.Log(r.Cores)
	}
	seconds := m.LogSec
	switch {
	case !r.Untimed:
		seconds = math.Log1p(r.Seconds)
	case m.ridges != nil:
		seconds = m.lineRunTime(x)
	}
	return []float64{math.Log(r.Peak), r.Peak / m.Unit, seconds, used}
}

// treeConfig returns the default tree parameters: a low learning rate, and half of the rows and
// columns in each round. These parameters did best on traces of a few dozen to ten thousand rows,
// including cold starts.
func treeConfig(rows int, seed uint64) gbt.Config {
	return gbt.Config{
		Rounds: 160, LearningRate: 0.05, MaxDepth: 5, Subsample: 0.5, ColSample: 0.5, MaxBins: 63, Seed: seed,
		MinLeafRows: max(1, min(5, rows/8)),
	}
}

func (m *models) fitTrees(t *table.Table, rows []row, config gbt.Config, fits *FitCache, ablated *Ablation) error {
	if len(rows) < minTreeRows || m.Enc.TreeWidth == 0 {
		return nil
	}
	in := ensembleInput{table: t, base: make([]float64, len(rows)), config: config}
	var x, tree []float64
	for i := range rows {
		x, tree = m.Enc.encode(rows[i].Cells, x[:0], tree[:0])
		in.base[i] = m.levelOf(m.lineRidge().Predict(x))
	}
	if !ablated.NoCombinations {
		m.fitCombinations(rows, t.Y, in.base)
	}
	in.spreads, in.known = m.spreadTargets(rows)
	e, err := fitOnce(fits, func() fitHash { return in.hash(fits) }, func() (ensembles, error) { return in.fit(fits) })
	m.Trees, m.Resid, m.Spread = e.trees, e.resid, e.spread
	if err != nil {
		return err
	}
	return m.shiftLevel(rows, t.Y, in.base, func(i int) float64 { return m.Resid.Predict(t.Row(i)) })
}

// spreadTargets returns the targets of the trees that predict the spread, log |out-of-sample residual|, and the indices of
// the rows that have one. It returns no index if there are too few residuals for a fit. It also sets m.Base.
func (m *models) spreadTargets(rows []row) (y []float64, known []int) {
	y = make([]float64, len(rows))
	sum := 3 * math.Log(spreadPrior)
	for i := range rows {
		if r := rows[i].Residual; !math.IsNaN(r) {
			y[i] = math.Log(math.Abs(r) + spreadFloor)
			known = append(known, i)
			sum += y[i]
		}
	}
	if len(known) > 0 {
		m.Base = sum / float64(len(known)+3)
	}
	if len(known) < minSpreadRows {
		return y, nil
	}
	return y, known
}

// isSolveDue counts an added row and reports whether to solve the ridge regressions again. One row changes a
// regression on n rows by about 1/n, so the regressions are solved again after n/solveShare rows.
func (m *models) isSolveDue() bool {
	m.Unsolved++
	if float64(m.Unsolved) < m.line.Rows()/solveShare {
		return false
	}
	m.Unsolved = 0
	return true
}

const solveShare = 100 // see isSolveDue

// learn adds one row to the parts that need no fit. p and b come from the prediction for this row. lowest is the smallest
// residual, in log units, that is not a low outlier. If the line is fitted and the row was predicted without imputation,
// learn raises a smaller residual to `lowest` (winsorising), and learns the row with less weight. weight is that of the row
// in the stack.
func (m *models) learn(r *row, p *experts.Point, lowest, weight float64, b *buffers) {
	m.learnRestart(math.Log(r.Peak), p.Level[experts.LineTrees], b)
	if raised := math.Exp(p.Level[experts.LineTrees] + lowest); r.Peak < raised && m.ridges != nil && !p.Imputed {
		clipped := *r
		clipped.winsorise(raised, lowest)
		r = &clipped
	}
	var keys []uint64
	if !p.Imputed { // only the next fit can learn the effect of a missing feature
		m.correct(r, math.Log(r.Peak)-p.Level[experts.LineTrees], weight, b)
		if m.ridges != nil {
			keys = m.newKeys(r.Cells)
		}
	}
	m.observe(r, b)
	m.learnNew(keys, r)
}

// observe adds one row to the parts that need neither a fit nor a prediction from before its DAG run. b comes from the
// prediction for this row.
func (m *models) observe(r *row, b *buffers) {
	y := math.Log(r.Peak)
	m.Recent.Add(y, maxRecentRows)
	remote := r
	if m.ridges == nil {
		remote = nil
	}
	switch {
	case b.isCleaned && y <= m.High:
		m.observeInputs(b.cleaned, remote) // like an isolated number, an implausible one must not widen the range
		m.PeakTrend.refute(r.Cells)
	case b.extrapolation.isTooSteep && y <= m.High+math.Log(outsideFactor):
		// The row contradicts the trend. Within a wider range, the line would follow the trend until the next fit.
	default:
		m.observeInputs(r.Cells, remote)
	}
	if m.ridges != nil {
		m.Low, m.High = min(m.Low, y), max(m.High, y)
	}
	m.Enc.learn(r.Cells, y)
	m.addToGroups(r)
}

// correct updates the ridge regressions by a row. Unless the row is a low outlier, it also updates the stack and the smoothed
// errors by err, the error of LineTrees. The stack learns the row with a weight (instance.weight), because all instances of a
// DAG run have the same smoothed errors, those from before the run, among their signals. Without the weight, an error that
// the instances have in common would count once per instance, and the coefficients of the smoothed errors would grow to 20
// and more.
func (m *models) correct(r *row, err, weight float64, b *buffers) {
	if r.Measured == 0 {
		m.Stack.Learn(b.signals[:], err, weight)
		m.Drift += (err - m.Drift) * driftRate
		m.Trend += (err - m.Trend) * trendRate
	}
	// Add does not fail, because the widths match and the values are finite. If Solve fails, the
	// last good solution stays in use.
	if m.ridges != nil && m.line.Add(b.line, m.targets(r, b.line), r.Weight) == nil && m.isSolveDue() {
		if ridges, err := m.line.Solve(); err == nil {
			m.ridges = ridges
		}
	}
}
