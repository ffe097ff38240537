package forecast

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/sizing"
)

// MaxInstances bounds the number of instances of a task that ScaleInstances extrapolates to.
const MaxInstances = 250_000

// The two-sided t-test of a slope.
const (
	slopeSignificance = .01
	minSlopeRuns      = 5 // a test with fewer runs would rarely find a slope
)

// ScaleInstances scales the numbers of mapped instances in past runs, in order of time, to the inputs of a new run. `past` has
// the inputs of each past run. For each input, ScaleInstances fits the logarithm of the numbers as a linear function of the
// regressor of the input, and scales by the input with the clearest slope, if there is one. The regressor is the logarithm of a
// positive number, or whether a category or a bool has the value of the new run. Then ScaleInstances moves the numbers to their
// present level (AtPresentLevel). The number 0 means that the run has no instances, and stays 0.
func ScaleInstances(counts []int, past []sizing.Features, inputs sizing.Features) []int {
	clearest, factors := 0.0, slices.Repeat([]float64{1}, len(counts))
	for _, name := range inputs.Names() {
		if scales, t := inputFactors(counts, past, inputs, name); t > clearest {
			clearest, factors = t, scales
		}
	}
	numbers := make([]float64, len(counts))
	for k, n := range counts {
		numbers[k] = float64(n) * factors[k]
	}
	scaled := make([]int, len(counts))
	for k, n := range AtPresentLevel(numbers) {
		if n > 0 {
			scaled[k] = int(max(1, min(MaxInstances, math.Round(n))))
		}
	}
	return scaled
}

// inputFactors returns, for each past run, the factor by which its number of instances would change with the input `name` of
// the new run, and the absolute t-statistic of the slope; nil and 0 if the slope is not clear. A past run without a comparable
// value counts with the mean regressor of the runs that have one.
func inputFactors(counts []int, past []sizing.Features, inputs sizing.Features, name string) (factors []float64, t float64) {
	x, newX := regressor(past, name, inputs[name])
	var xs, logs []float64
	for k, n := range counts {
		if n > 0 && !math.IsNaN(x[k]) {
			xs, logs = append(xs, x[k]), append(logs, math.Log(float64(n)))
		}
	}
	slope, t := fitSlope(xs, logs)
	if !isClear(t, len(xs), len(inputs)) {
		return nil, 0
	}
	mean := stat.Mean(xs, nil)
	factors = make([]float64, len(counts))
	for k, from := range x {
		if math.IsNaN(from) {
			from = mean
		}
		factors[k] = math.Exp(slope * (newX - from))
	}
	return factors, math.Abs(t)
}

// regressor returns the regressor of an input in each past run and in the new run, which has the value `v`. It is NaN for a
// past run without a comparable value.
func regressor(past []sizing.Features, name string, v sizing.Value) (x []float64, newX float64) {
	x = make([]float64, len(past))
	isNumber := v.Kind == sizing.Number && v.Num > 0 && slices.ContainsFunc(past, func(f sizing.Features) bool { return f[name].Kind == sizing.Number })
	for k, f := range past {
		switch value := f[name]; {
		case isNumber && value.Kind == sizing.Number && value.Num > 0:
			x[k] = math.Log(value.Num)
		case !isNumber && (value.Kind == sizing.Category && v.Text != "" || value.Kind == sizing.Bool && v.Kind == sizing.Bool):
			if value.Text == v.Text && value.Kind == sizing.Category || value.Kind == sizing.Bool && value.Num == v.Num {
				x[k] = 1
			}
		default:
			x[k] = math.NaN()
		}
	}
	if isNumber {
		return x, math.Log(v.Num)
	}
	return x, 1
}

// fitSlope returns the slope of the least-squares line of y over x and its t-statistic; both 0 without a slope. The standard
// error of the slope is HC3 (MacKinnon and White 1985), so that a single run with an extreme input makes no slope clear.
func fitSlope(x, y []float64) (slope, t float64) {
	n := float64(len(x))
	if len(x) < minSlopeRuns {
		return 0, 0
	}
	meanX, meanY := stat.Mean(x, nil), stat.Mean(y, nil)
	squares, products := 0.0, 0.0
	for k := range x {
		squares += (x[k] - meanX) * (x[k] - meanX)
		products += (x[k] - meanX) * (y[k] - meanY)
	}
	if squares <= 1e-12*n*(1+meanX*meanX) || products == 0 { // equal inputs, except for rounding
		return 0, 0
	}
	slope = products / squares
	variance := 0.0
	for k := range x {
		dx := x[k] - meanX
		free := 1 - 1/n - dx*dx/squares // 1 minus the leverage
		if free < 1e-9 {
			return 0, 0
		}
		residual := (y[k] - meanY - slope*dx) / free
		variance += dx * dx * residual * residual
	}
	return slope, slope / math.Sqrt(max(variance, math.SmallestNonzeroFloat64)) * squares
}

// isClear reports whether a slope clearly differs from zero. `t` is its t-statistic from n runs. The caller takes the clearest
// of `inputs` inputs, so isClear divides the significance level by this number (Bonferroni correction).
func isClear(t float64, n, inputs int) bool {
	if n < minSlopeRuns || t == 0 {
		return false
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}
	return 2*student.Survival(math.Abs(t)) < slopeSignificance/float64(max(1, inputs))
}
