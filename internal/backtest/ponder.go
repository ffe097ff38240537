package backtest

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	ponderOffset     = float64(128 * sizing.MiB) // minimum safety margin
	ponderCold       = 5                         // with fewer rows, there is no fit: the largest peak, or no prediction
	ponderRelated    = 0.3                       // with Pearson's r above this, x (the first numeric feature) predicts the peak
	ponderOver       = 0.02                      // weight of an over-estimate; an under-estimate weighs 1
	ponderDeviations = 2                         // safety margin in standard deviations
)

// ponder implements Lehmann et al. (2024), "Ponder: Online Prediction of Task Memory
// Requirements for Scientific Workflows". If x, the first numeric feature, predicts the peak, ponder
// fits a line through the upper part of the points. Otherwise it uses the largest peak. It adds a safety
// margin in both cases. If the row has a request, the first allocation does not exceed the request.
type ponder struct {
	points          []point
	line            line          // for Pearson's r, and as the first guess of a fit to ponderCold points
	fitted          asymmetricFit // the newest fit
	stale           bool          // points were added after the newest fit
	lowest, highest float64
	highestX        float64
}

// asymmetricFit is the line under asymmetric squared loss.
type asymmetricFit struct{ intercept, slope float64 }

func (f asymmetricFit) at(x float64) float64 { return f.intercept + f.slope*x }

func (r *ponder) learn(o *Outcome) {
	p := point{o.X, float64(o.Peak)}
	if len(r.points) == 0 {
		r.lowest, r.highestX = p.y, p.x
	}
	r.lowest, r.highest = min(r.lowest, p.y), max(r.highest, p.y)
	r.highestX = max(r.highestX, p.x)
	r.points = append(r.points, p)
	r.line.add(p.x, p.y)
	r.stale = true
}

func (r *ponder) allocate(q *Question) float64 {
	v := r.unbounded(q.X)
	if q.Requested.Memory > 0 {
		v = min(v, float64(q.Requested.Memory))
	}
	return v
}

// unbounded returns the allocation without the bound of the request; 0 if there is too little data.
func (r *ponder) unbounded(x float64) float64 {
	switch {
	case len(r.points) < ponderCold && !(len(r.points) > 0 && x < r.highestX):
		return 0
	case len(r.points) < ponderCold, r.line.correlation() <= ponderRelated:
		return r.highest + ponderOffset
	}
	r.fit()
	// Below the largest x the prediction is at most the largest peak, and from the largest x on it is at least this peak.
	v := max(r.fitted.at(x), r.lowest)
	if v > r.highest && x < r.highestX || v < r.highest && x >= r.highestX {
		v = r.highest
	}
	return v + max(ponderOffset, ponderDeviations*r.deviation(x))
}

// fit minimises Σ w·(y − line)² by iterative reweighting until the line no longer changes, at most 100 times; w is 1
// above the line and otherwise ponderOver. It starts from r.line with ponderCold points, and later from the previous fit
// (zero before the first one), so one more point rarely needs more than two passes.
func (r *ponder) fit() {
	if !r.stale {
		return
	}
	r.stale = false
	if len(r.points) == ponderCold {
		r.fitted = asymmetricFit{r.line.at(0), r.line.slope()}
	}
	for range 100 {
		next := r.reweighted()
		done := next == r.fitted
		if r.fitted = next; done {
			return
		}
	}
}

// reweighted returns the line that fits the points with the weights of the present fit. The sums are centred on the means to
// avoid cancellation at 10¹¹ bytes.
func (r *ponder) reweighted() asymmetricFit {
	var weights, dx, dy, xx, xy float64
	for _, p := range r.points {
		w := ponderOver
		if p.y > r.fitted.at(p.x) {
			w = 1
		}
		x, y := p.x-r.line.meanX, p.y-r.line.meanY
		weights += w
		dx += w * x
		dy += w * y
		xx += w * x * x
		xy += w * x * y
	}
	slope := 0.0
	if squares := xx - dx*dx/weights; squares > 0 {
		slope = (xy - dx*dy/weights) / squares
	}
	return asymmetricFit{r.line.meanY + dy/weights - slope*(r.line.meanX+dx/weights), slope}
}

// deviation returns the weighted standard deviation of the residuals around x. The weight falls
// linearly from 1 at x to 0 at the farthest point. With n < 10 points, every weight is (1 − n/10)/100 larger.
// If all points are at x, every weight is 1. They are reliability weights, so the divisor is
// Σw − Σw²/Σw.
func (r *ponder) deviation(x float64) float64 {
	farthest := 0.0
	for _, p := range r.points {
		farthest = max(farthest, math.Abs(p.x-x))
	}
	extra := max(0, 1-float64(len(r.points))/10) / 100
	var w1, w2, sum, squares float64
	for _, p := range r.points {
		w := 1.0
		if farthest > 0 {
			w = 1 - math.Abs(p.x-x)/farthest + extra
		}
		residual := p.y - r.fitted.at(p.x)
		w1 += w
		w2 += w * w
		sum += w * residual
		squares += w * residual * residual
	}
	divisor := w1 - w2/w1
	if !(divisor > 0) {
		return 0
	}
	return math.Sqrt(max(0, squares-sum*sum/w1) / divisor)
}
