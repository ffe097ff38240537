package bayes

import "math"

// LocalTrend is the structure of a task whose peaks grow from run to run: a local linear trend (level and growth per run) of
// the errors of the regressions, fitted by regression on the run index with exponentially discounted weights (Brown 1963; as a
// dynamic linear model, West & Harrison 1997). The regressions are here the constants, the lines and the affine regressions
// together. All other structures treat the rows as exchangeable: for them a growth is noise. If the level grows by g per run, the
// mean of the first n rows is about g·n/2 below the next one, so its errors have a linear trend, too. The errors of the lines and
// of the affine regressions show a growth in addition to the effect of an input.
//
// The sums below are those of the weights w, of the index u (0: next run, -1: newest run) and of the error e in log peak.
type LocalTrend struct {
	_           struct{} `cbor:",toarray"`
	W, U, UU    float64  // Σ w, Σ w·u, Σ w·u²
	E, UE       float64  // Σ w·e, Σ w·u·e
	Learned     int      // number of rows
	Tested      float64  // number of rows that the trend predicted before it learned them
	Squares     float64  // sum of the squared errors of these predictions, each divided by 1 + leverage
	LogEvidence float64
	NullSquares float64 // sum of the squared errors e of the tested rows
	BayesFactor float64 // logarithm of the Bayes factor of the trend to no trend: errors with mean 0 and the same prior deviation
	Overlap     Overlap
	Ratio       float64 // newest log(peak/allocation); 0: unknown
	Ratios      float64 // number of changes of this ratio from run to run
	Changes     float64 // half of the sum of their squares
}

// followsLimit reports whether the allocations predict the peaks at least as well as the trend does. Then the grants cause the
// growth, and a trend would raise both without end.
func (t *LocalTrend) followsLimit(prior *Prior) bool {
	return t.Ratios > 0 && t.Changes/t.Ratios <= t.variance(t.Squares, prior)
}

// learnRatio adds the newest log(peak/allocation); 0: unknown.
func (t *LocalTrend) learnRatio(ratio float64) {
	if ratio != 0 && t.Ratio != 0 {
		t.Ratios++
		t.Changes += (ratio - t.Ratio) * (ratio - t.Ratio) / 2
	}
	t.Ratio = ratio
}

const (
	trendShare          = 0.1  // prior probability of the trend, relative to that of all other structures together
	trendRows           = 5    // with fewer rows the trend predicts nothing
	maxTrendRows        = 128  // with more rows the trend has no weight: the fitted models then follow a growth
	trendDiscount       = 0.9  // factor per run on the weights, so that about ten runs count
	trendGrowth         = 0.03 // prior standard deviation of the growth per run, in log peak
	trendDeviationRatio = 0.2  // prior deviation around the trend, relative to Prior.Deviation, which contains the growth of similar tasks
)

// variance returns the estimated variance of the errors around the trend (for t.Squares) or around 0 (for t.NullSquares).
func (t *LocalTrend) variance(squares float64, prior *Prior) float64 {
	deviation := prior.Deviation * trendDeviationRatio
	return (prior.Rows*deviation*deviation + squares) / (prior.Rows + t.Tested)
}

// forecast returns the expected error of the run with index u, and the part of its variance that comes from the uncertainty of
// the trend, relative to the variance of an error around the trend. The growth has the prior N(0, trendGrowth²).
func (t *LocalTrend) forecast(u, variance float64) (e, leverage float64, ok bool) {
	uu := t.UU + variance/(trendGrowth*trendGrowth)
	determinant := t.W*uu - t.U*t.U
	if t.Learned < trendRows || !(determinant > 0) {
		return 0, 0, false
	}
	level, growth := (uu*t.E-t.U*t.UE)/determinant, (t.W*t.UE-t.U*t.E)/determinant
	return level + growth*u, (uu - 2*u*t.U + u*u*t.W) / determinant, true
}

// learn adds the error e of the next run, and moves the origin of the index to the run after it.
func (t *LocalTrend) learn(e float64, prior *Prior) {
	variance := t.variance(t.Squares, prior)
	if forecast, leverage, ok := t.forecast(0, variance); ok {
		freedom := prior.Rows + t.Tested
		t.BayesFactor += logDensity(e-forecast, math.Sqrt(variance*(1+leverage)), freedom)
		t.BayesFactor -= logDensity(e, math.Sqrt(t.variance(t.NullSquares, prior)), freedom)
		t.NullSquares += e * e
		t.Tested++
		t.Squares += (e - forecast) * (e - forecast) / (1 + leverage)
	}
	t.Learned++
	t.W, t.E = t.W+1, t.E+e // u is 0
	t.UU = trendDiscount * (t.UU - 2*t.U + t.W)
	t.UE = trendDiscount * (t.UE - t.E)
	t.U = trendDiscount * (t.U - t.W)
	t.W, t.E = trendDiscount*t.W, trendDiscount*t.E
}

// predictTrend sets mix.regressions and mix.trend, and adds the trend to mix if it has enough rows. mix must contain only the
// constants, the lines and the affine regressions, and their weights must still be logarithms.
func (a *Average) predictTrend(prior *Prior, mix *Mixture) {
	top, sum, level := math.Inf(-1), 0.0, 0.0
	for _, w := range mix.Weight[:mix.N] {
		top = max(top, w)
	}
	for i, w := range mix.Weight[:mix.N] {
		sum += math.Exp(w - top)
		level += math.Exp(w-top) * mix.Level[i]
	}
	mix.trend, mix.regressions = 0, level/sum
	t := &a.Trend
	variance := t.variance(t.Squares, prior)
	if e, leverage, ok := t.forecast(0, variance); ok {
		mix.trend = mix.N
		mix.add(mix.regressions+e, math.Sqrt(variance*(1+leverage)), prior.Rows+t.Tested, math.Log(trendShare)+a.trendEvidence())
	}
}

// drop gives the trend no weight unless all of these conditions hold:
//
//   - The trend is at least as probable as all other structures together. In few rows, noise often looks like a trend, and then an
//     extrapolation errs more than a mean. So a task without growth is predicted as if there were no trend.
//   - The trend has predicted the tested rows better than a mean error of 0 with the same prior deviation. The regressions have
//     a larger prior deviation, so a comparison with them could show only that this deviation is too large.
//   - The trend predicts more than the regressions. Peaks that fall from run to run may be those of a backfill in reverse, and a
//     large peak may follow.
//   - The trend has learned at most maxTrendRows rows, and followsLimit is false.
//
// The weights of m are still logarithms.
func (t *LocalTrend) drop(prior *Prior, m *Mixture) {
	k, others := m.trend, 0.0
	if k == 0 {
		return
	}
	for i, w := range m.Weight[:m.N] {
		if i != k {
			others += math.Exp(w - m.Weight[k])
		}
	}
	if others > 1 || t.BayesFactor <= 0 || t.Learned > maxTrendRows || t.followsLimit(prior) || m.Level[k] <= m.regressions {
		m.Weight[k] = math.Inf(-1)
	}
}

// trendEvidence returns the log evidence of the trend: before its first prediction, that of the best regression.
func (a *Average) trendEvidence() float64 {
	if a.Trend.Tested > 0 {
		return a.Trend.LogEvidence
	}
	return a.bestRegression()
}

// ExtendTrend extrapolates the trend to a run that starts now, over the runs before it that have not ended yet. It assumes that
// their number is the largest overlap of the newest runs. The trend is relative to the mean of the regressions, and each of these
// runs will move this mean by about its error / (rows + 1). mix comes from Predict.
func (a *Average) ExtendTrend(prior *Prior, mix *Mixture) {
	k, runs := mix.trend, float64(a.Trend.Overlap.largest())
	if k == 0 || mix.Weight[k] == 0 || runs == 0 {
		return
	}
	variance := a.Trend.variance(a.Trend.Squares, prior)
	next, _, _ := a.Trend.forecast(0, variance)
	e, leverage, _ := a.Trend.forecast(runs, variance)
	mix.Level[k] += max(0, e-next+runs*next/(a.Rows+1))
	mix.Scale[k] = math.Sqrt(variance * (1 + leverage))
}

// Run describes a run to LearnTrend.
type Run struct {
	Start, End int64   // in Unix seconds; Start 0: unknown
	Ratio      float64 // log(peak/allocation); 0: unknown
}

// LearnTrend adds the row of the next run to the trend. Call it before Learn, which adds the row to the other structures. y and
// mix are those of Learn. Do not call it for rows that have no place in the order of the runs, such as the instances of a mapped
// task. The evidence ignores Mixture.Shift: the shift of a DAG run comes from errors of its other tasks. If their peaks grow, too,
// structures without a trend would predict the growth with this shift.
func (a *Average) LearnTrend(y float64, run Run, prior *Prior, mix *Mixture) {
	if mix.trend > 0 {
		a.Trend.LogEvidence = a.trendEvidence() + mix.logDensity(mix.trend, y+mix.shifted)
	}
	a.Trend.Overlap.learn(run.Start, run.End)
	a.Trend.learnRatio(run.Ratio)
	a.Trend.learn(y-mix.regressions, prior)
}
