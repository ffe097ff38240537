package plantest

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// IrregularFamilies lists the families that imitate production series: uneven samples, gaps,
// missing CPU, tasks with 5 to 200 runs, and runs of about one minute to six hours. No constant of
// package plan was chosen on these families.
func IrregularFamilies() []string {
	return []string{"workflow", "services", "training", "drift", "spikes", "inputs", "flat"}
}

// IrregularRun is one run with uneven samples.
type IrregularRun struct {
	Task, ID string
	Seconds  []float64 // times of the samples; only their differences have a meaning
	Memory   []float64 // bytes
	CPU      []float64 // cores; NaN: unknown
}

type irregularTask struct {
	runs   int
	size   float64 // standard deviation of the size of the inputs, in log units
	step   float64 // seconds between samples
	gaps   bool    // some samples are missing, and after some samples a second sample has the same time
	blank  float64 // share of the samples without CPU
	memory irregularMemory
}

// irregularMemory draws the memory of a run in bytes, one value every Step seconds. `size` is the size of
// the run's input, about 1. `at` is the position of the run among the runs of the task, 0 to 1.
type irregularMemory func(rng *rand.Rand, size, at float64) []float64

// GenerateIrregular returns the runs of some tasks of a family. The runs of different tasks alternate
// in time, as they do in recorded series.
func GenerateIrregular(family string, tasks int, seed uint64) []IrregularRun {
	rng := rand.New(rand.NewPCG(seed, 0xf1e1d))
	var byTask [][]IrregularRun
	most := 0
	for t := range tasks {
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		runs := irregularRuns(newIrregularTask(family, t, own), fmt.Sprintf("%s-%02d", family, t), own)
		byTask, most = append(byTask, runs), max(most, len(runs))
	}
	var all []IrregularRun
	for i := range most {
		for _, runs := range byTask {
			// Tasks with fewer runs run less often. Their runs are spread over the whole result.
			if k := i * len(runs) / most; k != (i+1)*len(runs)/most {
				all = append(all, runs[k])
			}
		}
	}
	return all
}

func irregularRuns(t irregularTask, name string, rng *rand.Rand) []IrregularRun {
	var all []IrregularRun
	cores := []float64{.5, 1, 2, 4, 8}[rng.IntN(5)]
	for i := range t.runs {
		size := math.Exp(t.size * rng.NormFloat64())
		memory := t.memory(rng, size, float64(i)/float64(t.runs))
		r := IrregularRun{Task: name, ID: fmt.Sprintf("scheduled__%04d", i)}
		r.sample(rng, memory, cpu(rng, len(memory), cores), &t)
		all = append(all, r)
	}
	return all
}

// sample adds samples to the run. The arguments `memory` and `cores` have one value every Step seconds.
func (r *IrregularRun) sample(rng *rand.Rand, memory, cores []float64, t *irregularTask) {
	start := math.Round(1e5 * rng.Float64())
	until := -1.0 // end of a gap
	for now := 0.0; now < float64(len(memory)*Step); now += t.step {
		if t.gaps && rng.Float64() < .002 {
			until = now + 10 + 100*rng.Float64()
		}
		if now < until {
			continue
		}
		k := int(now / Step)
		used := cores[k]
		if rng.Float64() < t.blank {
			used = math.NaN()
		}
		r.add(start+now, memory[k], used)
		if t.gaps && rng.Float64() < .01 {
			r.add(start+now, memory[k]*(.98+.02*rng.Float64()), used)
		}
	}
}

func (r *IrregularRun) add(seconds, memory, cores float64) {
	r.Seconds, r.Memory, r.CPU = append(r.Seconds, seconds), append(r.Memory, math.Round(memory)), append(r.CPU, cores)
}

func newIrregularTask(family string, n int, rng *rand.Rand) irregularTask {
	t := irregularTask{
		runs: []int{5, 8, 12, 20, 40}[rng.IntN(5)], size: .05 + .3*rng.Float64(),
		step: []float64{2, 2, 2, 2, 4, 6, 10, 16}[rng.IntN(8)], gaps: rng.IntN(3) == 0,
	}
	if n%10 == 9 {
		t.runs = 200
	}
	if rng.IntN(4) == 0 {
		t.blank = []float64{.02, 1}[rng.IntN(2)]
	}
	peak, seconds := math.Exp(math.Log(3e9)+rng.NormFloat64()), 60*math.Exp(math.Log(360)*rng.Float64())
	if t.runs == 200 {
		seconds = min(seconds, 3000)
	}
	noise := .002 + .02*rng.Float64()
	draw := newIrregularShape(family, rng)
	t.memory = func(rng *rand.Rand, size, at float64) []float64 {
		all := draw(rng, seconds, size, at)
		for i, m := range all {
			all[i] = max(5e6, peak*m*(1+noise*(2*rng.Float64()-1)))
		}
		return all
	}
	return t
}
