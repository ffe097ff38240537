package experts

import "math"

// The kill rates of the experts and of the margins are means over all rows. But the models often err more for the largest rows:
// these rows are few, and the noise of a peak may grow with the input. So the pool compares kills with promises by the class of
// the predicted level, and corrects the promise of a row by the ratio of its class. The amounts of the experts do not depend on
// this correction, but the rule that grants the static request does (requestSuffices in internal/taskmodel).

// levelClasses is the number of classes of predicted levels. A row is in class k if the share of the rows with at
// least its level is above 2^−(k+1) and at most 2^−k: half of the rows are in class 0, a quarter in class 1. The last
// class also has the rows for which k would be larger.
const levelClasses = 6

// LevelFactors are factors on nominal promises (the promises without the correction by the pool), by the class of the predicted
// level.
type LevelFactors [levelClasses]float64

func (x *Experts) levelClass(p *Point) int {
	l := &x.levels[LineTrees]
	n := len(l.order)
	above := n - l.search(x.Rows, p.Level[LineTrees])
	share := (float64(above) + 0.5) / float64(n+1)
	return min(levelClasses-1, int(-math.Log2(share)))
}

// hasLevelClass reports whether the promise of a row is corrected by the class of the row's predicted level. In a cold start there
// are too few rows for classes, and exceptions have their own kill rate (ExceptionCounts).
func (x *Experts) hasLevelClass(p *Point) bool { return !x.IsColdStart() && !p.IsException }

func (x *Experts) levelFactor(p *Point) float64 {
	if x.LevelFactors[0] == 0 || !x.hasLevelClass(p) {
		return 1
	}
	return x.LevelFactors[x.levelClass(p)]
}

// recordLevel records the nominal promise of a row, and whether the peak of the row exceeded the answer, in the class of the
// row's predicted level. `mean` is the nominal promise that does not depend on the row.
func (p *Pool) recordLevel(class int, promised, mean float64, killed bool) {
	p.LevelMean = p.LevelMean*poolDecay + mean
	for k := range levelClasses {
		p.LevelPromised[k] *= poolDecay
		p.LevelKilled[k] *= poolDecay
	}
	p.LevelPromised[class] += promised
	if killed {
		p.LevelKilled[class]++
	}
}

// levelFactors returns the factors on the nominal promises by class. Each factor is proportional to the ratio of kills to
// promises of its class. This ratio is shrunk to that of the class and all higher ones together, which is shrunk to that of the
// next lower class and all above it, and so on (empirical Bayes). The factors are scaled so that the sum of the corrected
// promises stays about LevelMean, the sum of the promises that do not depend on the row, because promiseFactor corrects that
// sum.
func (p *Pool) levelFactors() (factors LevelFactors) {
	killed, promised := 0.0, 0.0
	for k := range levelClasses {
		killed, promised = killed+p.LevelKilled[k], promised+p.LevelPromised[k]
	}
	overall := shrunkRatio(killed, promised, 1)
	ratio, corrected := overall, 0.0
	for k := range factors { // ratio, killed and promised are those of class k and all higher ones
		if k > 0 {
			ratio = shrunkRatio(killed, promised, ratio)
		}
		factors[k] = shrunkRatio(p.LevelKilled[k], p.LevelPromised[k], ratio)
		corrected += factors[k] * p.LevelPromised[k]
		killed, promised = killed-p.LevelKilled[k], promised-p.LevelPromised[k]
	}
	for k := range factors {
		factors[k] *= (p.LevelMean + agePrior) / (corrected + agePrior*overall)
	}
	return factors
}

func shrunkRatio(killed, promised, prior float64) float64 {
	return (killed + agePrior*prior) / (promised + agePrior)
}
