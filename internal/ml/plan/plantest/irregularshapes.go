package plantest

import (
	"math"
	"math/rand/v2"
)

// irregularShape draws the memory of a run, one value every Step seconds. `seconds` is the approximate duration of a run
// with an input of size 1. The values are shares of the approximate peak of such a run. The comment of irregularMemory
// explains `size` and `at`.
type irregularShape func(rng *rand.Rand, seconds, size, at float64) []float64

func newIrregularShape(family string, rng *rand.Rand) irregularShape {
	switch family {
	case "workflow":
		return workflow(rng)
	case "services":
		return service(rng)
	case "training":
		return training(rng)
	case "drift":
		return drifting(rng)
	case "spikes":
		return spiking(rng)
	case "inputs":
		return inputs(rng)
	case "flat":
		return flat(rng)
	}
	panic("unknown family " + family)
}

func steps(seconds float64) int { return max(8, int(min(seconds, 6*3600)/Step)) }

// segment appends n values to the slice `all`, which go linearly from its last value to the level `to`. If the slice is
// empty, every value is `to`.
func segment(all []float64, n int, to float64) []float64 {
	from := to
	if len(all) > 0 {
		from = all[len(all)-1]
	}
	for i := range n {
		all = append(all, from+(to-from)*float64(i+1)/float64(n))
	}
	return all
}

func hold(all []float64, n int, level float64) []float64 {
	for range n {
		all = append(all, level)
	}
	return all
}

// workflow returns the shape of a program of a workflow, which loads an index or reference, streams its input, and
// sorts, merges or reports at the end. The duration of each phase varies from run to run.
func workflow(rng *rand.Rand) irregularShape {
	phases := 2 + rng.IntN(4)
	levels, shares, ramps := make([]float64, phases), make([]float64, phases), make([]bool, phases)
	most := 0.0
	for i := range levels {
		levels[i], shares[i], ramps[i] = .1+.9*rng.Float64(), .2+rng.Float64(), rng.IntN(2) == 0
		most = max(most, levels[i])
	}
	vary := .1 + .4*rng.Float64() // standard deviation of the log of the duration of a phase
	byInput := rng.Float64()
	return func(rng *rand.Rand, seconds, size, _ float64) []float64 {
		all := []float64{.01}
		for i := range levels {
			n := max(1, int(seconds*size*shares[i]/float64(phases)*math.Exp(vary*rng.NormFloat64())/Step))
			level := levels[i] / most * math.Pow(size, byInput*float64(i)/float64(phases))
			if ramps[i] {
				all = segment(all, n, level)
			} else {
				all = hold(segment(all, min(n, 3), level), n-min(n, 3), level)
			}
		}
		return all[:min(len(all), 3*3600)]
	}
}

// service returns the shape of a process with a garbage collector, with an allocator that never returns memory, or
// with a cache that fills.
func service(rng *rand.Rand) irregularShape {
	kind, cycles, live := rng.IntN(3), 5+60*rng.Float64(), .1+.4*rng.Float64()
	return func(rng *rand.Rand, seconds, size, _ float64) []float64 {
		all := make([]float64, steps(seconds*size))
		heap, next := live, 0.0
		for i := range all {
			at := float64(i) / float64(len(all))
			switch kind {
			case 0: // the threshold of the collector follows the live set
				base := live * (1 + at*size)
				all[i] = base * (1 + math.Mod(at*cycles, 1)) / (live * 4)
			case 1: // an allocator that grows in arenas at random times and returns nothing
				if at >= next {
					heap, next = heap*(1+.3*rng.Float64()), at+.02+.15*rng.ExpFloat64()
				}
				all[i] = min(heap, 1.2*size)
			default: // a cache that fills
				all[i] = live + (1-live)*(1-math.Exp(-at*cycles/8))
			}
		}
		return all
	}
}

// training returns the shape of the training of a model: loading, then epochs, each of which ends with an evaluation.
func training(rng *rand.Rand) irregularShape {
	load, epochs, base := .02+.15*rng.Float64(), 2+rng.IntN(20), .2+.4*rng.Float64()
	check, growth := rng.Float64()*(1-base), .3*rng.Float64()*base
	return func(rng *rand.Rand, seconds, size, _ float64) []float64 {
		n := steps(seconds * size)
		all := segment([]float64{.02}, int(load*float64(n)), base)
		epochs := max(1, epochs+rng.IntN(3)-1)
		per := max(4, (n-len(all))/epochs)
		for e := range epochs {
			level := base + growth*float64(e)/float64(epochs)
			all = hold(all, per-per/8, level)
			all = hold(all, max(2, per/8), level+check)
		}
		return all
	}
}

// drifting returns the shape of a workflow that changes after half of the runs: its memory or its duration grows, or the
// training of a model replaces it.
func drifting(rng *rand.Rand) irregularShape {
	before, after := workflow(rng), training(rng)
	kind, factor := rng.IntN(3), 1.2+.8*rng.Float64()
	return func(rng *rand.Rand, seconds, size, at float64) []float64 {
		if at < .5 {
			return before(rng, seconds, size, at)
		}
		if kind == 0 {
			return after(rng, seconds, size, at)
		}
		if kind == 1 {
			return before(rng, seconds*factor, size, at)
		}
		all := before(rng, seconds, size, at)
		for i := range all {
			all[i] *= factor
		}
		return all
	}
}

// spiking returns the shape of a constant level with sudden peaks of four seconds at random times.
func spiking(rng *rand.Rand) irregularShape {
	low, perHour := .1+.6*rng.Float64(), math.Exp(3*rng.Float64()-.5)
	return func(rng *rand.Rand, seconds, size, _ float64) []float64 {
		all := hold(segment([]float64{.02}, 5, low), steps(seconds*size), low)
		for i := range all {
			if rng.Float64() < perHour*Step/3600 {
				high := low + (1-low)*(.5+.5*rng.Float64())
				for k := i; k < min(len(all), i+2); k++ {
					all[k] = high
				}
			}
		}
		return all
	}
}

// inputs returns the shape of a program whose memory grows during a run up to a peak. The peak and the duration are
// proportional to the size of the input, with a factor that varies from run to run.
func inputs(rng *rand.Rand) irregularShape {
	spread, base, tail := .2+.3*rng.Float64(), .05+.2*rng.Float64(), rng.Float64()
	return func(rng *rand.Rand, seconds, size, _ float64) []float64 {
		size *= math.Exp(spread * rng.NormFloat64())
		n := steps(seconds * size * math.Exp(.1*rng.NormFloat64()))
		all := segment([]float64{base}, int(float64(n)*(1-.4*tail)), max(base, .6*size))
		return hold(all, int(float64(n)*.4*tail), .6*size)
	}
}

// flat returns the shape of a program without phases: its memory is constant after a short start.
func flat(rng *rand.Rand) irregularShape {
	start := 1 + rng.IntN(10)
	return func(rng *rand.Rand, seconds, size, _ float64) []float64 {
		return hold(segment([]float64{.02}, start, .9), steps(seconds*size), .9*math.Exp(.02*rng.NormFloat64()))
	}
}
