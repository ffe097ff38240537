package experts

import "math"

// Namespace sums statistics over the pools of DAGs. The estimates of a DAG's pool are shrunk to the estimates of the other DAGs
// in its namespace (empirical Bayes). So a DAG with few runs starts from the estimates of its namespace. The zero value has no
// DAG, and then the estimates are shrunk to priors.
//
// A DAG with many runs counts as one with at most maxResiduals residuals and, for each age, at most maxPromised promised kills, so
// that it does not dominate the estimates.
type Namespace struct {
	DAGs        float64           // number of DAGs with residuals
	Residuals   float64           // sum of n, the number of a DAG's residuals
	Squares     float64           // sum of n²
	Means       float64           // sum of n · m; m is the mean log of a DAG's squared residuals
	MeanSquares float64           // sum of n · m²
	Promised    [ageCount]float64 // sums of nominal promises (see Pool), by age
	Killed      [ageCount]float64 // numbers of kills, by age
	Slopes      [slopeKinds]Slope // of all tasks
}

const (
	maxResiduals = 50.0
	maxPromised  = 5.0 // for one age
	lowestRatio  = 0.1 // smallest ratio of kills to promises for one age
)

// Add adds the pool of a DAG.
func (n *Namespace) Add(p *Pool) { n.addScaled(p, 1) }

// Remove subtracts the pool of a DAG.
func (n *Namespace) Remove(p *Pool) { n.addScaled(p, -1) }

func (n *Namespace) addScaled(p *Pool, sign float64) {
	if p.Residuals < 1 {
		return
	}
	rows, mean := min(p.Residuals, maxResiduals), p.LogSquares/p.Residuals
	n.DAGs, n.Residuals, n.Squares = n.DAGs+sign, n.Residuals+sign*rows, n.Squares+sign*rows*rows
	n.Means, n.MeanSquares = n.Means+sign*rows*mean, n.MeanSquares+sign*rows*mean*mean
	for a := range ageCount {
		share := sign * min(1, maxPromised/max(p.Promised[a], maxPromised))
		n.Promised[a] += share * p.Promised[a]
		n.Killed[a] += share * p.Killed[a]
	}
	for k := range p.Slopes {
		n.Slopes[k].Tasks += sign * p.Slopes[k].Tasks
		n.Slopes[k].Sum += sign * p.Slopes[k].Sum
	}
}

// isEmpty reports whether n has no DAG. The other sums may differ from zero by rounding then.
func (n *Namespace) isEmpty() bool { return n == nil || n.DAGs < 1 }

// SlopeOf returns the mean slope of the log peak in the log of one input, over all tasks, shrunk to the prior. `hash` is the hash
// of the name of the input.
func (n *Namespace) SlopeOf(hash uint64, prior float64) float64 {
	if n.isEmpty() {
		return prior
	}
	return n.Slopes[hash%slopeKinds].Mean(prior)
}

const (
	logBias     = 1.27                  // −E ln z² of a standard normal z
	logVariance = math.Pi * math.Pi / 2 // variance of ln z²
)

// variance returns the log of the expected variance of a new DAG's residuals, and the weight of this expectation as a prior for
// the pool of the DAG, in residuals. Without other DAGs, the expected variance is prior² and the weight is 50. The less the DAGs
// differ, the larger is the weight. The variance between the DAGs is estimated by the method of moments
// (DerSimonian & Laird 1986) and shrunk to logVariance/50.
func (n *Namespace) variance(prior float64) (log, residuals float64) {
	const weight, least, most = 50, 4, 200 // residuals
	const dags = 3                         // number of DAGs that the prior of the variance between DAGs counts as
	log = 2 * math.Log(prior)
	if n.isEmpty() {
		return log, weight
	}
	log = (weight*log + n.Means + logBias*n.Residuals) / (weight + n.Residuals)
	between := logVariance / weight
	if freedom := n.DAGs - 1; freedom > 0 {
		q := n.MeanSquares - n.Means*n.Means/n.Residuals
		observed := max(0, (q-freedom*logVariance)/(n.Residuals-n.Squares/n.Residuals))
		between = (dags*between + freedom*observed) / (dags + freedom)
	}
	return log, max(least, min(most, logVariance/between))
}

// killRatios returns the ratios of kills to nominal promises by age, each shrunk to the ratio over the other ages. That ratio
// is shrunk to one. The ratios are at least lowestRatio. Without other DAGs all ratios are one.
func (n *Namespace) killRatios() (ratios [ageCount]float64) {
	killed, promised := 0.0, 0.0
	if !n.isEmpty() {
		for a := range ageCount {
			killed, promised = killed+n.Killed[a], promised+n.Promised[a]
		}
	}
	for a := range ratios {
		ratios[a] = 1
		if !n.isEmpty() {
			others := (killed - n.Killed[a] + agePrior) / (promised - n.Promised[a] + agePrior)
			ratios[a] = max(lowestRatio, (n.Killed[a]+agePrior*others)/(n.Promised[a]+agePrior))
		}
	}
	return ratios
}
