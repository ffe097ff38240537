package growth

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/phase"
	"github.com/loadaware/loadaware/internal/sizing"
)

// phasedPolicy sets one limit for each step of ten minutes. A phase is a part of a run with one level of usage; package
// phase finds the phases. At the end of a step, the run is in one phase. The limit of the next step is the largest memory
// of the earlier runs in this phase. The first step has the static grant, and so has each run of a task without a model
// of its phases.
type phasedPolicy struct {
	tasks map[sizing.TaskKey]*phasedTask
}

type phasedTask struct {
	series []phase.Series // by run, oldest first
	model  *phase.Model   // nil before the first fit
	fitted int            // number of runs at the last fit
}

const (
	phaseStep    = 15  // seconds between two samples of a phase model
	phaseRuns    = 3   // number of runs at the first fit; later fits follow whenever the number has doubled
	phaseSeries  = 32  // a fit reads at most this number of runs, the newest ones
	minPhasedRun = 600 // seconds; shorter runs have only one step (stepSeconds) and are not learned
	gibibyte     = float64(1 << 30)
)

func newPhased() *phasedPolicy { return &phasedPolicy{map[sizing.TaskKey]*phasedTask{}} }

func (*phasedPolicy) name() string { return "previous phase" }

// phaseSeriesOf returns the usage of a run. Its samples have memory in GiB and CPU in cores; an unknown CPU use counts as 0.
func phaseSeriesOf(r *Run) phase.Series {
	samples := make([]phase.Sample, len(r.Seconds))
	for i, s := range r.Seconds {
		samples[i] = phase.Sample{Seconds: s, Values: []float64{r.Memory[i] / gibibyte, orZero(r.CPU[i])}}
	}
	return phase.Resample(samples, phaseStep)
}

func orZero(cores float64) float64 {
	if math.IsNaN(cores) {
		return 0
	}
	return cores
}

func (p *phasedPolicy) plan(r *Run, g grant) limiter {
	t := p.tasks[r.Task]
	if t == nil || t.model == nil {
		return constant(g.memory)
	}
	return phaseLimits{t.model, g.memory}
}

func (p *phasedPolicy) learn(r *Run, _ grant) {
	t := p.tasks[r.Task]
	if t == nil {
		t = &phasedTask{}
		p.tasks[r.Task] = t
	}
	if r.duration() < minPhasedRun {
		return
	}
	t.series = append(t.series, phaseSeriesOf(r))
	if n := len(t.series); n < phaseRuns || n < 2*t.fitted {
		return
	}
	t.fitted = len(t.series)
	newest := t.series[max(0, len(t.series)-phaseSeries):]
	model, err := phase.Discover(newest, phase.Config{Windows: 1000, Training: phase.Training{Epochs: 100}})
	if err == nil { // there is never an error, because every run has samples
		t.model = model
	}
}

type phaseLimits struct {
	model *phase.Model
	first float64 // limit of the first step
}

func (p phaseLimits) limits(r *Run) []float64 {
	series := phaseSeriesOf(r)
	all := make([]float64, len(r.Memory))
	limit := p.first
	for from := 0; from < len(all); {
		to := stepEnd(r, from)
		for i := from; i < to; i++ {
			all[i] = limit
		}
		if to < len(all) {
			past := series[:min(len(series), 1+int(r.Seconds[to-1]/phaseStep))]
			labels := p.model.Label(past)
			limit = p.model.Phases[labels[len(labels)-1]].Max[0] * gibibyte
		}
		from = to
	}
	return all
}

func (p phaseLimits) lift(_ *Run, limits []float64, at int) limiter { return constant(2 * limits[at]) }
