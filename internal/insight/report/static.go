package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// sampleRows bounds the sample of a task's tries. The static request is derived from runs whose last try is in the sample: those
// with a success of known peak, and those that were OOM-killed and never succeeded (see store.Savings).
const sampleRows = 4000

// Static is a suggested static request for all runs of a task.
type Static struct {
	RequestBytes *int64   `json:"request_bytes"` // nil if there are too few runs for the target, or too many in KilledRuns
	Request      *string  `json:"request"`       // RequestBytes as a quantity
	Risk         *float64 `json:"risk"`          // upper bound of the probability that the next run exceeds the request
	Runs         int      `json:"runs"`          // number of runs from which the request is derived
	KilledRuns   int      `json:"killed_runs"`   // number of them with OOM kills and without a success
	RunsNeeded   int      `json:"runs_needed"`   // smallest number of runs with which NewStatic can meet the target
	SavesGBH     *float64 `json:"saves_gbh"`     // savings against the baseline in the window, minus the cost of kills; nil if unknown
}

// StaticGroup is one suggested request for all tasks of a group.
type StaticGroup struct {
	Group               string   `json:"group"`
	Tasks               int      `json:"tasks"`         // number of tasks with a suggested request
	TasksWithoutRequest int      `json:"without"`       // number of tasks without a suggested request
	RequestBytes        *int64   `json:"request_bytes"` // largest suggested request of the tasks of the group; nil if none has one
	Request             *string  `json:"request"`       // RequestBytes as a quantity
	Risk                *float64 `json:"risk"`          // largest of the tasks' risks with this request
	SavesGBH            *float64 `json:"saves_gbh"`     // sum of the tasks' savings with this request; nil if one is unknown
}

// NewStatic chooses the smallest observed peak that the next run exceeds with at most the target
// risk, rounded up to whole MiB. If n runs and the next run are exchangeable, the next run exceeds the
// k-th smallest peak with a probability of at most (n+1−k)/(n+1) (Vovk et al. 2005). The peak of a run
// that was killed and never succeeded is unknown, so NewStatic takes it as larger than all others. If the k-th
// smallest peak is one of these, there is no request. NewStatic may reorder sample.
func NewStatic(sample []store.PeakRow, t *Task) *Static {
	n := len(sample)
	s := &Static{Runs: n, RunsNeeded: int(math.Ceil(1/t.RiskTarget-1e-9)) - 1}
	for _, r := range sample {
		if r.IsKilled {
			s.KilledRuns++
		}
	}
	k := max(int(math.Ceil((1-t.RiskTarget)*float64(n+1)-1e-9)), 1)
	if k > n-s.KilledRuns {
		return s
	}
	slices.SortFunc(sample, func(a, b store.PeakRow) int { return cmp.Compare(peakOf(a), peakOf(b)) })
	s.set(sample[k-1].Peak.RoundUp(sizing.MiB), sample, t)
	return s
}

// peakOf returns the peak of a run in bytes; +Inf for a run that was killed and never succeeded.
func peakOf(r store.PeakRow) float64 {
	if r.IsKilled {
		return math.Inf(1)
	}
	return float64(r.Peak)
}

func (s *Static) set(request sizing.Bytes, sample []store.PeakRow, t *Task) {
	bytes, text := int64(request), request.String()
	s.RequestBytes, s.Request = &bytes, &text
	risk := riskOf(request, sample)
	s.Risk = &risk
	s.SavesGBH = savesOf(request, sample, t)
}

// riskOf returns an upper bound of the probability that the next run exceeds a request.
func riskOf(request sizing.Bytes, sample []store.PeakRow) float64 {
	above := 1
	for _, r := range sample {
		if peakOf(r) > float64(request) {
			above++
		}
	}
	return float64(above) / float64(len(sample)+1)
}

// savesOf returns the savings of a request against the task's baseline in GB·h; nil if they are unknown.
// A run that exceeds the request costs the whole killed try and then a retry with the baseline. The
// savings of the sample are scaled to all runs of the window. t.RequestedGBH has no runs without a success, so they
// do not count in the scale.
func savesOf(request sizing.Bytes, sample []store.PeakRow, t *Task) *float64 {
	if t.RequestedBytes == nil || t.RequestedGBH == nil {
		return nil
	}
	baseline := float64(*t.RequestedBytes)
	var requested, saved float64
	for _, r := range sample {
		hours := r.Duration.Hours()
		if !r.IsKilled {
			requested += baseline * hours
		}
		if peakOf(r) > float64(request) {
			saved -= float64(request) * hours
		} else {
			saved += (baseline - float64(request)) * hours
		}
	}
	if requested == 0 {
		return nil
	}
	saves := *t.RequestedGBH * saved / requested
	return &saves
}

func newStaticGroups(tasks []Task, samples map[sizing.TaskKey][]store.PeakRow) []StaticGroup {
	var groups []StaticGroup
	for _, name := range []sizing.Group{sizing.Heavy, sizing.Moderate, sizing.Light} {
		g := StaticGroup{Group: string(name)}
		var request int64
		var members []*Task
		for i := range tasks {
			t := &tasks[i]
			switch {
			case t.Group != g.Group:
			case t.Static.RequestBytes == nil:
				g.TasksWithoutRequest++
			default:
				members = append(members, t)
				request = max(request, *t.Static.RequestBytes)
			}
		}
		if len(members)+g.TasksWithoutRequest == 0 {
			continue
		}
		if g.Tasks = len(members); g.Tasks > 0 {
			g.set(sizing.Bytes(request), members, samples)
		}
		groups = append(groups, g)
	}
	return groups
}

func (g *StaticGroup) set(request sizing.Bytes, members []*Task, samples map[sizing.TaskKey][]store.PeakRow) {
	bytes, text, risk, saves, known := int64(request), request.String(), 0.0, 0.0, true
	for _, t := range members {
		sample := samples[sizing.TaskKey{Namespace: t.Namespace, DAG: t.DagID, Task: t.TaskID}]
		risk = max(risk, riskOf(request, sample))
		if s := savesOf(request, sample, t); s != nil {
			saves += *s
		} else {
			known = false
		}
	}
	g.RequestBytes, g.Request, g.Risk = &bytes, &text, &risk
	if known {
		g.SavesGBH = &saves
	}
}
