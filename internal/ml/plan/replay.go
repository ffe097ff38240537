package plan

import "math"

type outcome struct {
	cost   float64 // byte-seconds of the limits of the killed try, if any, and of the successful try
	killed bool
	slack  float64 // smallest log(limit / usage); negative if killed
}

// growStep is the least share by which a limit grows, so that a slow ramp needs few resizes.
const growStep = 0.05

// Grow returns the limit in force after a rule has computed `need`, the necessary limit. A sufficient limit stays the same.
// Otherwise the new limit is `need`, but at least 5 % (growStep) above the old limit.
func Grow(limit, need float64) float64 {
	if need <= limit {
		return limit
	}
	return math.Max(need, limit*(1+growStep))
}

// replay simulates a rule on the curve of an ended run. `forecasts` holds the forecast at the start
// of the run, and then those at the end of each step.
func (r *rule) replay(c *Curve, grant float64, forecasts []forecast, t Timing) outcome {
	delay := int(math.Ceil(t.Reaction / c.Step))
	limit := r.limit(grant, 0, forecasts[0])
	o := outcome{slack: math.Inf(1)}
	for k, used := range c.Peak {
		if known := k - 1 - delay; known >= 0 {
			limit = Grow(limit, r.limit(grant, c.Peak[known], forecasts[known+1]))
		}
		o.cost += limit * c.Step
		if used > 0 {
			o.slack = math.Min(o.slack, math.Log(limit/used))
		}
		if used > limit {
			o.killed = true
			o.cost += retryCost(math.Max(grant, lift*limit), c)
			return o
		}
	}
	return o
}

// lift is the least ratio of the limit of a retry to the limit of the killed try.
const lift = 1.5

// retryCost returns the byte-seconds of the successful try after a kill. Its limit is constant: the first of limit,
// limit · lift, limit · lift², … that covers the peak.
func retryCost(limit float64, c *Curve) float64 {
	limit = math.Max(limit, 1)
	for limit < c.Max() {
		limit *= lift
	}
	return limit * c.Duration()
}
