package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Targets of the ridge regression.
const (
	logPeak = iota
	peak    // in units of the fitted rows' mean
	logSeconds
	logCores // the mean for a row without a measurement, which has no influence
	targetCount
)

// models are the point predictors of one task: parts that a fit freezes, and parts that change
// with every row.
type models struct {
	Enc      *encoder
	Line     linear.State // sums of the ridge; only set while a blob is encoded or decoded, see line
	Trees    *gbt.Regressor
	Resid    *gbt.Regressor // of the line's residuals
	Spread   *gbt.Regressor // of log |out-of-sample residual|; nil while there are few
	Groups   map[uint64]*group
	Recent   experts.Window // log peaks
	Stack    *linear.Corrector
	Base     float64 // log spread without a Spread model
	Drift    float64 // exponentially smoothed error of LineTrees, fast …
	Trend    float64 // … and slow
	Unit     float64 // mean peak of the fitted rows
	Low      float64 // smallest log peak of the line's rows …
	High     float64 // … and largest
	LogSec   float64 // mean log seconds of the fitted rows
	LogCores float64 // mean log cores of the rows with a measurement …
	CoreRows int     // … their number
	CoreLow  float64 // … their smallest
	CoreHigh float64 // … and their largest
	Clock    int     // rows learned; dates the groups

	PeakTrend trend `cbor:"Beyond,omitzero"` // extrapolates outside the range of the inputs

	Unsolved int // rows added to the line since it was last solved

	line   *linear.Online
	ridges []*linear.Ridge
}

// group summarises the rows with identical features.
type group struct {
	Mean     float64              // log peak, over all rows
	Recent   float64              `cbor:"Fresh"` // … and over the newest two
	Rows     float64              // at most groupMemory
	Squares  float64              // of deviations from Mean
	Seconds  float64              // mean log
	Cores    float64              // mean log, over CoreRows
	CoreRows float64              // at most groupMemory
	Seen     int                  // Clock of the newest row
	Newest   [newestPeaks]float64 // peaks of the newest rows, newest first; 0: none
}

const (
	maxRecentRows = 2000
	ridgeSlack    = 0.7 // log units by which the line may leave the range of the fitted peaks
	minTreeRows   = 16  // rows
	minSpreadRows = 60  // out-of-sample residuals
	spreadFloor   = 0.01
	spreadPrior   = 0.3 // initial spread, weighted as three residuals
	groupShrink   = 0.5 // weight of LineTrees in a group's mean, in rows
	groupMemory   = 20
	maxGroups     = 4000
	stackReach    = 6.0 // log units around the median
	driftRate     = 0.3
	trendRate     = 0.05
	signalCount   = 6
)

// row is one row to learn from, with a measured or imputed peak.
type row struct {
	Cells    []sizing.Value
	Peak     float64 // bytes
	Seconds  float64
	Cores    float64 // largest use; 0: unknown
	Weight   float64
	Residual float64 // out of sample, of LineTrees; NaN: unknown
	Granted  float64 `cbor:"Answered"` // what would have been granted before the row was learned; 0: unknown
	Imputed  bool    // the peak is censored and Peak is its imputation
}

// fitModels fits on rows, oldest first. The parts that survive a fit (groups, stack, drift) come
// from prev unless it is nil.
func fitModels(schema *sizing.Schema, rows []row, prev *models, grown Trees, seed uint64) (*models, error) {
	m := &models{Groups: map[uint64]*group{}, Base: math.Log(spreadPrior), Stack: linear.NewCorrector(signalCount)}
	y := make([]float64, len(rows))
	cells := make([][]sizing.Value, len(rows))
	for i := range rows {
		y[i], cells[i] = math.Log(rows[i].Peak), rows[i].Cells
		m.Unit += rows[i].Peak / float64(len(rows))
		m.LogSec += math.Log1p(rows[i].Seconds) / float64(len(rows))
	}
	m.summariseCores(rows)
	m.Enc = newEncoder(schema, cells, y)
	m.PeakTrend.addPairs(m.Enc.Pairs)
	for i := range rows {
		m.PeakTrend.observe(rows[i].Cells)
	}
	m.PeakTrend.fit(rows, y)
	if prev != nil {
		m.Groups, m.Stack, m.Recent = prev.Groups, prev.Stack, prev.Recent
		m.Base, m.Drift, m.Trend, m.Clock = prev.Base, prev.Drift, prev.Trend, prev.Clock
		m.forgetGroups()
	} else {
		for i := range rows {
			m.Recent.Add(y[i], maxRecentRows)
			m.count(&rows[i], y[i])
		}
	}
	if len(rows) < 2 || m.Enc.LineWidth == 0 {
		for i := range rows {
			m.Enc.learn(cells[i], y[i])
		}
		return m, nil
	}
	t, err := m.fitLine(rows, y)
	if err != nil {
		return nil, err
	}
	return m, m.fitTrees(t, rows, y, grown.config(len(rows), seed))
}

// fitLine fits the ridge and encodes the rows for the trees. It goes in order of the rows, so
// that the statistic of a level contains earlier rows only.
func (m *models) fitLine(rows []row, y []float64) (*table.Table, error) {
	online, err := linear.NewOnline(m.Enc.LineWidth, targetCount, math.Inf(1), linear.Config{})
	if err != nil {
		return nil, err
	}
	m.line = online
	t := &table.Table{Names: make([]string, m.Enc.TreeWidth), Y: y, W: make([]float64, len(rows)), X: make([]float64, 0, len(rows)*m.Enc.TreeWidth)}
	var x []float64
	m.Low, m.High = math.Inf(1), math.Inf(-1)
	for i := range rows {
		x, t.X = m.Enc.encode(rows[i].Cells, x[:0], t.X)
		t.W[i] = rows[i].Weight
		m.Low, m.High = min(m.Low, y[i]), max(m.High, y[i])
		if err := m.line.Add(x, m.targets(&rows[i]), rows[i].Weight); err != nil {
			return nil, err
		}
		m.Enc.learn(rows[i].Cells, y[i])
	}
	m.ridges, err = m.line.Solve()
	return t, err
}

// targets returns the targets of the ridge for a row.
func (m *models) targets(r *row) []float64 {
	used := m.LogCores
	if r.Cores > 0 {
		used = math.Log(r.Cores)
	}
	return []float64{math.Log(r.Peak), r.Peak / m.Unit, math.Log1p(r.Seconds), used}
}

// treeConfig returns the default tree parameters: slow learning on halves of rows and columns.
// They did best on traces of a few dozen to ten thousand rows, cold starts included.
func treeConfig(rows int, seed uint64) gbt.Config {
	return gbt.Config{
		Rounds: 160, LearningRate: 0.05, MaxDepth: 5, Subsample: 0.5, ColSample: 0.5, MaxBins: 63, Seed: seed,
		MinLeafRows: max(1, min(5, rows/8)),
	}
}

// fitTrees boosts three ensembles: trees alone, trees on the line's residuals, and the spread.
func (m *models) fitTrees(t *table.Table, rows []row, y []float64, config gbt.Config) error {
	if len(rows) < minTreeRows || m.Enc.TreeWidth == 0 {
		return nil
	}
	binned, err := gbt.NewBinned(t, config.MaxBins)
	if err != nil {
		return err
	}
	base := make([]float64, len(rows))
	var x, tree []float64
	for i := range rows {
		x, tree = m.Enc.encode(rows[i].Cells, x[:0], tree[:0])
		base[i] = m.onLine(x)
	}
	if m.Trees, err = (gbt.Sample{Binned: binned, Y: y, W: t.W}).Regression(config); err != nil {
		return err
	}
	if m.Resid, err = (gbt.Sample{Binned: binned, Y: y, W: t.W, Base: base}).Regression(config); err != nil {
		return err
	}
	return m.fitSpread(binned, rows, config.Seed)
}

// fitSpread fits the magnitude of out-of-sample residuals as a function of the features.
func (m *models) fitSpread(binned *gbt.Binned, rows []row, seed uint64) error {
	y := make([]float64, len(rows))
	var known []int
	sum := 3 * math.Log(spreadPrior)
	for i := range rows {
		if r := rows[i].Residual; !math.IsNaN(r) {
			y[i] = math.Log(math.Abs(r) + spreadFloor)
			known = append(known, i)
			sum += y[i]
		}
	}
	if len(known) == 0 {
		return nil
	}
	m.Base = sum / float64(len(known)+3)
	if len(known) < minSpreadRows {
		return nil
	}
	var err error
	m.Spread, err = gbt.Sample{Binned: binned, Y: y, Train: known}.Regression(gbt.Config{
		Rounds: 40, LearningRate: 0.1, MaxDepth: 3, MinLeafRows: 20, Lambda: 10, Subsample: 0.8, Seed: seed + 1,
	})
	return err
}

// isSolveDue reports whether to solve the line again. One row moves a line of n rows by about
// 1/n, so one solution per hundredth of the rows suffices.
func (m *models) isSolveDue() bool {
	m.Unsolved++
	if float64(m.Unsolved) < m.line.Rows()/solveShare {
		return false
	}
	m.Unsolved = 0
	return true
}

const solveShare = 100

// learn updates everything that one row can update. p and b come from predict of the same row. A
// residual below lowest is learned as lowest (winsorising).
func (m *models) learn(r *row, p *experts.Point, lowest float64, b *buffers) {
	y := math.Log(r.Peak)
	outlier := false
	if raised := p.Level[experts.LineTrees] + lowest; y < raised && m.ridges != nil && !p.Imputed {
		outlier = true
		clipped := *r
		clipped.Peak = math.Exp(raised)
		clipped.Weight *= outlierWeight(r.Peak, clipped.Peak, lowest)
		r, y = &clipped, raised
	}
	m.Recent.Add(y, maxRecentRows)
	m.PeakTrend.observe(r.Cells)
	if m.ridges != nil {
		m.Low, m.High = min(m.Low, y), max(m.High, y)
	}
	if !p.Imputed { // the next fit adds a column for the missing feature
		m.correct(r, y-p.Level[experts.LineTrees], outlier, b)
	}
	m.Enc.learn(r.Cells, y)
	m.count(r, y)
}

// correct updates the line by a row, and the stack by the error of LineTrees unless the row is a
// low outlier.
func (m *models) correct(r *row, err float64, outlier bool, b *buffers) {
	if !outlier {
		m.Stack.Learn(b.signals[:], err)
		m.Drift += (err - m.Drift) * driftRate
		m.Trend += (err - m.Trend) * trendRate
	}
	// Shapes match by construction and values are finite. After an error the last
	// good line stays in use.
	if m.ridges != nil && m.line.Add(b.line, m.targets(r), r.Weight) == nil && m.isSolveDue() {
		if ridges, err := m.line.Solve(); err == nil {
			m.ridges = ridges
		}
	}
}
