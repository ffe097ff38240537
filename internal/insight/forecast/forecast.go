// Package forecast simulates runs of a DAG to predict the end of a run and the memory that its tasks
// use at the same time. It draws the run time of every task (Monte Carlo simulation with a seed) and
// follows the dependencies, like the critical path method for fixed run times.
package forecast

import (
	"cmp"
	"fmt"
	"math"
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
	Median    func(u float64) float64 // quantile function of the median run time, which differs with inputs that are unknown; for SimulateMedians
	Memory    float64                 // memory of one instance, in bytes
	Ran       []bool                  // whether the task ran in each of some past runs of the DAG; nil: in all. The lists of all tasks have the same length
}

// Result describes a run of the DAG. Its times are in seconds from the start of the run.
type Result struct {
	Median, P95 float64     // quantiles of the end of the run
	Tasks       []TaskTime  // in the order of the tasks given to Simulate
	Footprint   []Footprint // at timeSteps equally spaced times from 0 on, before P95
	Peak        Amounts     // largest memory at one time of a run
	Draws       int         // number of simulated runs
	ends        []float64   // end of each draw; ascending in a returned Result
}

// TaskTime describes the times of a task, in seconds from the start of the run.
type TaskTime struct {
	ID           string
	Start, End   float64 // medians over the draws in which the task runs; over all draws if it runs in none
	EndP95       float64 // 95 % quantile over the same draws
	Critical     float64 // share of the draws in which the task is on the critical path
	Instances    int
	Memory       float64   // memory of all instances, in bytes
	starts, ends []float64 // by draw
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

// findCycle returns the indices of the tasks of a cycle, each followed by a task upstream of it, from the smallest index
// on. `waiting` has for each task the number of its upstream tasks that are on a cycle or depend on one; `index` maps the ids
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

// maxDescribed is the number of tasks of a cycle that an error names.
const maxDescribed = 10

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
// exclusive branches stay exclusive. A task that does not run takes no time and no memory. `draws` is the number of runs; zero or less means usualDraws. Simulate
// reduces this number so that its product with the number of tasks is at most maxSteps.
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
		medians[i].Quantile = medians[i].Median
	}
	return Simulate(medians, seed, draws)
}

// simulation holds the state of one Simulate.
type simulation struct {
	tasks    []Task
	order    []int   // indices of the tasks in topological order
	upstream [][]int // for each task the indices of its upstream tasks
	draws    int     // number of runs to simulate
	rng      *rand.Rand
	pastRuns int      // length of the lists Task.Ran; 0 if all tasks run in all runs
	ran      [][]bool // for each task whether it runs, by draw; nil if it runs in all draws
	result   Result
	peaks    []float64 // largest memory of each draw
	events   []event   // reused by peak
}

// run draws all runs and returns the result.
func (s *simulation) run() *Result {
	index := map[string]int{}
	for i, t := range s.tasks {
		index[t.ID] = i
	}
	s.upstream = make([][]int, len(s.tasks))
	s.result.Tasks = make([]TaskTime, len(s.tasks))
	s.result.Draws = s.draws
	s.ran = make([][]bool, len(s.tasks))
	for i, t := range s.tasks {
		for _, id := range t.Upstream {
			s.upstream[i] = append(s.upstream[i], index[id])
		}
		s.pastRuns = max(s.pastRuns, len(t.Ran))
		instances := max(1, t.Instances)
		s.result.Tasks[i] = TaskTime{ID: t.ID, Instances: instances, Memory: t.Memory * float64(instances)}
	}
	for range s.draws {
		s.draw()
	}
	return s.summarise()
}

// draw simulates one run.
func (s *simulation) draw() {
	times, end, last, past := s.result.Tasks, 0.0, 0, 0
	if s.pastRuns > 0 {
		past = s.rng.IntN(s.pastRuns)
	}
	for _, i := range s.order {
		start := 0.0
		for _, from := range s.upstream[i] {
			start = max(start, newest(times[from].ends))
		}
		// The u quantile of the longest of n independent instances is the u^(1/n) quantile of one instance.
		u := math.Pow(s.rng.Float64(), 1/float64(times[i].Instances))
		times[i].starts = append(times[i].starts, start)
		duration := max(0, s.tasks[i].Quantile(u))
		if ran := s.tasks[i].Ran; ran != nil {
			s.ran[i] = append(s.ran[i], ran[past])
			if !ran[past] {
				duration = 0
			}
		}
		times[i].ends = append(times[i].ends, start+duration)
		if e := newest(times[i].ends); e >= end {
			end, last = e, i
		}
	}
	s.result.ends = append(s.result.ends, end)
	s.markCritical(last)
	s.peaks = append(s.peaks, s.peak())
}

// newest returns the value of the newest draw; `byDraw` has one value for each draw.
func newest(byDraw []float64) float64 { return byDraw[len(byDraw)-1] }

// markCritical counts the tasks on the critical path of the newest draw, from its last task i back to
// its first one.
func (s *simulation) markCritical(i int) {
	times := s.result.Tasks
	for {
		times[i].critical++
		next := -1
		for _, from := range s.upstream[i] {
			if newest(times[from].ends) == newest(times[i].starts) {
				next = from
				break
			}
		}
		if next < 0 {
			return
		}
		i = next
	}
}

// peak returns the largest memory, in bytes, that the tasks of the newest draw have at one time.
func (s *simulation) peak() float64 {
	s.events = s.events[:0]
	for i := range s.result.Tasks {
		t := &s.result.Tasks[i]
		s.events = append(s.events, event{newest(t.starts), t.Memory}, event{newest(t.ends), -t.Memory})
	}
	// If a task ends when another one starts, its memory is freed first.
	slices.SortFunc(s.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.bytes, b.bytes)) })
	sum, most := 0.0, 0.0
	for _, e := range s.events {
		sum += e.bytes
		most = max(most, sum)
	}
	return most
}

// event is a change of the memory in use at the time `at`: positive `bytes` are added, and negative ones are freed.
type event struct{ at, bytes float64 }

// memoryAt returns the memory in use in a draw at a time, in bytes.
func (s *simulation) memoryAt(draw int, at float64) float64 {
	sum := 0.0
	for i := range s.result.Tasks {
		if t := &s.result.Tasks[i]; t.starts[draw] <= at && at < t.ends[draw] {
			sum += t.Memory
		}
	}
	return sum
}

// summarise computes the quantiles over all draws.
func (s *simulation) summarise() *Result {
	r := &s.result
	used := make([]float64, s.draws)
	sortedEnds := slices.Sorted(slices.Values(r.ends))
	r.Median, r.P95 = quantile(sortedEnds, .5), quantile(sortedEnds, .95)
	for k := range timeSteps {
		at := r.P95 * float64(k) / timeSteps
		for d := range used {
			used[d] = s.memoryAt(d, at)
		}
		slices.Sort(used)
		r.Footprint = append(r.Footprint, Footprint{at, Amounts{quantile(used, .5), quantile(used, .95)}})
	}
	slices.Sort(s.peaks)
	r.Peak = Amounts{quantile(s.peaks, .5), quantile(s.peaks, .95)}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		t.starts, t.ends = withoutSkipped(t.starts, s.ran[i]), withoutSkipped(t.ends, s.ran[i])
		slices.Sort(t.starts)
		slices.Sort(t.ends)
		t.Start, t.End, t.EndP95 = quantile(t.starts, .5), quantile(t.ends, .5), quantile(t.ends, .95)
		t.Critical = float64(t.critical) / float64(s.draws)
		t.starts, t.ends = nil, nil
	}
	r.ends = sortedEnds
	return r
}

// withoutSkipped returns the values of the draws in which a task runs; all values if it runs in all or in no draws.
func withoutSkipped(byDraw []float64, ran []bool) []float64 {
	if !slices.Contains(ran, true) {
		return byDraw
	}
	values := byDraw[:0]
	for d, v := range byDraw {
		if ran[d] {
			values = append(values, v)
		}
	}
	return values
}

// quantile returns the q quantile of ascending values, one of the values; 0 without values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
