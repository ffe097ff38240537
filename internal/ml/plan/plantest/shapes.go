package plantest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// piecewise interpolates linearly between points (time, level). The times are shares of the run,
// and the levels are shares of the peak.
func piecewise(n int, points [][2]float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		at := float64(i) / float64(n)
		k := 0
		for k+2 < len(points) && points[k+1][0] <= at {
			k++
		}
		a, b := points[k], points[k+1]
		share := 1.0
		if b[0] > a[0] {
			share = math.Min(1, math.Max(0, (at-a[0])/(b[0]-a[0])))
		}
		out[i] = a[1] + share*(b[1]-a[1])
	}
	return out
}

// designed returns a generator of one of the usual shapes: plateau, ramp, late ramp, staircase,
// bursts or late spike.
func designed(rng *rand.Rand) generator {
	kind, at, low := rng.IntN(6), .2+.7*rng.Float64(), .1+.6*rng.Float64()
	steps := 2 + rng.IntN(4)
	return func(rng *rand.Rand, n int) []float64 {
		at := math.Min(.97, at*(1+.05*rng.NormFloat64()))
		switch kind {
		case 0: // a plateau after a short start
			return piecewise(n, [][2]float64{{0, .05}, {.03, .95}, {1, 1}})
		case 1:
			return piecewise(n, [][2]float64{{0, .05}, {1, 1}})
		case 2:
			return piecewise(n, [][2]float64{{0, .05}, {.02, low}, {at, low}, {1, 1}})
		case 3:
			return staircase(n, steps)
		case 4:
			return bursts(rng, n, low)
		}
		spike := piecewise(n, [][2]float64{{0, .05}, {.02, low}, {at, low}, {at + .005, 1}, {at + .03, 1}, {at + .031, low}, {1, low}})
		return spike
	}
}

func staircase(n, steps int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(1+i*steps/n) / float64(steps)
	}
	return out
}

// bursts returns a low level with eight short peaks at random times.
func bursts(rng *rand.Rand, n int, low float64) []float64 {
	out := piecewise(n, [][2]float64{{0, .05}, {.02, low}, {1, low}})
	for range 8 {
		from, high := rng.IntN(n), low+(1-low)*(.6+.4*rng.Float64())
		for i := from; i < min(n, from+15); i++ {
			out[i] = max(out[i], high)
		}
	}
	return out
}

// walk returns a generator of ascending series with random jumps. All runs of a task have the same
// jumps, at times that vary.
func walk(rng *rand.Rand) generator {
	jumps := 1 + rng.IntN(5)
	times, sizes := make([]float64, jumps), make([]float64, jumps)
	for i := range times {
		times[i], sizes[i] = rng.Float64(), math.Exp(rng.NormFloat64())
	}
	slices.Sort(times)
	slope, width := 2*rng.Float64(), .002+.05*rng.Float64()
	return func(rng *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		shift := 1 + .08*rng.NormFloat64()
		total := slope
		for _, s := range sizes {
			total += s
		}
		for i := range out {
			at := float64(i) / float64(n)
			level := slope * at
			for k := range times {
				level += sizes[k] * math.Min(1, math.Max(0, (at-times[k]*shift)/width))
			}
			out[i] = level / total
		}
		return out
	}
}

// modes returns a generator that draws each run with one of two generators: on average a fifth of the runs with the second
// one.
func modes(rng *rand.Rand) generator {
	usual, other := designed(rng), walk(rng)
	scale := .5 + 1.5*rng.Float64()
	return func(rng *rand.Rand, n int) []float64 {
		if rng.IntN(5) > 0 {
			return usual(rng, n)
		}
		out := other(rng, n)
		for i := range out {
			out[i] *= scale
		}
		return out
	}
}

// programs returns a generator that imitates a language runtime or program: a heap that doubles,
// garbage collection, saturating growth, or a program that loads, computes and writes.
func programs(rng *rand.Rand) generator {
	kind, rate := rng.IntN(4), 1+4*rng.Float64()
	return func(rng *rand.Rand, n int) []float64 {
		if kind == 3 { // load, compute, write
			return piecewise(n, [][2]float64{{0, .02}, {.1, .5}, {.6, .5}, {.6, .75}, {.9, .75}, {.95, 1}, {1, .6}})
		}
		out := make([]float64, n)
		heap := .03
		for i := range out {
			at := float64(i) / float64(n)
			used := .02 + .98*at
			switch kind {
			case 0: // a heap that doubles when it is full
				for heap < used {
					heap *= 2
				}
				out[i] = math.Min(heap, 1.05)
			case 1: // garbage collection between a live set and a threshold
				live := .1 + .4*at
				out[i] = live + (1-live)*.8*math.Mod(at*rate*20, 1)
			case 2: // saturation
				out[i] = (1 - math.Exp(-rate*2*at)) / (1 - math.Exp(-rate*2))
			}
		}
		return out
	}
}
