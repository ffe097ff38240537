package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

type simulation struct {
	tasks    []Task
	order    []int   // indices of the tasks in topological order
	upstream [][]int // for each task the indices of its upstream tasks
	draws    int
	rng      *rand.Rand
	pastRuns int      // length of the lists Task.Ran, Task.Counts and Task.Memories; 0 without lists
	ran      [][]bool // for each task whether it runs, by draw; nil if it runs in all draws
	result   Result
	peaks    []float64 // largest memory of each draw
	events   []event   // reused by peak
}

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
		s.pastRuns = max(s.pastRuns, len(t.Ran), len(t.Counts), len(t.Memories))
		s.result.Tasks[i] = TaskTime{ID: t.ID, Instances: max(1, t.Instances)}
	}
	for range s.draws {
		s.draw()
	}
	return s.summarise()
}

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
		instances, scale := s.drawInstances(i, past)
		// The u quantile of the longest of n independent instances is the u^(1/n) quantile of one instance.
		u := math.Pow(s.rng.Float64(), 1/float64(instances))
		times[i].starts = append(times[i].starts, start)
		duration := max(0, scale*s.tasks[i].Quantile(u))
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

// drawInstances returns the number of instances of the task i in a draw from the past run with the index `past`, and
// the factor of the task's run time. It also records the instances and their memory in the result.
func (s *simulation) drawInstances(i, past int) (instances int, scale float64) {
	t, times := &s.tasks[i], &s.result.Tasks[i]
	instances, scale = times.Instances, 1
	memory := t.Memory
	if t.Counts != nil {
		instances = max(1, t.Counts[past])
		times.counts = append(times.counts, instances)
	}
	if t.scale != nil {
		scale = t.scale[past]
	}
	if t.Memories != nil {
		memory = t.Memories[past]
	}
	times.memories = append(times.memories, memory*float64(instances))
	return instances, scale
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

func (s *simulation) peak() float64 {
	s.events = s.events[:0]
	for i := range s.result.Tasks {
		t := &s.result.Tasks[i]
		memory := newest(t.memories)
		s.events = append(s.events, event{newest(t.starts), memory}, event{newest(t.ends), -memory})
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

func (s *simulation) memoryAt(draw int, at float64) float64 {
	sum := 0.0
	for i := range s.result.Tasks {
		if t := &s.result.Tasks[i]; t.starts[draw] <= at && at < t.ends[draw] {
			sum += t.memories[draw]
		}
	}
	return sum
}

func (s *simulation) summarise() *Result {
	r := &s.result
	used := make([]float64, s.draws)
	sortedEnds := slices.Sorted(slices.Values(r.ends))
	r.instances = s.countInstances()
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
		if counts := withoutSkipped(t.counts, s.ran[i]); counts != nil {
			slices.Sort(counts)
			t.Instances = quantile(counts, .5)
		}
		memories := withoutSkipped(t.memories, s.ran[i])
		slices.Sort(memories)
		t.Memory = quantile(memories, .5)
		t.starts, t.ends, t.counts, t.memories = nil, nil, nil, nil
	}
	r.ends = sortedEnds
	return r
}

// countInstances returns the number of instances that run in each draw, in ascending order of the ends of the draws; nil if
// no task has Counts.
func (s *simulation) countInstances() []int {
	if !slices.ContainsFunc(s.tasks, func(t Task) bool { return t.Counts != nil }) {
		return nil
	}
	byDraw := make([]int, s.draws)
	for i := range s.result.Tasks {
		t := &s.result.Tasks[i]
		for d := range byDraw {
			switch {
			case s.ran[i] != nil && !s.ran[i][d]:
			case t.counts != nil:
				byDraw[d] += t.counts[d]
			default:
				byDraw[d] += t.Instances
			}
		}
	}
	order := make([]int, s.draws)
	for d := range order {
		order[d] = d
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.result.ends[a], s.result.ends[b]) })
	for k, d := range order {
		order[k] = byDraw[d]
	}
	return order
}

// withoutSkipped returns the values of the draws in which a task runs; all values if the task runs in all or in no draws. It
// reuses the memory of `byDraw`.
func withoutSkipped[T any](byDraw []T, ran []bool) []T {
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

// quantile returns the q quantile of ascending values, without interpolation; 0 without values.
func quantile[T int | float64](sorted []T, q float64) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
