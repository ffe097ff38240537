package service

import (
	"slices"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
)

// pastEnd holds the end of a past run, in seconds from its start.
type pastEnd struct{ expected, actual float64 }

// calibrate compares the ends of the newest complete runs since the last change of the structure with their expected
// ends. If some inputs clearly separate the runs with a high ratio of the two ends from the other runs, and at least
// forecast.MinCalibration runs are like the simulated run in these inputs (similarRuns), calibrate uses only these runs. It
// also sets Ran, Counts, MedianScale and Memories of the tasks (setDraws).
func (p *pastOfDAG) calibrate(tasks []forecast.Task) (c forecast.Calibration, err error) {
	p.includeUnknown()
	p.setFirst()
	runs, err := p.complete(tasks)
	if err != nil {
		return c, err
	}
	unchanged := slices.DeleteFunc(slices.Clone(runs), p.isIncomparable)
	ends, isLong, err := compareEnds(tasks, unchanged)
	if err != nil {
		return c, err
	}
	similar := p.similarRuns(unchanged, [][]bool{isLong})
	if len(similar) < forecast.MinCalibration {
		similar = unchanged
	}
	for _, run := range newest(similar) {
		c.Add(ends[run].expected, ends[run].actual, run.instances())
	}
	if c.IsEnough() {
		runs = unchanged
	}
	p.setDraws(tasks, runs)
	return c, nil
}

// compareEnds returns the ends of the runs, and for which of them the ratio of the actual to the expected end is above the
// median. An actual end is at least the critical path of the run times: a try that was reported without times counts as ended
// when its report arrived, so a run whose reports arrive together would otherwise seem too short.
func compareEnds(tasks []forecast.Task, runs []*pastRun) (ends map[*pastRun]pastEnd, isLong []bool, err error) {
	ends = make(map[*pastRun]pastEnd, len(runs))
	ratios, expected, actual := make([]float64, len(runs)), make([]float64, len(tasks)), make([]float64, len(tasks))
	for k, run := range runs {
		for i := range tasks {
			expected[i], actual[i] = run.task(i).expected, run.task(i).actual
		}
		var end pastEnd
		if end.expected, err = criticalPath(tasks, expected); err != nil {
			return nil, nil, err
		}
		if end.actual, err = criticalPath(tasks, actual); err != nil {
			return nil, nil, err
		}
		end.actual = max(end.actual, run.end.Sub(run.start).Seconds())
		ends[run], ratios[k] = end, end.actual/max(1e-3, end.expected)
	}
	sorted := slices.Sorted(slices.Values(ratios))
	for _, ratio := range ratios {
		isLong = append(isLong, ratio > sorted[len(sorted)/2])
	}
	return ends, isLong, nil
}

// newest returns the last pastRuns of `runs`, which are in order of time.
func newest(runs []*pastRun) []*pastRun { return runs[max(0, len(runs)-pastRuns):] }

// setDraws selects the past runs from which draws come, and sets Ran, Counts, MedianScale and Memories of the
// tasks. `runs` are complete runs in order of time. If there are at least forecast.MinCalibration of them, draws come from the
// newest of those whose inputs lead to the same branches as in the simulated run (similarRuns), and setDraws sets Ran of the
// tasks that some of these runs skipped. If there are fewer, draws come from the newest runs of the DAG, complete or not, and
// all tasks run in all draws.
func (p *pastOfDAG) setDraws(tasks []forecast.Task, runs []*pastRun) {
	isEnough := len(runs) >= forecast.MinCalibration
	if isEnough {
		runs = newest(p.similarRuns(runs, p.branches(tasks, runs)))
	} else {
		runs = p.newestFirst()
		slices.Reverse(runs)
		runs = newest(runs)
	}
	p.setCounts(tasks, runs)
	p.setMemories(tasks, runs)
	for i := range tasks {
		if ran := p.ran(i, runs); isEnough && p.known[i] && slices.Contains(ran, false) {
			tasks[i].Ran = ran
		}
	}
}

// similarRuns returns the runs that are like the simulated run (forecast.Alike). Each element of `facts` says for which of the
// runs a statement is true that may depend on the inputs, such as that a task ran.
func (p *pastOfDAG) similarRuns(runs []*pastRun, facts [][]bool) (similar []*pastRun) {
	for k, isAlike := range forecast.Alike(facts, inputsOf(runs), p.inputs) {
		if isAlike {
			similar = append(similar, runs[k])
		}
	}
	return similar
}

// branches returns, for each task that some of the runs skipped and others did not, in which of the runs it ran.
func (p *pastOfDAG) branches(tasks []forecast.Task, runs []*pastRun) (varied [][]bool) {
	for i := range tasks {
		if ran := p.ran(i, runs); p.known[i] && slices.Contains(ran, true) && slices.Contains(ran, false) {
			varied = append(varied, ran)
		}
	}
	return varied
}

func inputsOf(runs []*pastRun) []sizing.Features {
	inputs := make([]sizing.Features, len(runs))
	for k, run := range runs {
		inputs[k] = run.inputs
	}
	return inputs
}

// ran returns for each of the runs whether the task with index i ran in it. For the runs from which the task is absent
// (isAbsent), it repeats the results of the other runs, in their order. If the task is absent from all runs, all results are
// true.
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

// setMemories sets Memories of the tasks that have another memory than Task.Memory in a draw from one of the past runs, at the
// present level (forecast.AtPresentLevel).
func (p *pastOfDAG) setMemories(tasks []forecast.Task, runs []*pastRun) {
	for i := range tasks {
		t := &tasks[i]
		memories := make([]float64, len(runs))
		for k, run := range runs {
			memories[k] = run.task(i).memory
		}
		memories = forecast.AtPresentLevel(memories)
		for k := range memories {
			if memories[k] == 0 { // the run skipped the task, was not read fully, or is not among the newest pastRuns runs of the task
				memories[k] = t.Memory
			}
		}
		if slices.ContainsFunc(memories, func(bytes float64) bool { return bytes != t.Memory }) {
			t.Memories = memories
		}
	}
}
