package service

import (
	"slices"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
)

// calibrate compares the durations of the newest complete runs since the last change of the structure with their expected
// durations. The duration is at least the critical path of the run times: a try that was reported without times counts as
// ended when its report arrived, so a run whose reports arrive together would otherwise seem too short. It sets the lists of
// the tasks (setDraws).
func (p *pastOfDAG) calibrate(tasks []forecast.Task) (c forecast.Calibration, err error) {
	p.setFirst()
	runs, err := p.complete(tasks)
	if err != nil {
		return c, err
	}
	expected, actual := make([]float64, len(tasks)), make([]float64, len(tasks))
	var unchanged []*pastRun
	for _, run := range runs {
		if p.isBeforeChange(run) {
			continue
		}
		unchanged = append(unchanged, run)
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
		c.Add(expectedEnd, max(actualEnd, run.end.Sub(run.start).Seconds()), run.instances())
	}
	if c.IsEnough() {
		runs = unchanged
	}
	p.setDraws(tasks, runs)
	return c, nil
}

// setDraws sets the lists of the tasks from the runs that a draw comes from, in order of time. If these are enough, a draw
// comes only from those whose inputs decide on the same branches, and setDraws sets Ran of the tasks that some of them
// skipped. Otherwise the newest runs of the DAG replace them, and all tasks run in all draws.
func (p *pastOfDAG) setDraws(tasks []forecast.Task, runs []*pastRun) {
	isEnough := len(runs) >= forecast.MinCalibration
	if isEnough {
		runs = p.alike(tasks, runs)
	} else {
		runs = p.newestFirst()
		runs = runs[:min(pastRuns, len(runs))]
		slices.Reverse(runs)
	}
	p.setCounts(tasks, runs)
	p.setMemories(tasks, runs)
	for i := range tasks {
		if ran := p.ran(i, runs); isEnough && p.known[i] && slices.Contains(ran, false) {
			tasks[i].Ran = ran
		}
	}
}

// alike returns the runs that show which tasks the simulated run runs (forecast.Alike).
func (p *pastOfDAG) alike(tasks []forecast.Task, runs []*pastRun) (alike []*pastRun) {
	var varied [][]bool // whether a task ran, for the tasks that some of the runs skipped
	for i := range tasks {
		if ran := p.ran(i, runs); p.known[i] && slices.Contains(ran, true) && slices.Contains(ran, false) {
			varied = append(varied, ran)
		}
	}
	for k, isAlike := range forecast.Alike(varied, inputsOf(runs), p.inputs) {
		if isAlike {
			alike = append(alike, runs[k])
		}
	}
	return alike
}

// inputsOf returns the inputs of runs.
func inputsOf(runs []*pastRun) []sizing.Features {
	inputs := make([]sizing.Features, len(runs))
	for k, run := range runs {
		inputs[k] = run.inputs
	}
	return inputs
}

// ran returns whether the task with index i ran in each of the runs. In place of runs from which the task is absent, it counts
// the other runs again, in their order.
func (p *pastOfDAG) ran(i int, runs []*pastRun) []bool {
	var known []bool
	for _, run := range runs {
		if !p.isAbsent(run, i) {
			known = append(known, run.task(i).succeeded)
		}
	}
	ran := make([]bool, len(runs))
	at := 0
	for k, run := range runs {
		if ran[k] = run.task(i).succeeded; p.isAbsent(run, i) {
			ran[k] = len(known) == 0 || known[at%len(known)]
			at++
		}
	}
	return ran
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

// setMemories sets the memory of the tasks whose memory differs between the past runs that a draw comes from.
func (p *pastOfDAG) setMemories(tasks []forecast.Task, runs []*pastRun) {
	for i := range tasks {
		t := &tasks[i]
		memories := make([]float64, len(runs))
		for k, run := range runs {
			memories[k] = run.task(i).memory
		}
		memories = forecast.AtPresentLevel(memories)
		for k := range memories {
			if memories[k] == 0 { // the run skipped the task, or not all of its tries were read
				memories[k] = t.Memory
			}
		}
		if slices.ContainsFunc(memories, func(bytes float64) bool { return bytes != t.Memory }) {
			t.Memories = memories
		}
	}
}
