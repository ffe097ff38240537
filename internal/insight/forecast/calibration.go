package forecast

import (
	"math"
	"slices"
)

// Calibration corrects the forecast quantiles of the end of a run with the past runs of its DAG. The
// simulation assumes that tasks are independent, but a larger input slows all tasks of a run, and tasks
// wait for slots. The correction is split conformal prediction on the ratio of the actual end to the expected
// end (Lei et al. 2018). The expected end is the end if every task takes its median run time (Task.Median). If the ratios grow,
// fall or jump, the correction first moves all ratios to their present level (AtPresentLevel). Ratios grow for example with growing
// run times, because the current models compute the expected ends of all past runs. The zero Calibration has no past runs.
type Calibration struct {
	ratios    []float64 // actual end divided by the expected end, in order of time
	instances []float64 // logarithm of the number of instances of the run of each ratio
}

// MinCalibration is the smallest number of past runs with which a forecast is corrected: the largest of
// 19 ratios is the conformal 95 % quantile.
const MinCalibration = 19

// Add adds a past run, which ended after the runs that were added before. `expected` and `end` are its expected and its actual
// end, in seconds from its start; `instances` is its number of instances of all tasks. Add ignores a run if one of the two ends
// is not positive.
func (c *Calibration) Add(expected, end float64, instances int) {
	if expected > 0 && end > 0 {
		c.ratios, c.instances = append(c.ratios, end/expected), append(c.instances, math.Log(float64(max(1, instances))))
	}
}

// Runs returns the number of past runs.
func (c *Calibration) Runs() int { return len(c.ratios) }

// IsEnough reports whether there are enough past runs to correct a forecast.
func (c *Calibration) IsEnough() bool { return len(c.ratios) >= MinCalibration }

// Quantiles returns the median and the 95 % quantile of the end of the run with the forecast r, in seconds from its start.
// `expected` is the result of SimulateMedians for the run. With too few past runs Quantiles returns the simulated quantiles.
// Otherwise it returns the conformal quantiles of the products of an expected end and a ratio. If inputs of the run are
// unknown, the ends in `expected` differ. Each past run has one expected end, so the ratios do not cover this uncertainty;
// therefore each ratio is multiplied by each end. More instances wait longer for slots. If the numbers of instances differ
// between draws, and the ratios of the past runs clearly follow these numbers, each ratio is scaled to the number of each
// draw.
func (c *Calibration) Quantiles(r, expected *Result) (median, p95 float64) {
	n := len(c.ratios)
	if !c.IsEnough() {
		return r.Median, r.P95
	}
	ratios := AtPresentLevel(c.ratios)
	ends := make([]float64, 0, n*len(expected.ends))
	slope := c.slope(ratios, expected)
	for k, ratio := range ratios {
		for d, end := range expected.ends {
			if slope != 0 {
				end *= math.Exp(slope * (math.Log(float64(max(1, expected.instances[d]))) - c.instances[k]))
			}
			ends = append(ends, ratio*end)
		}
	}
	slices.Sort(ends)
	conformal := func(q float64) float64 {
		rank := int(math.Ceil(q * float64((n+1)*len(expected.ends))))
		return ends[min(len(ends), rank)-1]
	}
	return conformal(.5), conformal(.95)
}

// slope returns the slope of the logarithm of `ratios` over the logarithm of the number of instances; 0 if the slope is not
// clear (isClear), or if no task has Counts.
func (c *Calibration) slope(ratios []float64, expected *Result) float64 {
	if expected.instances == nil {
		return 0
	}
	logs := make([]float64, len(ratios))
	for k, ratio := range ratios {
		logs[k] = math.Log(ratio)
	}
	slope, t := fitSlope(c.instances, logs)
	if !isClear(t, len(logs), 1) {
		return 0
	}
	return slope
}

// Interpolate returns the quantile function that interpolates linearly between the quantiles of a table. The table
// has at least two quantiles, whose probabilities are equally spaced from 0 to 1.
func Interpolate(table []float64) func(float64) float64 {
	return func(u float64) float64 {
		at := max(0, min(1, u)) * float64(len(table)-1)
		i := min(len(table)-2, int(at))
		return table[i] + (table[i+1]-table[i])*(at-float64(i))
	}
}
