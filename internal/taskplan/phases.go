package taskplan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/phase"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Phases are the phases of a task: parts of a run with one level of usage (package phase). Their ids are 0, 1, … by
// ascending mean memory; phases without visits come last. A visit is an uninterrupted time in a phase. The indices of
// Starts, Next, Dwell and Visits are ids.
type Phases struct {
	Step       float64      // seconds of a step
	Runs       int          // number of learned runs when the phases were found
	HasCPU     bool         // whether phases are found by memory and CPU; else by memory only
	IDs        []int        // id of each label of Model
	Model      *phase.Model // labels the steps of a run
	Starts     []float64    // probability that a run starts in the phase
	Next       [][]float64  // probability of the next phase; the last column is the end of the run
	Dwell      [][]int      // numbers of steps of the visits to each phase, ascending; at most maxDwell visits per phase
	Visits     []int        // number of all visits to each phase in the runs in which the phases were found
	Prototypes []phase.Prototype
	Coverage   float64 // share of the runs in which the phases were found that follow a prototype
}

// Bounds of the phases. More steps, runs and windows describe the phases more precisely and take more time to learn.
const (
	phaseStep     = 15   // smallest step in seconds
	phaseSteps    = 240  // largest number of steps of a run of median duration; tasks with longer runs get wider steps
	phaseRuns     = 32   // largest number of runs in which phases are searched: the newest ones
	phaseWindows  = 2000 // largest number of windows to learn from (phase.Config.Windows)
	maxPrototypes = 6    // largest number of stored prototypes (frequent sequences of phases)
	maxDwell      = 200  // largest number of stored visits per phase, evenly spaced in the order of their durations
	phaseGrowth   = 1.5  // factor by which the number of runs grows until phases are found again
)

// NeedsPhases reports whether a task with plans lacks phases, or has phaseGrowth times as many runs as when they were found.
func (s *State) NeedsPhases() bool {
	if !s.isPlannable() {
		return false
	}
	return s.Phases == nil || float64(s.Learner.Runs) >= phaseGrowth*float64(s.Phases.Runs)
}

// FindPhases finds the phases in the last phaseRuns elements of `runs`, which are oldest first. It changes nothing if none
// of these runs has usage.
func (s *State) FindPhases(runs []Run) error {
	runs = runs[max(0, len(runs)-phaseRuns):]
	p := &Phases{Step: max(phaseStep, s.Learner.Duration()/phaseSteps), Runs: s.Learner.Runs, HasCPU: true}
	for i := range runs {
		p.HasCPU = p.HasCPU && runs[i].Series.CPU != nil
	}
	var all []phase.Series
	for i := range runs {
		if series := p.resample(&runs[i].Series); len(series) > 0 {
			all = append(all, series)
		}
	}
	if len(all) == 0 {
		return nil
	}
	model, err := phase.Discover(all, phase.Config{Windows: phaseWindows})
	if err != nil {
		return fmt.Errorf("find phases: %w", err)
	}
	model.Clusters.Labels = nil // of the windows, and unused from here on
	p.Model = model
	p.IDs = idsByMemory(model)
	visits := make([][]phase.Visit, len(all))
	for i, series := range all {
		visits[i] = phase.Visits(p.label(series))
	}
	p.count(phase.NewGraph(visits, len(p.IDs)))
	s.Phases = p
	return nil
}

// idsByMemory returns the id of each label: labels with a smaller mean memory have smaller ids. Labels without steps come last:
// Model.Label gave all their steps to other phases, because each stay was shorter than phase.Config.MinDwell.
func idsByMemory(model *phase.Model) []int {
	labels := make([]int, len(model.Phases))
	for i := range labels {
		labels[i] = i
	}
	memory := func(label int) float64 {
		if model.Phases[label].Steps == 0 {
			return math.Inf(1)
		}
		return model.Phases[label].Mean[0]
	}
	slices.SortStableFunc(labels, func(a, b int) int { return cmp.Compare(memory(a), memory(b)) })
	ids := make([]int, len(labels))
	for id, label := range labels {
		ids[label] = id
	}
	return ids
}

func (p *Phases) count(g *phase.Graph) {
	p.Starts, p.Next, p.Coverage = g.Starts, g.Next, g.Coverage(maxPrototypes)
	for _, dwell := range g.Dwell {
		p.Visits = append(p.Visits, len(dwell))
		p.Dwell = append(p.Dwell, thin(dwell, maxDwell))
	}
	for _, prototype := range g.Prototypes[:min(maxPrototypes, len(g.Prototypes))] {
		p.Prototypes = append(p.Prototypes, *prototype)
	}
}

// thin returns at most n elements, evenly spaced, with the first and the last one.
func thin(list []int, n int) []int {
	if len(list) <= n {
		return list
	}
	thinned := make([]int, n)
	for i := range thinned {
		thinned[i] = list[i*(len(list)-1)/(n-1)]
	}
	return thinned
}

const gibibyte = 1 << 30

// resample returns the series in steps of p.Step. If p.HasCPU is true, s must have CPU.
func (p *Phases) resample(s *sizing.Series) phase.Series {
	samples := make([]phase.Sample, len(s.Memory))
	for i, m := range s.Memory {
		values := []float64{float64(m) / gibibyte}
		if p.HasCPU {
			values = append(values, s.CPU[i])
		}
		samples[i] = phase.Sample{Seconds: float64(i) * s.Step.Seconds(), Values: values}
	}
	return phase.Resample(samples, p.Step)
}

func (p *Phases) label(series phase.Series) []int {
	labels := p.Model.Label(series)
	for i, label := range labels {
		labels[i] = p.IDs[label]
	}
	return labels
}

// Label divides a series into n equal parts and returns the phase in the middle of each part. It returns nil if the series has
// no steps, or lacks the CPU by which the phases were found.
func (p *Phases) Label(s *sizing.Series, n int) []int {
	if len(s.Memory) == 0 || p.HasCPU && s.CPU == nil {
		return nil
	}
	labels := p.label(p.resample(s))
	parts := make([]int, n)
	for i := range parts {
		seconds := (float64(i) + .5) * s.Step.Seconds() * float64(len(s.Memory)) / float64(n)
		parts[i] = labels[min(len(labels)-1, int(seconds/p.Step))]
	}
	return parts
}

// Statistics returns the statistics of the phase with an id.
func (p *Phases) Statistics(id int) *phase.Statistics {
	return &p.Model.Phases[slices.Index(p.IDs, id)]
}

// Transitions lists what follows a phase, most probable first.
func (p *Phases) Transitions(id int) (all []NextPhase) {
	for next, probability := range p.Next[id] {
		if probability == 0 {
			continue
		}
		if next == len(p.IDs) {
			next = -1
		}
		all = append(all, NextPhase{Phase: next, Probability: probability})
	}
	slices.SortStableFunc(all, func(a, b NextPhase) int { return cmp.Compare(b.Probability, a.Probability) })
	return all
}

// DwellQuantile returns the q quantile of the duration of the visits to a phase in seconds; 0 without visits.
func (p *Phases) DwellQuantile(id int, q float64) float64 {
	return quantile(p.Dwell[id], q) * p.Step
}

// remainingDwell returns the median remaining seconds of a visit that has lasted for `steps`; 0 if no known visit lasted
// longer.
func (p *Phases) remainingDwell(id, steps int) float64 {
	longer, _ := slices.BinarySearch(p.Dwell[id], steps+1)
	rest := p.Dwell[id][longer:]
	if len(rest) == 0 {
		return 0
	}
	return (quantile(rest, .5) - float64(steps)) * p.Step
}

// quantile returns an element of an ascending list, or 0 if the list is empty.
func quantile[T int | float64](list []T, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return float64(list[min(len(list)-1, int(q*float64(len(list))))])
}
