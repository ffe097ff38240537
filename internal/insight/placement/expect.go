package placement

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Change replaces what is known about the newest runs of a task. A zero field changes nothing.
type Change struct {
	Set  sizing.Features  // new values of features
	From string           // the node type before the change; empty: the node type of each run
	To   sizing.Placement // the node type and the load of the cluster after the change
}

// Validate returns an error for each invalid field.
func (c *Change) Validate() []sizing.FieldError {
	bad, from := c.To.Validate(), sizing.Placement{NodeType: c.From}.Validate()
	for i := range from {
		from[i].Field = "from_node_type"
	}
	return append(append(bad, from...), c.Set.Validate()...)
}

// Expectation is what the model expects of runs like the newest ones, before and after a change. It
// is no causal effect: runs on another node type may differ in other ways, too.
type Expectation struct {
	Runs          int       // number of runs that are compared
	Before, After Quantiles // of the run times before and after the change
}

// Quantiles describes run times in seconds.
type Quantiles struct {
	P25, Median, P75, P95 float64
	Outliers              float64 // share of the runs that take more than taskmodel.OutlierRatio times the median that was predicted for the same run before the change
}

// Expect compares the run times of tries like the given runs of one task before and after a change.
// ok is false without runs, or if the model predicts no run time. The model of the task knows neither
// node types nor loads, so its predictions are for the mean effect of the placements of the runs.
func (e *Effects) Expect(m *taskmodel.Model, runs []Run, c *Change) (x Expectation, ok bool) {
	if len(runs) == 0 {
		return x, false
	}
	task := runs[0].Task
	mean := 0.0
	for i := range runs {
		mean += e.Effect(task, runs[i].Placement) / float64(len(runs))
	}
	n := len(runs)
	features := make([]sizing.Features, 2*n)
	factors := make([]float64, 2*n)
	for i := range runs {
		at := runs[i].Placement
		if c.From != "" {
			at.NodeType = c.From
		}
		features[i], factors[i] = runs[i].Features, math.Exp(e.Effect(task, at)-mean)
		if c.To.NodeType != "" {
			at.NodeType = c.To.NodeType
		}
		if c.To.ClusterLoad != nil {
			at.ClusterLoad = c.To.ClusterLoad
		}
		features[n+i], factors[n+i] = withReplaced(runs[i].Features, c.Set), math.Exp(e.Effect(task, at)-mean)
	}
	times := m.RunTimes(features)
	if times == nil {
		return x, false
	}
	times.Scale(factors)
	before, after := times[:n], times[n:]
	x.Runs, x.Before, x.After = n, quantilesOf(before), quantilesOf(after)
	for i := range before {
		limit := taskmodel.OutlierRatio * before[i].Quantile(.5)
		x.Before.Outliers += before[i].Above(limit) / float64(n)
		x.After.Outliers += after[i].Above(limit) / float64(n)
	}
	return x, true
}

func withReplaced(f, set sizing.Features) sizing.Features {
	if len(set) == 0 {
		return f
	}
	features := make(sizing.Features, len(f)+len(set))
	for name, v := range f {
		features[name] = v
	}
	for name, v := range set {
		features[name] = v
	}
	return features
}

// quantilesOf returns the quantiles of a mixture of run times, without Outliers.
func quantilesOf(r taskmodel.RunTimes) Quantiles {
	return Quantiles{P25: r.Quantile(.25), Median: r.Quantile(.5), P75: r.Quantile(.75), P95: r.Quantile(.95)}
}
