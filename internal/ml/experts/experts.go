package experts

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/conformal"
)

// The residual distributions of a model.
const (
	allRows       = iota // log residuals of the newest Config.WindowRows rows
	nearestRows          // log residuals of the rows nearest in predicted level
	treeScaled           // log residuals divided by TreeScale
	sameScaled           // log residuals divided by SameScale
	byteResiduals        // residuals in bytes
	distributionCount
	pairCount = ModelCount * distributionCount // number of pairs of a model and one of its residual distributions
)

// windowed lists the distributions that have a window. nearestRows has none: each answer
// searches for the nearest rows.
var windowed = [...]int{allRows, treeScaled, sameScaled, byteResiduals}

// distributionNames are the names in the reasons of answers; docs/learning.md lists them.
var distributionNames = [distributionCount]string{"all rows", "rows near in level", "predicted spread", "spread of same inputs", "plain residuals"}

// risks lists the exceedance probabilities among which an expert chooses. prices lists the
// prices of a kill, in mean row costs of the task.
var (
	risks  = [...]float64{.4, .3, .2, .15, .1, .07, .05, .035, .025, .018, .014, .01, .007, .005, .003, .002, .001, .0005}
	prices = [...]float64{.25, .5, 1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// Count is the number of experts: models × distributions × prices.
const Count = pairCount * len(prices)

// Experts holds the state of the safety margins of one task. The exported fields are stored,
// and Rebuild derives the windows, indexes and tables from them. The names in the tags are the field names of earlier releases.
// Concurrent answers are safe while no row is learned, if each has its own Scratch.
type Experts struct {
	LearnedRows    int                 `cbor:"Told"` // rows learned
	MaxPeak        float64             // largest observed peak, or largest lower bound of a peak
	Records        [4]int              `cbor:",omitzero"` // independentRows at the newest rows whose peak was above MaxPeak, oldest first; 0: fewer such rows
	DependentRows  int                 `cbor:",omitzero"` // number of rows that LearnDependent learned
	SquaredErrors  [ModelCount]float64 `cbor:"SqErr"`     // sums of the squared log residuals of each model
	Shift          Shift               // CUSUM state of the change detection
	AdaptiveTarget conformal.Adaptive  `cbor:"Kept"`          // corrects the allowed kill rate so that the kill rate of the answers approaches Config.AimedShare of Config.Target (adaptive conformal inference)
	Rows           []Entry             `cbor:"Ledger"`        // newest Config.StoredRows rows, in a ring buffer
	LowOutliers    []Entry             `cbor:"Low,omitempty"` // newest low outliers (see LowOutlierBound); they enter Rows only after a fall of the task's level
	At             int                 // index of the oldest row in Rows
	Cost           [Count]float64      // decayed sum of the costs of each expert, in units of peak · seconds
	Kills          [Count]float64      // decayed number of kills of each expert
	ChargedRows    float64             `cbor:"Rows"`    // decayed number of rows in Cost and Kills
	NominalRisk    [Count]float64      `cbor:"Nominal"` // running mean of the risk that each expert chose
	NominalRows    float64             `cbor:"Meant"`   // rows in the running mean NominalRisk, at most maxNominalRows
	UsageSum       float64             `cbor:"Use"`     // decayed sum of peak · seconds
	UsageRows      float64             `cbor:"UseRows"` // decayed number of rows in UsageSum
	Factor         float64             // factor on promised risks, from the pool
	// LevelFactors are further factors on promised risks, by the class of the predicted level, from the pool. The zero value
	// changes no promise.
	LevelFactors   LevelFactors `cbor:",omitzero"`
	MeanRowCost    float64      `cbor:"Price"` // mean cost of a row in the pool, peak · seconds; 0: unknown
	PriorDeviation float64      `cbor:"Span"`  // expected deviation of the log peak in a cold start, from the pool
	// RequestRisk is the probability that a row exceeds its static request, from the pool.
	RequestRisk float64 `cbor:",omitzero"`
	Picks       []Pick  // the selected experts; none during the cold start
	// ColdStartShare is the share of the cold-start rule in the answers, if there are picks. Without
	// picks it is 0, and the cold-start rule answers alone.
	ColdStartShare float64 `cbor:"YoungShare,omitzero"`
	// ColdStartExcessLoss is the decayed sum of the cost of the cold-start rule less the cost of the
	// picks, in mean row costs of the task.
	ColdStartExcessLoss float64 `cbor:"Lead,omitzero"`
	// ColdStartKills is the number of kills of the cold-start rule that the picks would have avoided. Each row lowers
	// this number by the target, but not below 0.
	ColdStartKills float64 `cbor:"YoungKills,omitzero"`
	// BlendExcessLoss and BlendKills correspond to ColdStartExcessLoss and ColdStartKills, but for the blend, the geometric
	// mean of the amounts of the cold-start rule and of the picks.
	BlendExcessLoss float64 `cbor:",omitzero"`
	BlendKills      float64 `cbor:",omitzero"`
	// Exceptions counts the kills among the exceptions (Point.IsException).
	Exceptions ExceptionCounts `cbor:",omitzero"`
	// Repeats compares the experts with margins above the peaks of earlier rows that have the same features.
	Repeats [repeatClasses]RepeatCosts `cbor:",omitzero"`

	config  Config
	windows [pairCount]residualWindow // by pair (a model and one of its distributions): residuals of the newest Config.WindowRows rows of the residual store
	levels  [ModelCount]levelIndex    // all rows of the residual store by predicted level
	tables  [pairCount]quantileTable  // quantiles of the windows

	excluded      *[Count]bool // experts that never answer; nil: none
	ignoresShifts bool         // detectShift detects no changes of the task

	isExchangeable bool // the order of the stored rows says nothing, see WithResiduals
}

// Pick is one expert with its weight in the answer.
type Pick struct {
	Expert int     // index in Experts.Cost
	Weight float64 // the weights of all picks sum to 1
}

// Scratch holds the buffers of one answer. Calls that run at the same time must not share one.
type Scratch struct {
	near   [ModelCount]neighbours
	single [2]float64         // amount and result of ExceedanceProb
	logs   [gridSteps]float64 // logs of the amounts of ExceedanceProbs
	edges  []float64          // logs of the amounts of CalibratedExceedance
	grid   grid
	picks  []Pick // experts for a target other than Config.Target

	isLearning bool                   // Learn or LearnDeferred is charging a row, so pairs keeps the allocations of each pair
	isComputed [pairCount]bool        // whether pairs[i] holds the allocations for this row
	pairs      [pairCount]pairAmounts // without isLearning only pairs[0] is used
}

// New returns the state before the first row.
func New(c Config) *Experts {
	x := &Experts{config: c, Factor: 1, PriorDeviation: c.PriorDeviation, AdaptiveTarget: conformal.NewAdaptive(c.Target, c.Step)}
	for k := range x.levels {
		x.levels[k].model = k
	}
	return x
}

// Rebuild sets the constants and derives the windows, indexes and tables from the exported fields after decoding.
func (x *Experts) Rebuild(c Config) {
	x.config = c
	x.rebuildWindows(min(len(x.Rows), c.WindowRows))
	for k := range ModelCount {
		x.levels[k] = levelIndex{model: k}
		x.levels[k].build(x.Rows, x.At)
	}
	x.updateTables()
}

func (x *Experts) updateTables() {
	for pair := range x.tables {
		sorted := x.sorted(pair)
		x.tables[pair].compute(&sorted)
	}
}

// Learn charges every expert for a row, except in the burn-in and for the three rows after it. It stores the row's
// residuals (see storeRow), except in the burn-in.
// p holds the out-of-sample predictions of the row, and is nil for the first row of a task; s may be nil then. peak is
// in bytes, duration in seconds, and `at` is the time at which the row ended, in Unix seconds. `pool` is the task's share of
// the pool; Learn records in it the kills by the class of the predicted level. Learn returns how many rows ago the task
// changed if this row reveals a change, else 0. For an imputed row it charges no expert and stores no residual.
func (x *Experts) Learn(p *Point, peak, duration float64, at int64, pool *Pool, s *Scratch) (changed int) {
	x.LearnedRows++
	if peak > x.MaxPeak {
		copy(x.Records[:], x.Records[1:])
		x.Records[len(x.Records)-1] = x.independentRows()
	}
	x.MaxPeak = max(x.MaxPeak, peak)
	if p == nil {
		return 0
	}
	log := math.Log(peak)
	if p.Imputed {
		x.SetPool(pool, nil)
		return 0
	}
	for k := range x.SquaredErrors {
		x.SquaredErrors[k] += (log - p.Level[k]) * (log - p.Level[k])
	}
	s.startLearning()
	x.updateRepeats(p, peak, duration, s)
	x.updateHedge(p, peak, duration, s)
	if x.independentRows() > x.config.BurnInRows+3 { // at least three residuals, if no earlier row was imputed
		x.updateLosses(p, peak, duration, s)
	}
	killed := false
	if !x.IsColdStart() {
		answer := x.combinedAmount(p, x.config.Target, s)
		killed = !IsSufficient(answer.amount, peak)
		if x.hasLevelClass(p) {
			pool.recordLevel(x.levelClass(p), answer.rowRisk, answer.killRate, killed)
		}
	}
	x.updateAllowance(killed)
	if p.IsException && !x.IsColdStart() {
		x.Exceptions.add(killed)
	}
	s.isLearning = false
	if x.independentRows() > x.config.BurnInRows {
		x.storeRow(newEntry(p, log))
	}
	changed = x.detectShift(log-p.Level[LineTrees], at)
	x.SetPool(pool, nil)
	return changed
}

// LearnDependent counts a row whose error is correlated with those of other rows, such as other instances of the same
// mapped task in the DAG run. Such an error says little about the next row, so LearnDependent charges no expert and stores
// no residual.
func (x *Experts) LearnDependent(peak float64, pool *Pool) {
	x.LearnedRows++
	x.DependentRows++
	x.MaxPeak = max(x.MaxPeak, peak)
	x.SetPool(pool, nil)
}

func (x *Experts) independentRows() int { return x.LearnedRows - x.DependentRows }

// LearnDeferred charges every expert for a row that was imputed when it ended, and stores its
// residuals, except in the burn-in and for the three rows after it. The caller defers the call until the
// models can predict rows that lack the same features. p holds the prediction that was made before
// the peak of the row was known. Without LearnDeferred the residual store would have no residuals of such rows.
// LearnDeferred also learns a row again, from the prediction of later models, if it was learned at another level of the task.
func (x *Experts) LearnDeferred(p *Point, peak, duration float64, s *Scratch) {
	log := math.Log(peak)
	for k := range x.SquaredErrors {
		x.SquaredErrors[k] += (log - p.Level[k]) * (log - p.Level[k])
	}
	if x.independentRows() <= x.config.BurnInRows+3 {
		return
	}
	s.startLearning()
	x.updateLosses(p, peak, duration, s)
	x.updateAllowance(!x.IsColdStart() && !IsSufficient(x.Answer(p, x.config.Target, s).Amount, peak))
	s.isLearning = false
	x.appendRow(newEntry(p, log))
}

// SetPool copies the statistics of the pool, selects the experts again and updates ColdStartShare. `others` holds the other
// DAGs of the namespace; nil: none.
func (x *Experts) SetPool(pool *Pool, others *Namespace) {
	x.Factor, x.MeanRowCost, x.PriorDeviation = pool.promiseFactor(x.independentRows(), others), pool.meanRowCost(), pool.deviation(x.config.PriorDeviation, others)
	x.LevelFactors = pool.levelFactors()
	x.RequestRisk = pool.requestRisk()
	x.Picks = x.selectExperts(x.allowedKillRate(x.config.Target), x.Picks)
	x.ColdStartShare = x.hedgeShare()
}
