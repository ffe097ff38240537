package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

type kind struct {
	name string
	run  runFunc
}

// runFunc draws the features and the peak in bytes of run i of n.
type runFunc func(rng *rand.Rand, i, n int) (sizing.Features, float64)

const (
	mib = float64(sizing.MiB)
	gb  = 1e9
)

// noise draws a log-normal factor with the median 1; deviation is the standard deviation of its logarithm.
func noise(rng *rand.Rand, deviation float64) float64 { return math.Exp(deviation * rng.NormFloat64()) }

// size draws an input size: log-normal with the median 1,000, mostly between 50 and 20,000.
func size(rng *rand.Rand) float64 { return math.Round(1000 * noise(rng, 1)) }

func number(name string, x float64) sizing.Features {
	return sizing.Features{name: sizing.NumberValue(x)}
}

func withoutFeatures(peak func(rng *rand.Rand) float64) runFunc {
	return func(rng *rand.Rand, _, _ int) (sizing.Features, float64) { return nil, peak(rng) }
}

func withSize(peak func(rng *rand.Rand, x float64) float64) runFunc {
	return func(rng *rand.Rand, _, _ int) (sizing.Features, float64) {
		x := size(rng)
		return number("size", x), peak(rng, x)
	}
}

var kinds = []kind{
	{"constant", withoutFeatures(func(*rand.Rand) float64 { return 512 * mib })},
	{"constant, features of no influence", withSize(func(*rand.Rand, float64) float64 { return 512e6 })},
	{"log-normal, deviation 0.1", withoutFeatures(func(rng *rand.Rand) float64 { return gb * noise(rng, 0.1) })},
	{"log-normal, deviation 0.5", withoutFeatures(func(rng *rand.Rand) float64 { return gb * noise(rng, 0.5) })},
	{"Pareto, exponent 3", withoutFeatures(func(rng *rand.Rand) float64 { return gb * math.Pow(1-rng.Float64(), -1.0/3) })},
	{"bimodal, 15 % at eight times", withoutFeatures(func(rng *rand.Rand) float64 { return modes(rng, 0.85, 8) })},
	{"bimodal, 2 % at eight times", withoutFeatures(func(rng *rand.Rand) float64 { return modes(rng, 0.98, 8) })},
	{"bimodal, half at three times", withoutFeatures(func(rng *rand.Rand) float64 { return modes(rng, 0.5, 3) })},
	{"proportional to size, noise 0.05", withSize(func(rng *rand.Rand, x float64) float64 { return 1e6 * x * noise(rng, 0.05) })},
	{"base plus size", withSize(func(rng *rand.Rand, x float64) float64 { return (gb + 1e6*x) * noise(rng, 0.05) })},
	{"square root of size, noise 0.2", withSize(func(rng *rand.Rand, x float64) float64 { return 5e7 * math.Sqrt(x) * noise(rng, 0.2) })},
	{"steps of size", withSize(func(rng *rand.Rand, x float64) float64 {
		return gb * math.Exp2(math.Floor(math.Log2(x)/2)-3) * noise(rng, 0.03)
	})},
	{"noise grows with size", withSize(func(rng *rand.Rand, x float64) float64 { return gb * noise(rng, 0.02*math.Log(x)) })},
	{"five categories", categories(5)},
	{"200 categories", categories(200)},
	{"two sizes multiplied", func(rng *rand.Rand, _, _ int) (sizing.Features, float64) {
		x, y := size(rng), math.Ceil(12*rng.Float64())
		f := number("rows", x)
		f["months"] = sizing.NumberValue(y)
		return f, (2e8 + 2e5*x*y) * noise(rng, 0.1)
	}},
	{"grows to three times", func(rng *rand.Rand, i, n int) (sizing.Features, float64) {
		return nil, gb * math.Pow(3, float64(i)/float64(n)) * noise(rng, 0.1)
	}},
	{"doubles after half of the runs", func(rng *rand.Rand, i, n int) (sizing.Features, float64) {
		x := size(rng)
		return number("size", x), gb * math.Sqrt(x/1000) * float64(1+2*i/n) * noise(rng, 0.1)
	}},
	{"larger at weekends", func(rng *rand.Rand, i, _ int) (sizing.Features, float64) {
		day := start.AddDate(0, 0, i)
		peak := gb * noise(rng, 0.1)
		if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			peak *= 4
		}
		return sizing.Features{"day": sizing.TextValue(day.Format(time.DateOnly))}, peak
	}},
	{"few inputs, repeated", func(rng *rand.Rand, _, _ int) (sizing.Features, float64) {
		x := float64(1 + rng.IntN(30))
		return number("id", x), gb * (1 + math.Mod(x*7, 11)) * noise(rng, 0.02)
	}},
}

// modes draws a peak of about 1 GB with the probability `share`, and otherwise one that is larger by the factor `times`.
func modes(rng *rand.Rand, share, times float64) float64 {
	peak := gb * noise(rng, 0.05)
	if rng.Float64() >= share {
		peak *= times
	}
	return peak
}

func categories(n int) runFunc {
	return func(rng *rand.Rand, _, _ int) (sizing.Features, float64) {
		c := rng.IntN(n)
		f := sizing.Features{"customer": sizing.TextValue(fmt.Sprintf("c%03d", c))}
		return f, gb * (1 + float64(c*37%n)/float64(n)*9) * noise(rng, 0.05)
	}
}

var start = time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC)

// history generates one run per day, which takes an hour, with a request of 100 GB and a peak of at most 95 GB.
func (k kind) history(seed uint64, n, runs int) []sizing.Observation {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	task := sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "synthetic", Task: fmt.Sprintf("task-%02d", n)}
	all := make([]sizing.Observation, runs)
	for i := range all {
		features, peak := k.run(rng, i, runs)
		all[i] = sizing.Observation{
			Try:     sizing.TryKey{TaskKey: task, RunID: fmt.Sprintf("run-%04d", i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, StartedAt: start.AddDate(0, 0, i), Duration: time.Hour,
			Requested: sizing.Resources{Memory: 100e9}, MemoryMax: sizing.Bytes(math.Round(min(peak, 95e9))), Features: features,
		}
	}
	return all
}
