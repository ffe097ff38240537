// Package forecast simulates runs of a DAG to predict the end of a run and the memory that its tasks
// use at the same time. It draws the run time of every task (Monte Carlo simulation with a seed) and
// follows the dependencies, like the critical path method for fixed run times.
package forecast

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Bounds of a simulation.
const (
	MaxTasks   = 2000      // largest number of tasks of a DAG
	MaxEdges   = 20_000    // largest number of dependencies of a DAG
	usualDraws = 1000      // number of simulated runs if the caller gives none
	maxSteps   = 2_000_000 // largest product of draws and tasks; it allows usualDraws of MaxTasks tasks
	timeSteps  = 60        // number of times in Result.Footprint
)

// Task is one task of a DAG.
type Task struct {
	ID        string
	Upstream  []string                // ids of the tasks that must end before this task starts
	Instances int                     // number of mapped instances, which start together; zero counts as 1
	Quantile  func(u float64) float64 // quantile function of the run time of one instance, in seconds
	Median    func(u float64) float64 // quantile function of the median run time in seconds, which varies with the inputs that are unknown; for a mapped task, of the longest instance; only SimulateMedians uses it
	Memory    float64                 // memory of one instance, in bytes

	// A draw comes from one of several past runs. Each of the lists Ran, Counts and Memories has one element for each past run.

	Ran         []bool    // whether the task ran; nil: in all
	Counts      []int     // number of mapped instances, at least 1; nil: Instances in all
	Memories    []float64 // mean memory of an instance in a draw from the past run, in bytes; nil: Memory in all
	MedianScale []float64 // for each element of Counts, the factor of Median for this number of instances; nil: 1
	scale       []float64 // for each element of Counts, the factor of Quantile; nil: 1
}

// Result describes a run of the DAG. Its times are in seconds from the start of the run.
type Result struct {
	Median, P95 float64     // quantiles of the end of the run
	Tasks       []TaskTime  // in the order of the tasks given to Simulate
	Footprint   []Footprint // at timeSteps equally spaced times from 0 on, before P95
	Peak        Amounts     // largest memory at one time of a run
	Draws       int         // number of simulated runs
	ends        []float64   // end of each draw; ascending in a returned Result
	instances   []int       // number of instances, of all tasks, in each draw, in the order of `ends`; nil if no task has Counts
}

// TaskTime describes the times of a task, in seconds from the start of the run.
type TaskTime struct {
	ID           string
	Start, End   float64   // medians over the draws in which the task runs; over all draws if it runs in none
	EndP95       float64   // 95 % quantile over the same draws
	Critical     float64   // share of the draws in which the task is on the critical path
	Instances    int       // median over the draws of Start and End
	Memory       float64   // memory of all instances, in bytes; median over the draws of Start and End
	starts, ends []float64 // by draw
	counts       []int     // number of instances by draw; nil: Instances in all
	memories     []float64 // memory of all instances by draw, in bytes
	critical     int       // number of draws in which the task is on the critical path
}

// Footprint is the memory that the tasks of a run have at one time.
type Footprint struct {
	Seconds float64 // from the start of the run
	Amounts
}

// Amounts are quantiles of an amount of memory, in bytes.
type Amounts struct{ Median, P95 float64 }

// Quantile returns the q quantile of the end of the run.
func (r *Result) Quantile(q float64) float64 { return quantile(r.ends, q) }

// CheckStructure returns the indices of the tasks in topological order. It returns an error of kind
// Invalid for a repeated or an unknown id, a cycle, and more than MaxTasks tasks or MaxEdges dependencies.
func CheckStructure(tasks []Task) (order []int, err error) {
	index := make(map[string]int, len(tasks))
	edges := 0
	for i, t := range tasks {
		if _, isDuplicate := index[t.ID]; isDuplicate {
			return nil, sizing.InvalidField(fmt.Sprintf("tasks[%d].task_id", i), "%q is listed twice", t.ID)
		}
		index[t.ID] = i
		edges += len(t.Upstream)
	}
	if len(tasks) > MaxTasks || edges > MaxEdges {
		return nil, sizing.InvalidField("tasks", "has %d tasks and %d dependencies; at most %d tasks and %d dependencies are allowed", len(tasks), edges, MaxTasks, MaxEdges)
	}
	waiting, downstream := make([]int, len(tasks)), make([][]int, len(tasks))
	for i, t := range tasks {
		for _, id := range t.Upstream {
			from, known := index[id]
			if !known {
				return nil, sizing.InvalidField(fmt.Sprintf("tasks[%d].upstream", i), "%q is not a task of the DAG", id)
			}
			waiting[i]++
			downstream[from] = append(downstream[from], i)
		}
	}
	for i := range tasks {
		if waiting[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, i := range downstream[order[at]] {
			if waiting[i]--; waiting[i] == 0 {
				order = append(order, i)
			}
		}
	}
	if len(order) < len(tasks) {
		cycle := findCycle(tasks, index, waiting)
		return nil, sizing.InvalidField(fmt.Sprintf("tasks[%d].upstream", cycle[0]), "is part of a cycle: %s", describeCycle(tasks, cycle))
	}
	return order, nil
}

// findCycle returns the indices of the tasks of a cycle. The first index is the smallest, and each task is followed by a task
// upstream of it. `waiting` has for each task the number of its upstream tasks that are on a cycle or depend on one; `index` maps the ids
// to indices.
func findCycle(tasks []Task, index map[string]int, waiting []int) []int {
	upstream := func(i int) int {
		for _, id := range tasks[i].Upstream {
			if from := index[id]; waiting[from] > 0 {
				return from
			}
		}
		return i
	}
	at := slices.IndexFunc(waiting, func(n int) bool { return n > 0 })
	for range tasks { // the task `at` may not be on a cycle; after as many steps upstream as there are tasks, it is on one
		at = upstream(at)
	}
	cycle := []int{at}
	for i := upstream(at); i != at; i = upstream(i) {
		cycle = append(cycle, i)
	}
	first := slices.Index(cycle, slices.Min(cycle))
	return append(cycle[first:len(cycle):len(cycle)], cycle[:first]...)
}

const maxDescribed = 10 // largest number of steps of a cycle in an error

// describeCycle describes a cycle, such as "a" waits for "b", "b" waits for "a".
func describeCycle(tasks []Task, cycle []int) string {
	var steps []string
	for n, i := range cycle {
		if n == maxDescribed {
			return strings.Join(append(steps, "…"), ", ")
		}
		steps = append(steps, fmt.Sprintf("%q waits for %q", tasks[i].ID, tasks[cycle[(n+1)%len(cycle)]].ID))
	}
	return strings.Join(steps, ", ")
}

// Simulate simulates runs of a DAG. In each run the tasks that run are those of a random past run (Task.Ran), so that
// exclusive branches stay exclusive. Task.Counts and Task.Memories give the number of instances and the memory of a task in a
// draw from this past run. A task that does not run takes no time and no memory.
// `draws` is the number of runs; zero or less means usualDraws. Simulate reduces this number so that its product with the
// number of tasks is at most maxSteps.
func Simulate(tasks []Task, seed uint64, draws int) (*Result, error) {
	order, err := CheckStructure(tasks)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if len(tasks) == 0 {
		return &Result{}, nil
	}
	s := simulation{tasks: tasks, order: order, draws: min(cmp.Or(max(0, draws), usualDraws), maxSteps/len(tasks)), rng: rand.New(rand.NewPCG(seed, uint64(len(tasks))))}
	return s.run(), nil
}

// SimulateMedians simulates runs in which every task takes its median run time.
func SimulateMedians(tasks []Task, seed uint64, draws int) (*Result, error) {
	medians := slices.Clone(tasks)
	for i := range medians {
		medians[i].Quantile, medians[i].scale = medians[i].Median, medians[i].MedianScale
	}
	return Simulate(medians, seed, draws)
}
