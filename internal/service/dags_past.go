package service

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

type pastOfDAG struct {
	runs            map[string]*pastRun // by run id
	known           []bool              // by task: whether its run time is known
	instanceRunTime []taskmodel.RunTime // by task: the run time of one instance of the simulated run, if it is known
	since           time.Time           // the latest recentRuns.since of the tasks; some tries of a run that started earlier may be unread
	changed         time.Time           // when the structure of the DAG last changed; zero if no change is known
	first           []time.Time         // by task: the start of the first run with a counted try of the task; zero if it is unknown (setFirst)

	isTruncated []bool // by task: whether older tries were not read

	unknown      map[string]*pastRun // by run id: the times of the tasks without a known run time
	unknownSince time.Time           // the latest recentRuns.since of these tasks
	now          time.Time

	inputs sizing.Features // of the simulated run
}

// pastRun holds the tries of one run, which may still be in progress.
type pastRun struct {
	id         string
	start, end time.Time
	hasFailed  bool            // a try ended without success, or some tries of the run were not read
	tasks      []pastTask      // by task; may be shorter than the list of tasks, so read it with the method task
	inputs     sizing.Features // values of this run for the inputs that the simulated run sets; see addInputs
}

// pastTask holds what is known about a task in one run. Like store.TaskRun, it does not count a success with an unknown
// duration. The zero value is a task without a counted try.
type pastTask struct {
	succeeded bool    // a try with a known duration succeeded, and all tries of the run were read (TaskRun.IsPartial is false)
	isTried   bool    // a try was read, counted or not
	failed    bool    // a try ended without success, or some tries of the run were not read
	expected  float64 // predicted median of the longest run time of an instance, in seconds
	actual    float64 // longest run time of an instance, in seconds
	instances int     // number of instances that succeeded with a known duration (1 if the task is not mapped); 0 if succeeded is false
	memory    float64 // mean memory that an instance is granted in a draw from this run (taskForecast.grants), in bytes; 0: unknown, and setMemories uses forecast.Task.Memory
}

// hasTry reports whether a counted try was read: a failed one, or a success with a known duration.
func (t *pastTask) hasTry() bool { return t.succeeded || t.failed }

// task returns what is known about the task with index i. It extends r.tasks up to this index.
func (r *pastRun) task(i int) *pastTask {
	if i >= len(r.tasks) {
		r.tasks = append(r.tasks, make([]pastTask, i+1-len(r.tasks))...)
	}
	return &r.tasks[i]
}

// addRuns adds the past runs of the task with index i, a task with a known run time. It returns the median number of instances
// of the runs that were read fully and have instances. Without such a run, it returns the largest number of instances that were
// read of a run, or 1.
func (p *pastOfDAG) addRuns(i int, recent *recentRuns, f *taskForecast) (instances int) {
	p.known[i], p.isTruncated[i] = true, !recent.since.IsZero()
	if recent.since.After(p.since) {
		p.since = recent.since
	}
	var counts []int
	predicted := f.past
	partial := 1 // instances of the largest partial run
	for k := range recent.runs {
		r := &recent.runs[k]
		run := p.run(r)
		t := run.task(i)
		t.isTried, t.failed = true, r.HasFailed || r.IsPartial
		run.hasFailed = run.hasFailed || t.failed
		of := predicted[:len(recent.instances[k])]
		predicted = predicted[len(of):]
		if r.IsPartial {
			partial = max(partial, r.Instances)
		}
		if r.Instances == 0 || r.IsPartial {
			continue
		}
		longest := slices.MaxFunc(of, func(a, b taskmodel.RunTime) int { return cmp.Compare(a.LogSeconds(), b.LogSeconds()) })
		expected := taskmodel.RunTimes{longest}.LevelTable(2, medianOfLongest(r.Instances))
		*t = pastTask{isTried: true, succeeded: true, failed: t.failed, expected: expected[1], actual: r.Longest.Seconds(), instances: r.Instances}
		if f.grants != nil {
			t.memory = f.grants[k]
		}
		counts = append(counts, r.Instances)
	}
	p.addInputs(recent)
	if len(counts) == 0 {
		return partial
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// addUnknown adds the past runs of a task without a known run time.
func (p *pastOfDAG) addUnknown(recent *recentRuns) {
	for k := range recent.runs {
		r := &recent.runs[k]
		run := runOf(p.unknown, r.RunID, r.Start)
		run.extend(r.Start, r.End)
		run.hasFailed = run.hasFailed || r.HasFailed || r.IsPartial
	}
	if recent.since.After(p.unknownSince) {
		p.unknownSince = recent.since
	}
}

// includeUnknown extends the runs by the tries of the tasks without a known run time, after all tasks were added. These tasks
// take no time in the simulation, so only the ratios of the past ends contain the time before the first and after the last
// task with a known run time. A run that has only tries of unknown tasks cannot be compared, and is not added.
func (p *pastOfDAG) includeUnknown() {
	for id, run := range p.runs {
		if of := p.unknown[id]; of != nil {
			run.extend(of.start, of.end)
			run.hasFailed = run.hasFailed || of.hasFailed
		}
	}
}

func (p *pastOfDAG) run(r *store.TaskRun) *pastRun {
	run := runOf(p.runs, r.RunID, r.Start)
	run.extend(r.Start, r.End)
	return run
}

// runOf returns the run with an id; it adds a run with this start if there is none.
func runOf(runs map[string]*pastRun, id string, start time.Time) *pastRun {
	run := runs[id]
	if run == nil {
		run = &pastRun{id: id, start: start}
		runs[id] = run
	}
	return run
}

func (r *pastRun) extend(start, end time.Time) {
	if start.Before(r.start) {
		r.start = start
	}
	if end.After(r.end) {
		r.end = end
	}
}

func (p *pastOfDAG) newestFirst() []*pastRun {
	return slices.SortedFunc(maps.Values(p.runs), func(a, b *pastRun) int { return cmp.Or(b.end.Compare(a.end), cmp.Compare(a.id, b.id)) })
}

// startOfNewest returns the earliest start of the newest n runs, or zero if there are fewer runs.
func (p *pastOfDAG) startOfNewest(n int) (start time.Time) {
	if len(p.runs) < n {
		return start
	}
	for i, run := range p.newestFirst()[:n] {
		if i == 0 || run.start.Before(start) {
			start = run.start
		}
	}
	return start
}

// isIncomparable reports whether the end of a run cannot be compared with an expected end: the structure of the DAG changed
// later, or some tries of a task without a known run time may be unread.
func (p *pastOfDAG) isIncomparable(run *pastRun) bool {
	return !run.start.After(p.changed) || !run.start.After(p.unknownSince)
}

// setFirst sets `first`, after all tasks were added.
func (p *pastOfDAG) setFirst() {
	p.first = make([]time.Time, len(p.known))
	for _, run := range p.runs {
		for i := range run.tasks {
			if first := &p.first[i]; run.tasks[i].hasTry() && !p.isTruncated[i] && (first.IsZero() || run.start.Before(*first)) {
				*first = run.start
			}
		}
	}
}

// isAbsent reports whether a run has no counted try of the task with index i and started before the first run that has one.
// Such a run did not skip the task: probably the DAG did not have it yet.
func (p *pastOfDAG) isAbsent(run *pastRun, i int) bool {
	return !run.task(i).hasTry() && run.start.Before(p.first[i])
}

// longest returns the longest time from the start to the end of a run.
func (p *pastOfDAG) longest() (longest time.Duration) {
	for _, run := range p.runs {
		longest = max(longest, run.end.Sub(run.start))
	}
	return longest
}

// overAfter is the time since the last end of a try after which a run is over (isOver), in multiples of pastOfDAG.longest.
// A run in progress exceeds it only if one task takes twice as long as the longest run.
const overAfter = 2

// isOver reports whether a run without a failed try has ended, so that the tasks without a try will not run.
func (p *pastOfDAG) isOver(run *pastRun, longest time.Duration) bool {
	hasSucceeded := slices.ContainsFunc(run.tasks, func(t pastTask) bool { return t.succeeded })
	return hasSucceeded && !run.hasFailed && p.now.Sub(run.end) > overAfter*longest
}

// complete returns the newest runs in which each task with a known run time succeeded or was skipped, in order of time. A run
// skipped a task, such as one on a branch that was not taken, if the run started after p.since, the task has no counted try,
// and a task downstream of it succeeded. It also skipped a task without any try if it is over (isOver), such as the last task
// of the DAG. A run may lack tasks that are newer than the run (isAbsent).
func (p *pastOfDAG) complete(tasks []forecast.Task) ([]*pastRun, error) {
	order, err := forecast.CheckStructure(tasks)
	if err != nil {
		return nil, err
	}
	index := make(map[string]int, len(tasks))
	for i := range tasks {
		index[tasks[i].ID] = i
	}
	hasSuccessDownstream := make([]bool, len(tasks)) // whether a task downstream succeeded
	longest := p.longest()
	isComplete := func(run *pastRun) bool {
		clear(hasSuccessDownstream)
		isOver := p.isOver(run, longest)
		for _, i := range slices.Backward(order) {
			t := run.task(i)
			isUnused := !t.failed && hasSuccessDownstream[i] || !t.isTried && isOver
			isSkipped := isUnused && run.start.After(p.since) || p.isAbsent(run, i)
			if p.known[i] && !t.succeeded && !isSkipped {
				return false
			}
			for _, id := range tasks[i].Upstream {
				hasSuccessDownstream[index[id]] = hasSuccessDownstream[index[id]] || hasSuccessDownstream[i] || t.succeeded
			}
		}
		return true
	}
	var complete []*pastRun
	for _, run := range p.newestFirst() {
		if len(complete) < forecastRows && isComplete(run) {
			complete = append(complete, run)
		}
	}
	slices.Reverse(complete)
	return complete, nil
}
