package forecast

import (
	"math"
	"slices"
)

// smoothingRates are the rates of exponential smoothing that fitLevel tries: the weight of the newest value in the level.
var smoothingRates = [...]float64{.1, .2, .35, .5, .7, .9}

// levelEvidence is the log likelihood ratio from which on the level counts as changing: the errors of the smoothed level must be
// 100 times as probable as those of a fixed level. Of 100 series without a trend, at most about two reach this ratio.
var levelEvidence = math.Log(100)

// AtPresentLevel moves values of past runs, in order of time, to their present level, so that a draw from them is a draw of the
// next value. Values that neither grow, fall nor jump stay the same, and so does the value 0, which stands for no value.
func AtPresentLevel(values []float64) []float64 {
	var logs []float64
	for _, v := range values {
		if v > 0 {
			logs = append(logs, math.Log(v))
		}
	}
	level, errors := fitLevel(logs)
	if errors == nil {
		return values
	}
	moved := slices.Clone(values)
	for k, v := range values {
		if v > 0 {
			moved[k] = math.Exp(level + errors[0])
			errors = errors[1:]
		}
	}
	return moved
}

// fitLevel fits simple exponential smoothing to values in order of time. It returns the level after the newest value, and the
// errors: each value less the level before it. The errors are nil if the smoothed level does not predict the values clearly better
// than their median, or if there are fewer than MinCalibration values. The likelihoods are those of Laplace distributions, so
// that a few extreme values do not decide.
func fitLevel(values []float64) (level float64, errors []float64) {
	if len(values) < MinCalibration {
		return 0, nil
	}
	sorted := slices.Sorted(slices.Values(values))
	median, fixed := sorted[len(sorted)/2], 0.0
	for _, v := range values {
		fixed += math.Abs(v - median)
	}
	n := float64(len(values))
	least := fixed * math.Exp(-levelEvidence/n)
	for _, rate := range smoothingRates {
		last, residuals := smooth(values, rate)
		sum := 0.0
		for _, err := range residuals {
			sum += math.Abs(err)
		}
		if sum < least {
			least, level, errors = sum, last, residuals
		}
	}
	return level, errors
}

// smooth returns the smoothed level after the newest value, and the errors: each value less the level before it. The first level
// is that of the values in reverse order (backcasting).
func smooth(values []float64, rate float64) (level float64, errors []float64) {
	level = values[len(values)-1]
	for _, v := range slices.Backward(values) {
		level += rate * (v - level)
	}
	for _, v := range values {
		errors = append(errors, v-level)
		level += rate * (v - level)
	}
	return level, errors
}
