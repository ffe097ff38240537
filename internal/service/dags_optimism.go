package service

import (
	"maps"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
)

// optimismBound is the bound of the test statistic of a sign test at a significance of 1 %.
const optimismBound = 2.58

// optimism returns the factor by which the run times of new runs exceed those of learned runs, in multiples of the
// predictions of the current model (LearnedRunTimes). The model knows the learned runs, so it predicts them better than new
// ones: dates may explain a growth only in the past. The factor is the median ratio of the newest run times to the predictions
// before the runs, divided by their median ratio to the predictions of the current model, at its present level
// (forecast.AtPresentLevel). It is 1 if the ratios do not clearly differ (sign test), for a mapped task, for a task without a
// date, and with too few runs.
func (r *recentRuns) optimism(f *taskForecast) float64 {
	var learned []float64
	hasDate, predicted := false, f.past
	for k := range r.runs {
		of := predicted[:len(r.instances[k])]
		predicted = predicted[len(of):]
		switch {
		case r.runs[k].Instances > 1:
			return 1
		case len(of) == 1:
			hasDate = hasDate || slices.ContainsFunc(slices.Collect(maps.Values(r.instances[k][0])), func(v sizing.Value) bool { return v.Kind == sizing.Date })
			learned = append(learned, math.Exp(math.Log1p(r.runs[k].Longest.Seconds())-of[0].LogSeconds()))
		}
	}
	n := min(pastRuns, len(learned), len(f.ratios))
	if !hasDate || n < forecast.MinCalibration {
		return 1
	}
	median := func(ratios []float64) float64 { return slices.Sorted(slices.Values(ratios))[n/2] }
	before, usual := f.ratios[len(f.ratios)-n:], median(forecast.AtPresentLevel(learned[len(learned)-n:]))
	above := 0.
	for _, ratio := range before {
		if ratio > usual {
			above++
		}
	}
	if math.Abs(2*above-float64(n)) <= optimismBound*math.Sqrt(float64(n)) {
		return 1
	}
	return median(before) / usual
}
