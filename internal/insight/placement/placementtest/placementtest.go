// Package placementtest generates runs of workflows on several machine types whose effect on each
// task is known, and compares the expectations of package placement with these effects.
package placementtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/placement"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Machines are the names of the machine types.
var Machines = []string{"a1", "a2", "b1", "b2", "c2", "n1", "n2"}

// machine has the speeds of one machine type relative to a typical one.
type machine struct{ cpu, disk, memory float64 }

// task is one task of a workflow. Its run time on a machine is the sum of the times of three kinds of
// work and a fixed time.
type task struct {
	key               sizing.TaskKey
	cpu, disk, memory float64 // seconds of work for an input of size 1 on a typical machine
	fixed             float64 // seconds
	power             float64 // exponent of the work as a power of the input
	noise             float64 // standard deviation of the log seconds
}

// seconds returns the run time without noise.
func (t *task) seconds(size float64, m machine) float64 {
	return t.fixed + math.Pow(size, t.power)*(t.cpu/m.cpu+t.disk/m.disk+t.memory/m.memory)
}

// Dataset is a set of generated runs.
type Dataset struct {
	Runs     []placement.Run // in order of time
	Samples  []string        // for each run the name of its sample: one run of each task of a workflow, all with the same input
	machines []machine
	tasks    []task
	hidden   []int // for each task the machine whose runs Evaluate hides
}

// Generate generates the runs of a number of workflows with 6 to 12 tasks each. Every sample of a
// workflow runs on one machine, and every machine gets two to five samples of each workflow. A machine
// may be fast for one kind of work and slow for another one.
func Generate(seed uint64, workflows int) *Dataset {
	rng := rand.New(rand.NewPCG(seed, 23))
	d := &Dataset{}
	for range Machines {
		general := .35 * rng.NormFloat64()
		speed := func() float64 { return math.Exp(general + .2*rng.NormFloat64()) }
		d.machines = append(d.machines, machine{speed(), speed(), speed()})
	}
	for w := range workflows {
		first := len(d.tasks)
		for k := range 6 + rng.IntN(7) {
			work := 20 * math.Exp(1.2*rng.NormFloat64())
			cpu, disk := rng.Float64(), .6*rng.Float64()
			d.tasks = append(d.tasks, task{
				key: sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: fmt.Sprintf("workflow_%d", w), Task: fmt.Sprintf("step_%02d", k)},
				cpu: work * cpu, disk: work * disk * (1 - cpu), memory: work * (1 - disk) * (1 - cpu), fixed: 2 * rng.Float64(), power: .4 + .8*rng.Float64(),
				noise: .03 + .15*rng.Float64(),
			})
			d.hidden = append(d.hidden, rng.IntN(len(Machines)))
		}
		d.runSamples(rng, w, d.tasks[first:])
	}
	return d
}

func (d *Dataset) runSamples(rng *rand.Rand, workflow int, tasks []task) {
	var order []int // machine of each sample
	for m := range Machines {
		for range 2 + rng.IntN(4) {
			order = append(order, m)
		}
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for sample, m := range order {
		size := math.Exp(.7 * rng.NormFloat64())
		for i := range tasks {
			t := &tasks[i]
			d.Runs = append(d.Runs, placement.Run{
				Task: t.key, Features: sizing.Features{"input_bytes": sizing.NumberValue(math.Round(1e9 * size))}, Placement: sizing.Placement{NodeType: Machines[m]},
				Seconds: t.seconds(size, d.machines[m]) * math.Exp(t.noise*rng.NormFloat64()),
			})
			d.Samples = append(d.Samples, fmt.Sprintf("w%d_s%03d", workflow, sample))
		}
	}
}

// Outcome compares the expected with the true factor from the median run time on one machine to that on
// another machine.
type Outcome struct{ Expected, True float64 }

// minDifference is the smallest absolute log factor from which on two machines differ clearly.
const minDifference = 0.05

// HasDirection reports whether the true run times on the two machines differ clearly.
func (o *Outcome) HasDirection() bool { return math.Abs(math.Log(o.True)) >= minDifference }

// IsRight reports whether the expected direction is the true one.
func (o *Outcome) IsRight() bool { return o.Expected > 1 == (o.True > 1) }

// Error returns the error of the expected factor, relative to the true one.
func (o *Outcome) Error() float64 { return math.Abs(o.Expected/o.True - 1) }

// Evaluate hides the runs of each task on one machine, learns all other runs, and compares the expected
// change from every other machine to the hidden one with the true change.
func (d *Dataset) Evaluate() (outcomes []Outcome) {
	hidden := map[sizing.TaskKey]string{}
	for i := range d.tasks {
		hidden[d.tasks[i].key] = Machines[d.hidden[i]]
	}
	var known []placement.Run
	byTask := map[sizing.TaskKey][]placement.Run{}
	models := map[sizing.TaskKey]*taskmodel.Model{}
	for i := range d.Runs {
		r := d.Runs[i]
		if r.Placement.NodeType == hidden[r.Task] {
			continue
		}
		known, byTask[r.Task] = append(known, r), append(byTask[r.Task], r)
		if models[r.Task] == nil {
			models[r.Task] = taskmodel.New()
		}
		models[r.Task].Learn(taskmodel.TrainingRow{
			Seq: int64(i + 1), Features: r.Features, Outcome: sizing.Success, Censoring: sizing.Exact, Peak: 1e9,
			Duration: time.Duration(r.Seconds * float64(time.Second)), FirstTry: true, Try: 1, Run: uint64(i + 1),
		})
	}
	effects := placement.Fit(known)
	for i := range d.tasks {
		t := &d.tasks[i]
		for from := range Machines {
			if from == d.hidden[i] {
				continue
			}
			runs := byTask[t.key]
			x, ok := effects.Expect(models[t.key], runs, &placement.Change{From: Machines[from], To: sizing.Placement{NodeType: hidden[t.key]}})
			if !ok {
				continue
			}
			o := Outcome{x.After.Median / x.Before.Median, d.trueMedian(t, runs, d.hidden[i]) / d.trueMedian(t, runs, from)}
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

func (d *Dataset) trueMedian(t *task, runs []placement.Run, m int) float64 {
	seconds := make([]float64, 0, len(runs))
	for i := range runs {
		seconds = append(seconds, t.seconds(runs[i].Features["input_bytes"].Num/1e9, d.machines[m]))
	}
	slices.Sort(seconds)
	return seconds[len(seconds)/2]
}
