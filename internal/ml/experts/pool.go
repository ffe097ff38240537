package experts

import "math"

// Pool holds statistics that the tasks of a DAG share. Its estimates, except the mean cost of a row, are shrunk to those of
// other DAGs (see Namespace) or to priors, and the estimate for one age is shrunk to that over all ages (empirical Bayes). The
// share of one task is also a Pool, and pools can be added.
//
// A nominal promise is the promise of an answer without the correction by the pool.
type Pool struct {
	Cost, Rows float64           // decayed sum of row costs (peak · seconds), and decayed number of rows
	Promised   [ageCount]float64 // decayed sums of nominal promises, by age
	Killed     [ageCount]float64 // decayed numbers of kills, by age
	LogSquares float64           // decayed sum of the logs of squared out-of-sample residuals of the log peak
	Residuals  float64           // decayed number of these residuals

	ScoreProducts float64 `cbor:",omitzero"` // decayed sum of run score · error in standard deviations
	ScoreSquares  float64 `cbor:",omitzero"` // decayed sum of squared run scores
	Errors        float64 `cbor:",omitzero"` // decayed number of errors without the effect of the run score
	ErrorSquares  float64 `cbor:",omitzero"` // decayed sum of the squares of these errors

	LevelMean     float64               `cbor:",omitzero"` // decayed sum of the nominal promises that do not depend on the row
	LevelPromised [levelClasses]float64 `cbor:",omitzero"` // decayed sums of the nominal promises of the same rows, by the class of the predicted level
	LevelKilled   [levelClasses]float64 `cbor:",omitzero"` // decayed numbers of these rows whose peak exceeded the answer

	Requests, Exceeded float64 `cbor:",omitzero"` // decayed numbers of rows with a static request, and of rows with a peak above their request

	Slopes [slopeKinds]Slope `cbor:",omitzero"` // slopes of the log peak in the log of an input, by the hash of its name

	Effects Effects `cbor:",omitzero"` // squared effects on the log peak of first changes (taskmodel/first_change.go) of a feature, by the hash of its name
}

// The age of a task is the binary logarithm of the number of its learned rows without those of LearnDependent, rounded down.
const (
	ageCount    = 10           // number of ages; the last one has no upper bound
	poolDecay   = 1 - 1.0/2000 // per row
	agePrior    = 2.0          // weight of the prior of a ratio of kills to promises, in promised kills
	effectDecay = 1 - 1.0/8    // per effect that RecordEffect adds to the same element of Effects
	scoreDecay  = 1 - 1.0/64   // per row: while the models learn, the errors become smaller, and less correlated between the tasks of a run
)

func age(rows int) int { return min(ageCount-1, int(math.Log2(float64(max(rows, 1))))) }

// Add adds the share of a task.
func (p *Pool) Add(o *Pool) { p.addScaled(o, 1) }

// Remove subtracts the share of a task.
func (p *Pool) Remove(o *Pool) { p.addScaled(o, -1) }

func (p *Pool) addScaled(o *Pool, sign float64) {
	p.Cost, p.Rows = p.Cost+sign*o.Cost, p.Rows+sign*o.Rows
	p.LogSquares, p.Residuals = p.LogSquares+sign*o.LogSquares, p.Residuals+sign*o.Residuals
	p.ScoreProducts, p.ScoreSquares = p.ScoreProducts+sign*o.ScoreProducts, p.ScoreSquares+sign*o.ScoreSquares
	p.Errors, p.ErrorSquares = p.Errors+sign*o.Errors, p.ErrorSquares+sign*o.ErrorSquares
	p.Requests, p.Exceeded = p.Requests+sign*o.Requests, p.Exceeded+sign*o.Exceeded
	for k := range p.Slopes {
		p.Slopes[k].Tasks += sign * o.Slopes[k].Tasks
		p.Slopes[k].Sum += sign * o.Slopes[k].Sum
		p.Effects[k].Tasks += sign * o.Effects[k].Tasks
		p.Effects[k].Sum += sign * o.Effects[k].Sum
	}
	p.LevelMean += sign * o.LevelMean
	for k := range levelClasses {
		p.LevelPromised[k] += sign * o.LevelPromised[k]
		p.LevelKilled[k] += sign * o.LevelKilled[k]
	}
	for a := range ageCount {
		p.Promised[a] += sign * o.Promised[a]
		p.Killed[a] += sign * o.Killed[a]
	}
}

// RecordCost records the cost of a row, peak · seconds.
func (p *Pool) RecordCost(cost float64) {
	p.Cost, p.Rows = p.Cost*poolDecay+cost, p.Rows*poolDecay+1
}

// RecordRequest records whether a row exceeded its static request.
func (p *Pool) RecordRequest(exceeded bool) {
	p.Requests, p.Exceeded = p.Requests*poolDecay+1, p.Exceeded*poolDecay
	if exceeded {
		p.Exceeded++
	}
}

func (p *Pool) requestRisk() float64 {
	const rows, risk = 10, 0.01
	return (p.Exceeded + rows*risk) / (p.Requests + rows)
}

// RecordOutcome records whether a first try with a nominal promise was killed. `rows` is the number of rows that the task had
// learned before the report of this try, without those of LearnDependent.
func (p *Pool) RecordOutcome(rows int, promised float64, killed bool) {
	a := age(rows)
	p.Promised[a] = p.Promised[a]*poolDecay + promised
	p.Killed[a] *= poolDecay
	if killed {
		p.Killed[a]++
	}
}

// RecordResidual records an out-of-sample residual of the log peak. If the cold-start rule predicted the row, the
// residual is that of this rule.
func (p *Pool) RecordResidual(residual float64) {
	p.LogSquares = p.LogSquares*poolDecay + math.Log(residual*residual+1e-4)
	p.Residuals = p.Residuals*poolDecay + 1
}

// RecordScore records a run score and the error e of a prediction without the shift by this score. `deviate` is the same
// error in standard deviations.
func (p *Pool) RecordScore(score, deviate, e float64) {
	p.ScoreProducts, p.ScoreSquares = p.ScoreProducts*scoreDecay+score*deviate, p.ScoreSquares*scoreDecay+score*score
	p.Errors, p.ErrorSquares = p.Errors*scoreDecay+1, p.ErrorSquares*scoreDecay+e*e
}

// Deviation returns the standard deviation of the errors that RecordScore recorded. The prior of 0.2 counts as one error.
func (p *Pool) Deviation() float64 {
	const prior, rows = 0.2, 1
	return math.Sqrt((p.ErrorSquares + rows*prior*prior) / (p.Errors + rows))
}

// Slope sums the weighted slopes of several tasks, in their inputs with the same name.
type Slope struct {
	_     struct{} `cbor:",toarray"`
	Tasks float64  // sum of the weights
	Sum   float64  // sum of weight · slope
}

// slopeKinds is the number of slopes in a pool. Inputs share a slope if the hashes of their names are equal modulo
// slopeKinds.
const slopeKinds = 16

// Add adds the slope of a task. The weight is from 0 (the slope is unknown) to 1 (it is known).
func (s *Slope) Add(weight, slope float64) { s.Tasks, s.Sum = s.Tasks+weight, s.Sum+weight*slope }

// Mean returns the mean slope of the tasks, shrunk to the prior.
func (s *Slope) Mean(prior float64) float64 {
	const weight = 5 // the prior counts as this many tasks of known slope
	return (weight*prior + s.Sum) / (weight + s.Tasks)
}

// Effects holds the weights and the sums of the squared effects of features, by the hash of their names.
type Effects [slopeKinds]Slope

// Variance returns the mean square of the recorded effects of the feature whose name has the given hash, shrunk to the prior.
func (e *Effects) Variance(hash uint64, prior float64) float64 {
	const weight = 2 // the prior counts as this many effects
	of := &e[hash%slopeKinds]
	return (weight*prior + max(0, of.Sum)) / (weight + of.Tasks)
}

// RecordEffect records, with a weight, the squared effect of a feature on the log peak. `err` is the error of a prediction,
// which contains the difference of two such effects. So RecordEffect subtracts the typical variance of the errors from the
// squared error and halves the result.
func (p *Pool) RecordEffect(hash uint64, weight, err float64) {
	const prior, largest = 0.3, 2 // largest bounds the squared error, so that one error does not dominate
	typical := p.deviation(prior, nil)
	e := &p.Effects[hash%slopeKinds]
	e.Tasks, e.Sum = e.Tasks*effectDecay+weight, e.Sum*effectDecay+weight*(min(largest, err*err)-typical*typical)/2
}

// SlopeOf returns the slopes in the input whose name has the given hash.
func (p *Pool) SlopeOf(hash uint64) *Slope { return &p.Slopes[hash%slopeKinds] }

// deviation returns the expected standard deviation of the log peak of a new task: the typical
// deviation in the pool, shrunk to that of the namespace's other DAGs or to the prior, and limited to 0.1 to 1. It averages
// logarithms, so that a few noisy tasks do not dominate.
func (p *Pool) deviation(prior float64, others *Namespace) float64 {
	expected, weight := others.variance(prior)
	log := (weight*expected + p.LogSquares + logBias*p.Residuals) / (weight + p.Residuals)
	return max(0.1, min(1, math.Exp(log/2)))
}

func (p *Pool) meanRowCost() float64 {
	if p.Rows <= 0 {
		return 0
	}
	return p.Cost / p.Rows
}

// promiseFactor returns the factor on the nominal promises of a task with a number of rows as in RecordOutcome.
// The factor is the ratio of kills to promises at the age of the task, shrunk to the product of two ratios. The first,
// ratios[a], is the ratio of the namespace's other DAGs at this age. The second, `overall`, is the number of kills at all
// ages divided by the sum of ratio · promises of each age, shrunk to one. The factor is at most 4 and at least 0.3 · min(1,
// ratios[a]).
func (p *Pool) promiseFactor(rows int, others *Namespace) float64 {
	ratios := others.killRatios()
	killed, promised := 0.0, 0.0
	for a := range ageCount {
		killed, promised = killed+p.Killed[a], promised+ratios[a]*p.Promised[a]
	}
	overall := (killed + agePrior) / (promised + agePrior)
	a := age(rows)
	factor := (p.Killed[a] + agePrior*overall*ratios[a]) / (p.Promised[a] + agePrior)
	return max(0.3*min(1, ratios[a]), min(4, factor))
}
