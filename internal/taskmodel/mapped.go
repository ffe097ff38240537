package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The instances of a mapped task in one DAG run mostly start together, and their peaks have common causes, such as the data
// of the day. At the launch of an instance, no peak of the other instances is known. Their reports arrive one by one. A
// prediction that already knows some of these peaks has a smaller error than the prediction at the launch. Margins learned
// from such errors are too small. So a dagRun stores the smoothed errors from before the first report of its DAG run, and for
// each set of features the prediction for the first reported instance that has them. It does not store the fitted models: a
// fit on some of the instances makes the predictions for the other instances only a little better than those at the launch.

// With larger limits a model takes more memory. When a limit is reached, the model drops the oldest DAG run or launch. It
// learns an instance that is reported later as the first one of a new DAG run or launch.
const (
	maxDAGRuns  = 16 // largest number of stored DAG runs, the newest ones
	maxLaunches = 32 // largest number of stored launches of all these DAG runs together
)

// dagRun is a DAG run of a mapped task.
type dagRun struct {
	_            struct{} `cbor:",toarray"`
	ID           uint64   // TrainingRow.DAGRun
	Drift, Trend float64  // models.Drift and models.Trend before the first report of the run
	Errors       cluster  // errors of one instance for each launch
	Launches     []launch // oldest first
}

// launch is the prediction for the instances of a DAG run that have the same features.
type launch struct {
	_           struct{} `cbor:",toarray"`
	Key         uint64   // featureKey
	Errors      cluster
	IsPredicted bool // the fields below are set; false for the launches of the first DAG run of the task
	Point       experts.Point
	MinAmount   float64         // of Point
	Repeats     experts.Repeats // of Point
	Signals     [signalCount]float64
}

// instance says how to learn from an instance of a mapped task.
type instance struct {
	weight      float64 // for the cold-start rule and the stack; 1: independent of the other instances
	isCharged   bool    // the experts learn from it
	isPredicted bool    // the error of its prediction is learned
}

// dagRunOf returns the DAG run with an id; nil for the id 0, which stands for none. It adds a new DAG run, and drops the
// oldest one if there are maxDAGRuns.
func (m *Model) dagRunOf(id uint64) *dagRun {
	if id == 0 || m.ablated.NoDAGRuns {
		return nil
	}
	for i := range m.DAGRuns {
		if m.DAGRuns[i].ID == id {
			return &m.DAGRuns[i]
		}
	}
	if len(m.DAGRuns) == maxDAGRuns {
		if m.DAGRuns[0].ID == m.FirstDAGRun {
			m.FirstDAGRun = 0
		}
		m.DAGRuns = slices.Delete(m.DAGRuns, 0, 1)
	}
	run := dagRun{ID: id}
	if m.Models != nil {
		run.Drift, run.Trend = m.Models.Drift, m.Models.Trend
	}
	m.DAGRuns = append(m.DAGRuns, run)
	return &m.DAGRuns[len(m.DAGRuns)-1]
}

// launchOf returns the launch with a key; nil if there is none.
func (d *dagRun) launchOf(key uint64) *launch {
	for i := range d.Launches {
		if d.Launches[i].Key == key {
			return &d.Launches[i]
		}
	}
	return nil
}

// addLaunch adds a launch to a run. If there are too many launches, it drops the oldest launch of the oldest run.
func (m *Model) addLaunch(run *dagRun, l launch) {
	n := 0
	for i := range m.DAGRuns {
		n += len(m.DAGRuns[i].Launches)
	}
	if n >= maxLaunches {
		oldest := slices.IndexFunc(m.DAGRuns, func(d dagRun) bool { return len(d.Launches) > 0 })
		m.DAGRuns[oldest].Launches = slices.Delete(m.DAGRuns[oldest].Launches, 0, 1)
	}
	run.Launches = append(run.Launches, l)
}

// startDAGRun records the first row of a task. No model exists before this row.
func (m *Model) startDAGRun(r *row, id uint64) {
	if run := m.dagRunOf(id); run != nil {
		m.FirstDAGRun = id
		m.addUnpredicted(run, featureKey(&m.Schema, r.Cells))
	}
}

// addUnpredicted adds an instance, whose features no earlier instance had, to the first DAG run of a task.
func (m *Model) addUnpredicted(run *dagRun, key uint64) {
	run.Errors.count(0)
	l := launch{Key: key}
	l.Errors.count(0)
	m.addLaunch(run, l)
}

// firstRunRows is the number of rows in the burn-in of the experts (experts.Config.BurnInRows), whose errors the experts do
// not use. Of the first DAG run, the experts learn only the first firstRunRows instances with different features, to fill the
// burn-in. The models predict the later instances from those that were reported before, mostly the small ones, which end
// first. So the errors of the later instances are large and alike, which says nothing about the next DAG run.
const firstRunRows = 8

// learnFirst records an instance, whose features no earlier instance had, in the first DAG run of a task. The cold-start rule
// learns each of these instances with full weight.
func (m *Model) learnFirst(run *dagRun, key uint64) instance {
	m.addUnpredicted(run, key)
	isEarly := run.Errors.Rows <= firstRunRows
	return instance{weight: 1, isCharged: isEarly, isPredicted: isEarly}
}

// predictAtLaunch fills p with the prediction for a row as at its launch, without the errors of the other instances of its
// DAG run, and sets the fields of b that belong to this prediction. id is TrainingRow.DAGRun.
func (m *Model) predictAtLaunch(r *row, id uint64, p *experts.Point, b *buffers) instance {
	single := instance{weight: 1, isCharged: true, isPredicted: true}
	run := m.dagRunOf(id)
	if run == nil {
		m.predict(r.Cells, sizing.DefaultRiskTarget, p, b)
	} else {
		m.predictBefore(run, r.Cells, p, b)
	}
	if p.ColdStart == nil && !p.Imputed { // the cold-start rule learns even when it does not answer
		m.predictColdStart(r.Cells, p, b)
	}
	if run == nil || p.Imputed {
		return single
	}
	key := featureKey(&m.Schema, r.Cells)
	l := run.launchOf(key)
	if l == nil && id == m.FirstDAGRun {
		return m.learnFirst(run, key)
	}
	if l == nil {
		in := m.WithinRuns.learn(&run.Errors, residualOf(r, p), m.Experts.PriorDeviation, &runClusters)
		first := launch{Key: key, IsPredicted: true, Point: *p, MinAmount: p.MinAmount, Repeats: p.Repeats, Signals: b.signals}
		first.Point.ColdStart = nil // it refers to the memory of b
		m.WithinFeatures.learn(&first.Errors, residualOf(r, p), m.Experts.PriorDeviation, &featureClusters)
		m.addLaunch(run, first)
		return in
	}
	if !l.IsPredicted {
		return instance{weight: l.Errors.count(m.WithinFeatures.correlation(m.Experts.PriorDeviation, &featureClusters))}
	}
	isException := p.IsException // the stored form of a Point lacks IsException
	*p = l.Point
	p.IsException, p.MinAmount, p.Repeats, b.signals = isException, l.MinAmount, l.Repeats, l.Signals
	return m.WithinFeatures.learn(&l.Errors, residualOf(r, p), m.Experts.PriorDeviation, &featureClusters)
}

// predictBefore predicts a row with the smoothed errors from before a DAG run.
func (m *Model) predictBefore(run *dagRun, cells []sizing.Value, p *experts.Point, b *buffers) {
	drift, trend := m.Models.Drift, m.Models.Trend
	m.Models.Drift, m.Models.Trend = run.Drift, run.Trend
	m.predict(cells, sizing.DefaultRiskTarget, p, b)
	m.Models.Drift, m.Models.Trend = drift, trend
}

// residualOf returns the log residual of experts.LineTrees.
func residualOf(r *row, p *experts.Point) float64 {
	return math.Log(r.Peak) - p.Level[experts.LineTrees]
}
