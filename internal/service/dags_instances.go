package service

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// addInputs records for each past run which values it had for the inputs that the simulated run sets (pastOfDAG.inputs). It
// ignores the inputs of a task that differ between the instances of a run, because they describe instances, not runs. The first
// task that has an input determines the value of this input in a run.
func (p *pastOfDAG) addInputs(recent *recentRuns) {
	asked := knownFeatures(p.inputs, &recent.sample.Schema)
	if len(asked) == 0 {
		return
	}
	for k := range recent.runs {
		if len(recent.instances[k]) == 0 {
			continue
		}
		run, values := p.run(&recent.runs[k]), recent.instances[k][0]
		for name := range asked {
			if _, isSet := run.inputs[name]; isSet || recent.differs[name] || values[name].Kind == sizing.Missing {
				continue
			}
			if run.inputs == nil {
				run.inputs = sizing.Features{}
			}
			run.inputs[name] = values[name]
		}
	}
}

// differingFeatures returns which features differ between instances of the same run.
func (r *recentRuns) differingFeatures() map[string]bool {
	differs, first := map[string]bool{}, map[string]sizing.Features{} // by run id
	compare := func(run string, f sizing.Features) {
		of, isKnown := first[run]
		if !isKnown {
			first[run] = f
			return
		}
		for _, field := range r.sample.Schema.Fields {
			if f[field.Name] != of[field.Name] {
				differs[field.Name] = true
			}
		}
	}
	for k := range r.runs {
		for _, f := range r.instances[k] {
			compare(r.runs[k].RunID, f)
		}
	}
	for i := range r.sample.Rows {
		if row := &r.sample.Rows[i]; r.isSummary && row.Outcome == sizing.Success {
			compare(row.RunID, r.sample.Schema.Features(row.Features))
		}
	}
	return differs
}

// medianScales returns, for each number of instances, the predicted median of their longest run time as a multiple of that
// of `usual` instances. `one` is the run time of one instance.
func medianScales(one taskmodel.RunTime, counts []int, usual int) []float64 {
	bySize := map[int]float64{}
	seconds := func(n int) float64 {
		if _, isKnown := bySize[n]; !isKnown {
			bySize[n] = taskmodel.RunTimes{one}.LevelTable(1, medianOfLongest(n))[0]
		}
		return bySize[n]
	}
	scales := make([]float64, len(counts))
	for k, n := range counts {
		scales[k] = 1
		if base := seconds(usual); base > 0 {
			scales[k] = seconds(n) / base
		}
	}
	return scales
}

// setCounts sets Counts and MedianScale of the tasks that had another number of instances than the usual one in one of the
// past runs that a draw comes from.
func (p *pastOfDAG) setCounts(tasks []forecast.Task, runs []*pastRun) {
	inputs := inputsOf(runs)
	for i := range tasks {
		counts := make([]int, len(runs))
		for k, run := range runs {
			counts[k] = run.task(i).instances
		}
		t := &tasks[i]
		if p.known[i] && slices.ContainsFunc(counts, func(n int) bool { return n > 0 && n != t.Instances }) {
			t.Counts = withMedian(forecast.ScaleInstances(counts, inputs, p.inputs))
			t.MedianScale = medianScales(p.instanceRunTime[i], t.Counts, t.Instances)
		}
	}
}

// withMedian returns the counts with the median of the positive counts in place of each 0.
func withMedian(counts []int) []int {
	counts = slices.Clone(counts)
	positive := slices.DeleteFunc(slices.Clone(counts), func(n int) bool { return n == 0 })
	slices.Sort(positive)
	for k, n := range counts {
		if n == 0 {
			counts[k] = positive[len(positive)/2]
		}
	}
	return counts
}

func (r *pastRun) instances() (sum int) {
	for i := range r.tasks {
		sum += r.tasks[i].instances
	}
	return sum
}

// medianOfLongest returns the probability p for which the p-quantile of the run time of one instance is the median of the
// longest run time of n independent instances.
func medianOfLongest(n int) float64 { return math.Pow(.5, 1/float64(n)) }
