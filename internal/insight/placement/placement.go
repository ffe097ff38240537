// Package placement estimates how the node type and the load of the cluster change run times, and
// which run times a task would have on another node type. The runs of all tasks of a namespace
// are pooled, so that a task gets an estimate for a node type on which it has never run.
//
//	log seconds = level of the task + slopes · inputs + slope · load + effect of the node type
//	effect      = sensitivity of the task · effect of the node type on a typical task + own deviation
//
// Penalised least squares estimate the parts one after the other, again and again until they converge
// (backfitting; Breiman & Friedman 1985). Outlying runs weigh less (Huber 1964). The same runs give
// the same estimates.
package placement

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Run is one successful try.
type Run struct {
	Task      sizing.TaskKey
	Features  sizing.Features
	Placement sizing.Placement
	Seconds   float64
}

// Bounds of Fit.
const (
	maxNodeTypes = 64 // largest number of node types; the most frequent ones are used
	maxInputs    = 8  // largest number of numeric features of a task; the most frequent ones are used
	rounds       = 30 // largest number of rounds of the estimation
)

// Effects holds the estimates for a namespace. It is immutable.
type Effects struct {
	nodes   []string  // node types in alphabetical order
	typical []float64 // effect of each node type on a typical task
	slope   float64   // slope of the load for a typical task
	hasLoad bool      // some runs have a load
	tasks   map[sizing.TaskKey]*taskEffect
}

// taskEffect holds the estimates for one task. All effects are in log units.
type taskEffect struct {
	rows         []row
	names        []string  // names of the inputs, which are signedLogs of numeric features
	offset       []float64 // mean of each input
	scale        []float64 // standard deviation of each input
	slopes       []float64 // of the scaled inputs
	load         float64   // slope of the load
	level        float64   // log seconds
	sensitivity  float64   // factor on the effects of the node types on a typical task
	ownDeviation []float64 // deviation by node type
	variance     float64   // of the residuals
}

type row struct {
	y      float64   // log seconds
	x      []float64 // scaled inputs
	load   float64   // load of the cluster minus the mean of the known loads of all runs; 0 if unknown
	node   int       // index of the node type; -1: unknown
	weight float64   // 1, or less for an outlying row
}

// minSeconds replaces shorter run times, which depend on the resolution of the clock.
const minSeconds = 0.1

// Fit estimates the effects from runs in order of time. If no run has a node type or a load, all effects
// are 0.
func Fit(runs []Run) *Effects {
	e := &Effects{nodes: frequentNodes(runs), tasks: map[sizing.TaskKey]*taskEffect{}}
	e.typical = make([]float64, len(e.nodes))
	mean, loads := 0.0, 0.0
	for i := range runs {
		if l := runs[i].Placement.ClusterLoad; l != nil {
			mean, loads = mean+*l, loads+1
		}
	}
	mean, e.hasLoad = mean/max(1, loads), loads > 0
	grouped := map[sizing.TaskKey][]*Run{}
	var order []sizing.TaskKey
	for i := range runs {
		if r := &runs[i]; r.Seconds > 0 {
			if grouped[r.Task] == nil {
				order = append(order, r.Task)
			}
			grouped[r.Task] = append(grouped[r.Task], r)
		}
	}
	var tasks []*taskEffect
	for _, key := range order {
		t := newTaskEffect(grouped[key], e.nodes, mean)
		e.tasks[key] = t
		tasks = append(tasks, t)
	}
	e.estimate(tasks)
	return e
}

func frequentNodes(runs []Run) []string {
	counts := map[string]int{}
	for i := range runs {
		if node := runs[i].Placement.NodeType; node != "" {
			counts[node]++
		}
	}
	var nodes []string
	for node := range counts {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	nodes = nodes[:min(len(nodes), maxNodeTypes)]
	slices.Sort(nodes)
	return nodes
}

func newTaskEffect(runs []*Run, nodes []string, meanLoad float64) *taskEffect {
	t := &taskEffect{sensitivity: 1, ownDeviation: make([]float64, len(nodes)), variance: priorVariance}
	t.chooseInputs(runs)
	t.slopes = make([]float64, len(t.names))
	for _, r := range runs {
		at := row{y: math.Log(max(r.Seconds, minSeconds)), node: -1, weight: 1, x: t.inputs(r.Features)}
		if i, known := slices.BinarySearch(nodes, r.Placement.NodeType); known {
			at.node = i
		}
		if l := r.Placement.ClusterLoad; l != nil {
			at.load = *l - meanLoad
		}
		t.rows = append(t.rows, at)
	}
	return t
}

// chooseInputs chooses the numeric features that vary, at most maxInputs, and sets their offsets and
// scales.
func (t *taskEffect) chooseInputs(runs []*Run) {
	type sums struct{ n, sum, squares float64 }
	found := map[string]*sums{}
	for _, r := range runs {
		for name, v := range r.Features {
			if v.Kind == sizing.Number {
				s := found[name]
				if s == nil {
					s = new(sums)
					found[name] = s
				}
				x := signedLog(v.Num)
				s.n, s.sum, s.squares = s.n+1, s.sum+x, s.squares+x*x
			}
		}
	}
	for name, s := range found {
		if s.n > 1 && s.squares/s.n-s.sum*s.sum/s.n/s.n > 1e-9 {
			t.names = append(t.names, name)
		}
	}
	slices.SortFunc(t.names, func(a, b string) int { return cmp.Or(cmp.Compare(found[b].n, found[a].n), cmp.Compare(a, b)) })
	t.names = t.names[:min(len(t.names), maxInputs)]
	for _, name := range t.names {
		s := found[name]
		t.offset = append(t.offset, s.sum/s.n)
		t.scale = append(t.scale, math.Sqrt(s.squares/s.n-s.sum*s.sum/s.n/s.n))
	}
}

// inputs returns the scaled inputs of a run. A missing input counts as its mean, which is 0 after scaling.
func (t *taskEffect) inputs(f sizing.Features) []float64 {
	x := make([]float64, len(t.names))
	for i, name := range t.names {
		if v, known := f[name]; known && v.Kind == sizing.Number {
			x[i] = (signedLog(v.Num) - t.offset[i]) / t.scale[i]
		}
	}
	return x
}

func signedLog(v float64) float64 { return math.Copysign(math.Log1p(math.Abs(v)), v) }

// NodeTypes returns the node types whose effects are estimated, in alphabetical order.
func (e *Effects) NodeTypes() []string { return e.nodes }

// HasLoad reports whether some runs had a known load.
func (e *Effects) HasLoad() bool { return e.hasLoad }

// Effect returns the logarithm of the factor of a node type and a load on the run time of a task,
// relative to a mean node type and a load of 0. An unknown node type or load adds 0. A task without runs
// has the effects of a typical task.
func (e *Effects) Effect(task sizing.TaskKey, p sizing.Placement) float64 {
	t := e.tasks[task]
	if t == nil {
		t = &taskEffect{sensitivity: 1, load: e.slope, ownDeviation: make([]float64, len(e.nodes))}
	}
	sum := 0.0
	if i, known := slices.BinarySearch(e.nodes, p.NodeType); known {
		sum += t.sensitivity*e.typical[i] + t.ownDeviation[i]
	}
	if p.ClusterLoad != nil {
		sum += t.load * *p.ClusterLoad
	}
	return sum
}
