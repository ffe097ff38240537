package bayes

import "math"

// Affine holds the sufficient statistics of the regression of a peak on one input x with a base: peak = a + b·x. The errors are
// relative to the peak, as those of the other structures: the regression minimises Σ (1 − (a + b·x)/peak)², so it is a regression
// of the constant 1 on 1/peak and x/peak. A Line predicts a power of the input, which does not fit such a peak if some inputs are
// zero or small.
type Affine struct {
	_           struct{} `cbor:",toarray"` // compact, because a task has up to twelve
	Rows        float64  // weight of the rows that have the input
	P, Q        float64  // Σ 1/peak, Σ x/peak; x is in units of the input
	PP, PQ, QQ  float64  // Σ 1/peak², Σ x/peak², Σ x²/peak²
	Tested      float64  // weight of the rows that the regression predicted before it learned them
	Squares     float64  // sum of the squared errors of these predictions, in log peak, each divided by 1 + leverage
	LogEvidence float64
}

const (
	affineRows      = 3    // with fewer rows the line takes the place of an Affine
	minDeterminant  = 1e-9 // of the Gram matrix, relative to PP·QQ; below it the input hardly varies
	largestExponent = 300  // bounds the exponent in raw, so that the sums of squares of huge inputs do not overflow
)

// raw is the inverse of SignedLog with the unit 1.
func raw(x float64) float64 { return math.Copysign(math.Expm1(min(math.Abs(x), largestExponent)), x) }

func (l *Affine) learn(x, y, weight float64) {
	if level, leverage, ok := l.at(x, x); ok {
		l.Tested += weight
		l.Squares += weight * (y - level) * (y - level) / (1 + leverage)
	}
	p := math.Exp(-y)
	q := raw(x) * p
	l.Rows += weight
	l.P, l.Q = l.P+weight*p, l.Q+weight*q
	l.PP, l.PQ, l.QQ = l.PP+weight*p*p, l.PQ+weight*p*q, l.QQ+weight*q*q
}

// solve returns a, b and the determinant of the Gram matrix. ok is false if the rows do not determine both.
func (l *Affine) solve() (a, b, determinant float64, ok bool) {
	determinant = l.PP*l.QQ - l.PQ*l.PQ
	if l.Rows < affineRows || !(determinant > minDeterminant*l.PP*l.QQ) {
		return 0, 0, 0, false
	}
	return (l.QQ*l.P - l.PQ*l.Q) / determinant, (l.PP*l.Q - l.PQ*l.P) / determinant, determinant, true
}

// at returns the log peak of the regression at x, and the part of its variance that comes from the uncertainty of a and b, relative
// to the variance of the errors. nearest is the value nearest to x in the range of the input; outside the range, the peak falls at
// most by maxFall. ok is false if the rows do not determine the regression or if it predicts no positive peak.
func (l *Affine) at(x, nearest float64) (level, leverage float64, ok bool) {
	a, b, determinant, ok := l.solve()
	x = raw(x)
	peak := max(a+b*x, (a+b*raw(nearest))*math.Exp(-maxFall))
	if !ok || !(peak > 0) || math.IsInf(peak, 1) {
		return 0, 0, false
	}
	return math.Log(peak), max(0, l.QQ-2*x*l.PQ+x*x*l.PP) / (determinant * peak * peak), true
}

// predict adds the regression to mix, unless `at` returns false. The variance comes from recursive residuals (Brown, Durbin &
// Evans 1975), because relative errors of a peak far above the regression are never larger than 1.
func (l *Affine) predict(x, nearest float64, prior *Prior, factors *BayesFactors, mix *Mixture, logWeight float64) (ok bool) {
	level, leverage, ok := l.at(x, nearest)
	if ok {
		mix.addRegression(level, l.Squares, prior.Rows+l.Tested, leverage, prior, factors, logWeight)
	}
	return ok
}

// predictAffines adds the affine regression of each input to mix. If the regression predicts nothing, it adds the line of the
// input a second time. If the line does not predict from this input either (hasLine), it adds the constant again.
func (a *Average) predictAffines(inputs []float64, prior *Prior, mix *Mixture) {
	mix.Affines.from = mix.N
	for i, x := range inputs {
		weight := math.Log(affineShare/float64(len(inputs))) + a.affineEvidence(i)
		if !a.hasLine(i, x) {
			a.constant(prior.Deviation, prior.Rows, mix, weight)
			continue
		}
		factors := a.narrow(i).Affine
		if i >= len(a.Affines) || !a.Affines[i].predict(x, a.nearest(i, x), prior, &factors, mix, weight) {
			a.predictLine(i, x, prior, mix, weight)
		}
	}
	mix.Affines.to = mix.N
}

func (a *Average) affineEvidence(i int) float64 {
	if i < len(a.Affines) {
		return a.Affines[i].LogEvidence
	}
	if i < len(a.Lines) { // stored before affine regressions existed
		return a.Lines[i].LogEvidence
	}
	return a.Constant
}

// shift adds a number to the log peaks of all learned rows.
func (l *Affine) shift(by float64) {
	factor := math.Exp(-by)
	l.P, l.Q = l.P*factor, l.Q*factor
	l.PP, l.PQ, l.QQ = l.PP*factor*factor, l.PQ*factor*factor, l.QQ*factor*factor
}
