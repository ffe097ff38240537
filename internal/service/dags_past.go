package service

import (
	"cmp"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// pastOfDAG collects the newest runs of a DAG.
type pastOfDAG struct {
	runs  map[string]*pastRun // by run id
	tasks int                 // number of tasks of the DAG
	added int                 // number of tasks added so far
}

// pastRun holds the successes of one run, which may still be in progress. Its slices have one element for each task before
// the first task without a success. calibrate uses only runs in which all tasks succeeded.
type pastRun struct {
	id         string
	start, end time.Time
	expected   []float64 // predicted median of the longest run time of an instance of each task, in seconds
	actual     []float64 // longest run time of an instance of each task, in seconds
}

// add adds the successes of the next task with their predictions, one for each success. It returns the
// median number of the task's mapped instances per run, or 1 without successes.
func (p *pastOfDAG) add(recent *sizing.History, predicted taskmodel.RunTimes) (instances int) {
	longest := map[string]taskmodel.RunTime{} // by run id: the instance with the largest LogSeconds
	seconds := map[string]float64{}           // by run id: the longest run time
	count := map[string]int{}                 // by run id: number of instances
	var order []string                        // run ids
	for i := range recent.Rows {
		r := &recent.Rows[i]
		if r.Outcome != sizing.Success {
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
		run := p.runs[r.RunID]
		if run == nil {
			run = &pastRun{id: r.RunID, start: r.At}
			p.runs[r.RunID] = run
		}
		if started := r.At.Add(-r.Duration); started.Before(run.start) {
			run.start = started
		}
		if r.At.After(run.end) {
			run.end = r.At
		}
	}
	var counts []int
	for _, id := range order {
		if run := p.runs[id]; len(run.expected) == p.added {
			expected := taskmodel.RunTimes{longest[id]}.LevelTable(2, medianOfLongest(count[id]))
			run.expected, run.actual = append(run.expected, expected[1]), append(run.actual, seconds[id])
		}
		counts = append(counts, count[id])
	}
	p.added++
	if len(counts) == 0 {
		return 1
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// calibrate compares the durations of the newest runs in which all tasks succeeded with their expected durations. The
// duration is at least the critical path of the run times: a try that was reported without times counts as ended when its
// report arrived, so a run whose reports arrive together would otherwise seem too short.
func (p *pastOfDAG) calibrate(tasks []forecast.Task) (c forecast.Calibration, err error) {
	var complete []*pastRun
	for _, run := range p.runs {
		if len(run.expected) == p.tasks {
			complete = append(complete, run)
		}
	}
	slices.SortFunc(complete, func(a, b *pastRun) int { return cmp.Or(b.end.Compare(a.end), cmp.Compare(a.id, b.id)) })
	for _, run := range complete[:min(len(complete), pastRuns)] {
		expected, err := criticalPath(tasks, run.expected)
		if err != nil {
			return c, err
		}
		actual, err := criticalPath(tasks, run.actual)
		if err != nil {
			return c, err
		}
		c.Add(expected, max(actual, run.end.Sub(run.start).Seconds()))
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
