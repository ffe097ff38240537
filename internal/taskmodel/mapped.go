package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The instances of a mapped task in one DAG run often start together, and their peaks have common causes, such as the data
// of the day. At the launch of an instance, no peak of the other instances is known. Their reports arrive one by one. A
// prediction that already knows some of these peaks has a smaller error than the prediction at the launch. Margins learned
// from such errors are too small. So a dagRun stores the smoothed errors from before the first report of its DAG run, and for
// each set of features the prediction for the first reported instance that has them. It does not store the fitted models: a
// fit on some of the instances makes the predictions for the other instances only a little better than those at the launch.
//
// If there are fewer slots than instances, some instances start after others have been reported, and their answers know these
// reports. So an instance that started after the first report of a dagRun belongs to another dagRun with the same id.

// With larger limits a model takes more memory. When a limit is reached, the model drops the oldest DAG run or launch. If an
// instance of the dropped DAG run or launch is reported later, the model learns it like the first instance of a new DAG run or
// launch.
const (
	maxDAGRuns  = 16 // largest number of stored dagRuns, the newest ones; a DAG run with few slots takes several
	maxLaunches = 32 // largest number of stored launches of all dagRuns together
)

// dagRun holds instances of a mapped task in one DAG run: those that started before the first of them was reported.
type dagRun struct {
	_            struct{} `cbor:",toarray"`
	ID           uint64   // TrainingRow.DAGRun
	Reported     int64    // TrainingRow.At of the instance that was reported first
	IsFirst      bool     // the first row of the task is one of the instances
	Drift, Trend float64  // models.Drift and models.Trend before the first report of one of the instances
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
	MinAmount   float64                 // of Point
	Repeats     experts.Repeats         // of Point
	Cold        experts.ColdStartAnswer // of Point
	Signals     [signalCount]float64
}

// instance says how to learn from an instance of a mapped task.
type instance struct {
	weight      float64 // for the cold-start rule and the stack; 1: independent of the other instances
	isCharged   bool    // the experts learn from it
	isPredicted bool    // learnRow records the residual of its prediction (recordResidual), and models.learn learns this residual
}

// dagRunOf returns the dagRun to which a measured try belongs, or adds one; nil if its task is not mapped. An unknown start
// (0) counts as before every report.
func (m *Model) dagRunOf(t *TrainingRow) *dagRun {
	if t.DAGRun == 0 || m.ablated.NoDAGRuns {
		return nil
	}
	started := m.takeFirstStart(t)
	for i := range m.DAGRuns {
		if d := &m.DAGRuns[i]; d.ID == t.DAGRun && started < d.Reported {
			return d
		}
	}
	if len(m.DAGRuns) == maxDAGRuns {
		m.DAGRuns = slices.Delete(m.DAGRuns, 0, 1)
	}
	run := dagRun{ID: t.DAGRun, Reported: t.At}
	if m.Models != nil {
		run.Drift, run.Trend = m.Models.Drift, m.Models.Trend
	}
	m.DAGRuns = append(m.DAGRuns, run)
	return &m.DAGRuns[len(m.DAGRuns)-1]
}

// firstKilledStart is the start of the first killed try of a mapped instance that has no measured peak yet. The retry starts
// later, but gets a lift and no new prediction, so its peak shows the error of the prediction for the killed try.
type firstKilledStart struct {
	_   struct{} `cbor:",toarray"`
	Run uint64   // TrainingRow.Run
	At  int64    // TrainingRow.StartedAt
}

// maxKilledStarts is the largest number of stored starts. If a start was dropped, the start of the retry takes its place.
const maxKilledStarts = 64

func (m *Model) addKilledStart(t *TrainingRow) {
	if t.DAGRun == 0 || slices.ContainsFunc(m.KilledStarts, func(k firstKilledStart) bool { return k.Run == t.Run }) {
		return
	}
	if len(m.KilledStarts) == maxKilledStarts {
		m.KilledStarts = slices.Delete(m.KilledStarts, 0, 1)
	}
	m.KilledStarts = append(m.KilledStarts, firstKilledStart{Run: t.Run, At: t.StartedAt})
}

// takeFirstStart returns the start of the first killed try of the instance or, if none was killed, the start of t.
func (m *Model) takeFirstStart(t *TrainingRow) int64 {
	i := slices.IndexFunc(m.KilledStarts, func(k firstKilledStart) bool { return k.Run == t.Run })
	if i < 0 {
		return t.StartedAt
	}
	start := m.KilledStarts[i].At
	m.KilledStarts = slices.Delete(m.KilledStarts, i, i+1)
	return start
}

func (d *dagRun) launchOf(key uint64) *launch {
	for i := range d.Launches {
		if d.Launches[i].Key == key {
			return &d.Launches[i]
		}
	}
	return nil
}

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

// startDAGRun records the first row of a task, before which no model exists.
func (m *Model) startDAGRun(r *row, t *TrainingRow) {
	if run := m.dagRunOf(t); run != nil {
		run.IsFirst = true
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
// DAG run, and sets the fields of b that belong to this prediction. t is the try of the row. For each further instance with
// the same features it sets p.Cold, so that the comparison of the cold-start rule with the experts (updateHedge in package
// experts) counts this instance, too. Otherwise it would count only the instance that is reported first, which may need less
// than the others in every DAG run.
func (m *Model) predictAtLaunch(r *row, t *TrainingRow, p *experts.Point, b *buffers) instance {
	single := instance{weight: 1, isCharged: true, isPredicted: true}
	run := m.dagRunOf(t)
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
	if l == nil && run.IsFirst {
		return m.learnFirst(run, key)
	}
	if l == nil {
		in := m.WithinRuns.learn(&run.Errors, residualOf(r, p), m.Experts.PriorDeviation, &runClusters)
		first := launch{Key: key, IsPredicted: true, Point: *p, MinAmount: p.MinAmount, Repeats: p.Repeats, Signals: b.signals}
		first.Cold = m.Experts.ColdStartAnswer(p)
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
	p.IsException, p.MinAmount, p.Repeats, p.Cold, b.signals = isException, l.MinAmount, l.Repeats, l.Cold, l.Signals
	in := m.WithinFeatures.learn(&l.Errors, residualOf(r, p), m.Experts.PriorDeviation, &featureClusters)
	p.Cold.Rows = in.weight
	return in
}

// predictBefore predicts a row with the smoothed errors from before a DAG run.
func (m *Model) predictBefore(run *dagRun, cells []sizing.Value, p *experts.Point, b *buffers) {
	drift, trend := m.Models.Drift, m.Models.Trend
	m.Models.Drift, m.Models.Trend = run.Drift, run.Trend
	m.predict(cells, sizing.DefaultRiskTarget, p, b)
	m.Models.Drift, m.Models.Trend = drift, trend
}

func residualOf(r *row, p *experts.Point) float64 {
	return math.Log(r.Peak) - p.Level[experts.LineTrees]
}
