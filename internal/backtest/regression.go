package backtest

import (
	"math"
	"slices"
)

// line is the least-squares line of y on x, updated one point at a time. Means and
// centred sums avoid the cancellation of raw sums of squares.
type line struct {
	n            float64
	meanX, meanY float64
	xx, xy, yy   float64
}

func (l *line) add(x, y float64) {
	l.n++
	dx, dy := x-l.meanX, y-l.meanY
	l.meanX += dx / l.n
	l.meanY += dy / l.n
	l.xx += dx * (x - l.meanX)
	l.xy += dx * (y - l.meanY)
	l.yy += dy * (y - l.meanY)
}

// slope returns the slope; 0 if all x are equal, so that the line is the mean.
func (l *line) slope() float64 {
	if l.xx <= 0 {
		return 0
	}
	return l.xy / l.xx
}

func (l *line) at(x float64) float64 { return l.meanY + l.slope()*(x-l.meanX) }

func (l *line) squaredError() float64 { return max(0, l.yy-l.slope()*l.xy) }

// correlation returns Pearson's r, or 0 if x or y is constant.
func (l *line) correlation() float64 {
	if l.xx <= 0 || l.yy <= 0 {
		return 0
	}
	return l.xy / math.Sqrt(l.xx*l.yy)
}

// regression allocates the value of a line on x (Witt et al. 2019, "Feedback-based
// resource allocation") plus the residual deviation √(SSE/(n−1)) or the largest positive
// residual. With fewer than two points, or if this sum is not positive, it allocates the largest peak.
type regression struct {
	line    line
	upper   hull
	largest float64 // largest peak
	byMax   bool    // add the largest residual instead of the deviation
}

func (r *regression) learn(o *Outcome) {
	peak := float64(o.Peak)
	r.line.add(o.X, peak)
	r.upper.add(o.X, peak)
	r.largest = max(r.largest, peak)
}

func (r *regression) allocate(q *Question) float64 {
	if r.line.n < 2 {
		return r.largest
	}
	raise := math.Sqrt(r.line.squaredError() / (r.line.n - 1))
	if r.byMax {
		raise = max(0, r.upper.above(&r.line))
	}
	if v := r.line.at(q.X) + raise; v > 0 {
		return v
	}
	return r.largest
}

// hull is the upper convex hull of the points, sorted by x. The point that is farthest above any line is one of the hull.
// So the search for the largest residual of a refitted line reads a few dozen points instead of all points.
type hull []point

type point struct{ x, y float64 }

func (h *hull) add(x, y float64) {
	p := point{x, y}
	at, same := slices.BinarySearchFunc(*h, x, func(q point, x float64) int {
		if q.x < x {
			return -1
		} else if q.x > x {
			return 1
		}
		return 0
	})
	switch {
	case same && (*h)[at].y >= y:
		return
	case same:
		(*h)[at] = p
	case at > 0 && at < len(*h) && !isAboveSegment((*h)[at-1], p, (*h)[at]):
		return
	default:
		*h = slices.Insert(*h, at, p)
	}
	for at > 1 && !isAboveSegment((*h)[at-2], (*h)[at-1], p) {
		*h = slices.Delete(*h, at-1, at)
		at--
	}
	for at+2 < len(*h) && !isAboveSegment(p, (*h)[at+1], (*h)[at+2]) {
		*h = slices.Delete(*h, at+1, at+2)
	}
}

func isAboveSegment(a, b, c point) bool {
	return (b.y-a.y)*(c.x-a.x) > (c.y-a.y)*(b.x-a.x)
}

// above returns the largest residual; it is negative if all points are below the line.
func (h hull) above(l *line) float64 {
	most := math.Inf(-1)
	for _, p := range h {
		most = max(most, p.y-l.at(p.x))
	}
	return most
}
