// Package plantest generates series of runs whose memory grows in many ways, to design and
// evaluate plans. The same seed gives the same series.
package plantest

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Run is one run, sampled every two seconds.
type Run struct {
	Task, ID string
	Memory   []float64 // bytes
	CPU      []float64 // cores
}

// Step is the time between two samples, in seconds.
const Step = 2

// Families lists the families of generators. The rules of package plan were designed on the family
// "design". The constants of these rules were chosen on all these families with seeds 0 to 3.
func Families() []string { return []string{"design", "walks", "modes", "programs"} }

// generator draws the memory of one run of n samples, in units of the usual peak of the task.
type generator func(rng *rand.Rand, n int) []float64

// Generate returns the runs of some tasks, task by task. The runs of a task are in order of time.
func Generate(family string, tasks, runs int, seed uint64) []Run {
	rng := rand.New(rand.NewPCG(seed, 0x9e37))
	var all []Run
	for t := range tasks {
		name := fmt.Sprintf("%s-%02d", family, t)
		all = append(all, task(family, name, runs, rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())))...)
	}
	return all
}

func task(family, name string, runs int, rng *rand.Rand) []Run {
	peak := math.Exp(math.Log(2e9) + 1.1*rng.NormFloat64())
	seconds := math.Exp(math.Log(1500) + .8*rng.NormFloat64())
	inputs := []float64{.03, .1, .25, .5}[rng.IntN(4)] // standard deviation of the log of the size of the inputs
	power := rng.Float64()                             // the peak is proportional to the size to this power
	noise := .003 + .02*rng.Float64()
	generate := newGenerator(family, rng)
	cores := []float64{.9, 1, 2, 4, 8}[rng.IntN(5)]
	var all []Run
	for i := range runs {
		size := inputs * rng.NormFloat64()
		n := int(seconds * math.Exp(size+.1*rng.NormFloat64()) / Step)
		scale := peak * math.Exp(power*size+.02*rng.NormFloat64())
		r := Run{Task: name, ID: fmt.Sprintf("run-%03d", i)}
		r.Memory = generate(rng, max(n, 5))
		for j, m := range r.Memory {
			r.Memory[j] = math.Round(scale * math.Max(.002, m) * (1 + noise*(2*rng.Float64()-1)))
		}
		r.CPU = cpu(rng, len(r.Memory), cores)
		all = append(all, r)
	}
	return all
}

// cpu draws the CPU use of n samples: phases of busy and of idle cores.
func cpu(rng *rand.Rand, n int, cores float64) []float64 {
	used := make([]float64, 0, n)
	for len(used) < n {
		level := []float64{.1, .5, 1, 1}[rng.IntN(4)] * cores
		for range min(n-len(used), 15+rng.IntN(n/3+15)) {
			used = append(used, math.Max(0, level*(1+.15*rng.NormFloat64())))
		}
	}
	return used
}

func newGenerator(family string, rng *rand.Rand) generator {
	switch family {
	case "design":
		return designed(rng)
	case "walks":
		return walk(rng)
	case "modes":
		return modes(rng)
	case "programs":
		return programs(rng)
	}
	panic("unknown family " + family)
}
