package service

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// pastOfDAG collects the newest runs of a DAG.
type pastOfDAG struct {
	runs  map[string]*pastRun // by run id
	known []bool              // by task: whether its run time is known
	since time.Time           // older runs may miss tries, because the tries of a task that were read do not reach further back
}

// pastRun holds the tries of one run, which may still be in progress.
type pastRun struct {
	id         string
	start, end time.Time
	tasks      []pastTask // by task, up to the last one with a try
}

// pastTask holds what is known about a task in one run. The zero value is a task without a try.
type pastTask struct {
	succeeded, failed bool    // whether a try succeeded, and whether another try ended without success
	expected          float64 // predicted median of the longest run time of an instance, in seconds
	actual            float64 // longest run time of an instance, in seconds
}

// task returns what is known about the task with index i.
func (r *pastRun) task(i int) *pastTask {
	if i >= len(r.tasks) {
		r.tasks = append(r.tasks, make([]pastTask, i+1-len(r.tasks))...)
	}
	return &r.tasks[i]
}

// add adds the tries of the next task. `predicted` has one prediction for each success. It returns the
// median number of the task's mapped instances per run, or 1 without successes.
func (p *pastOfDAG) add(recent *sizing.History, predicted taskmodel.RunTimes) (instances int) {
	index := len(p.known)
	p.known = append(p.known, true)
	if n := len(recent.Rows); n >= forecastRows && recent.Rows[0].At.After(p.since) {
		p.since = recent.Rows[0].At
	}
	longest := map[string]taskmodel.RunTime{} // by run id: the instance with the largest LogSeconds
	seconds := map[string]float64{}           // by run id: the longest run time
	count := map[string]int{}                 // by run id: number of instances
	var order []string                        // run ids
	for i := range recent.Rows {
		r := &recent.Rows[i]
		run := p.runs[r.RunID]
		if run == nil {
			run = &pastRun{id: r.RunID, start: r.At}
			p.runs[r.RunID] = run
		}
		if r.Outcome != sizing.Success {
			run.task(index).failed = true
			continue
		}
		one := predicted[0]
		if predicted = predicted[1:]; r.Duration <= 0 {
			continue
		}
		if count[r.RunID]++; count[r.RunID] == 1 {
			order = append(order, r.RunID)
		}
		if count[r.RunID] == 1 || one.LogSeconds() > longest[r.RunID].LogSeconds() {
			longest[r.RunID] = one
		}
		seconds[r.RunID] = max(seconds[r.RunID], r.Duration.Seconds())
		if started := r.At.Add(-r.Duration); started.Before(run.start) {
			run.start = started
		}
		if r.At.After(run.end) {
			run.end = r.At
		}
	}
	var counts []int
	for _, id := range order {
		expected := taskmodel.RunTimes{longest[id]}.LevelTable(2, medianOfLongest(count[id]))
		t := p.runs[id].task(index)
		t.succeeded, t.expected, t.actual = true, expected[1], seconds[id]
		counts = append(counts, count[id])
	}
	if len(counts) == 0 {
		return 1
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// addUnknown adds the next task, whose run time is unknown.
func (p *pastOfDAG) addUnknown() { p.known = append(p.known, false) }

// complete returns the newest runs in which each task with a known run time succeeded or was skipped, at most pastRuns. A task
// was skipped, such as one on a branch that was not taken, if it had no try and a task downstream of it succeeded.
func (p *pastOfDAG) complete(tasks []forecast.Task) ([]*pastRun, error) {
	order, err := forecast.CheckStructure(tasks)
	if err != nil {
		return nil, err
	}
	index := make(map[string]int, len(tasks))
	for i := range tasks {
		index[tasks[i].ID] = i
	}
	hasEnded := make([]bool, len(tasks)) // whether a task downstream succeeded
	isComplete := func(run *pastRun) bool {
		clear(hasEnded)
		for _, i := range slices.Backward(order) {
			t := run.task(i)
			isSkipped := !t.failed && hasEnded[i] && run.start.After(p.since)
			if p.known[i] && !t.succeeded && !isSkipped {
				return false
			}
			for _, id := range tasks[i].Upstream {
				hasEnded[index[id]] = hasEnded[index[id]] || hasEnded[i] || t.succeeded
			}
		}
		return true
	}
	runs := slices.SortedFunc(maps.Values(p.runs), func(a, b *pastRun) int { return cmp.Or(b.end.Compare(a.end), cmp.Compare(a.id, b.id)) })
	var complete []*pastRun
	for _, run := range runs {
		if len(complete) < pastRuns && isComplete(run) {
			complete = append(complete, run)
		}
	}
	return complete, nil
}

// calibrate compares the durations of the newest complete runs with their expected durations. The
// duration is at least the critical path of the run times: a try that was reported without times counts as ended when its
// report arrived, so a run whose reports arrive together would otherwise seem too short. If there are enough runs, calibrate
// sets Ran of the tasks that some of them skipped.
func (p *pastOfDAG) calibrate(tasks []forecast.Task) (c forecast.Calibration, err error) {
	runs, err := p.complete(tasks)
	if err != nil {
		return c, err
	}
	expected, actual := make([]float64, len(tasks)), make([]float64, len(tasks))
	for _, run := range runs {
		for i := range tasks {
			expected[i], actual[i] = run.task(i).expected, run.task(i).actual
		}
		expectedEnd, err := criticalPath(tasks, expected)
		if err != nil {
			return c, err
		}
		actualEnd, err := criticalPath(tasks, actual)
		if err != nil {
			return c, err
		}
		c.Add(expectedEnd, max(actualEnd, run.end.Sub(run.start).Seconds()))
	}
	if !c.IsEnough() {
		return c, nil
	}
	for i := range tasks {
		if ran := func(run *pastRun) bool { return run.task(i).succeeded }; p.known[i] && slices.ContainsFunc(runs, func(run *pastRun) bool { return !ran(run) }) {
			for _, run := range runs {
				tasks[i].Ran = append(tasks[i].Ran, ran(run))
			}
		}
	}
	return c, nil
}

// criticalPath returns the seconds from the start to the end of a run in which each task starts when its upstream tasks have
// ended. `seconds` holds the run times of the tasks.
func criticalPath(tasks []forecast.Task, seconds []float64) (float64, error) {
	timed := slices.Clone(tasks)
	for i := range timed {
		timed[i].Quantile = fixed(seconds[i])
	}
	r, err := forecast.Simulate(timed, 0, 1)
	if err != nil {
		return 0, err
	}
	return r.Median, nil
}
