package phase

import "math"

// Series is the usage of one run in steps of equal duration. Each step has one value per channel,
// such as memory and CPU.
type Series [][]float64

// Sample is a measurement at some time after the start of a run.
type Sample struct {
	Seconds float64   // since the start of the run
	Values  []float64 // one per channel
}

// Resample converts samples in order of time to steps. `step` is the duration of a step in seconds. A step
// holds the largest value of its samples per channel. A step without samples repeats the newest
// sample before it, and a step before the first sample has the values of that sample. Resample returns
// nil if there are no samples or `step` is not positive.
func Resample(samples []Sample, step float64) Series {
	if len(samples) == 0 || !(step > 0) {
		return nil
	}
	steps := int(samples[len(samples)-1].Seconds/step) + 1
	series, at := make(Series, 0, steps), 0
	newest := samples[0].Values
	for i := range steps {
		row := []float64(nil)
		for ; at < len(samples) && int(samples[at].Seconds/step) <= i; at++ {
			newest = samples[at].Values
			row = maxima(row, newest)
		}
		if row == nil {
			row = append(row, newest...)
		}
		series = append(series, row)
	}
	return series
}

func maxima(row, values []float64) []float64 {
	if row == nil {
		return append(row, values...)
	}
	for c, v := range values {
		row[c] = max(row[c], v)
	}
	return row
}

type scaling struct{ Mean, SD []float64 }

func newScaling(all []Series) scaling {
	channels := len(all[0][0])
	s := scaling{make([]float64, channels), make([]float64, channels)}
	n := 0.0
	for _, series := range all {
		for _, row := range series {
			n++
			for c, v := range row {
				d := v - s.Mean[c]
				s.Mean[c] += d / n
				s.SD[c] += d * (v - s.Mean[c])
			}
		}
	}
	for c := range s.SD {
		if s.SD[c] = math.Sqrt(s.SD[c] / n); s.SD[c] < 1e-9*(1+math.Abs(s.Mean[c])) {
			s.SD[c] = 1 // a constant channel
		}
	}
	return s
}

// windows returns the standardised windows of delay + 1 steps. Each step whose index is at least `delay` is the last step of
// one window. A series with fewer than delay + 1 steps gives one window, which begins with repeats of the first step.
func (s *scaling) windows(series Series, delay int) [][]float64 {
	if len(series) == 0 {
		return nil
	}
	var all [][]float64
	for end := min(delay, len(series)-1); end < len(series); end++ {
		window := make([]float64, 0, (delay+1)*len(s.Mean))
		for at := end - delay; at <= end; at++ {
			for c, v := range series[max(at, 0)] {
				window = append(window, (v-s.Mean[c])/s.SD[c])
			}
		}
		all = append(all, window)
	}
	return all
}
