package experiment

import (
	"cmp"
	"context"
	"slices"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Level compares what was requested with what serving grants at its own fine grid,
// over rows that are held back.
type Level struct {
	RequestedGB  float64 `json:"requested_gb"`
	GrantedGB    float64 `json:"granted_gb"` // to first tries
	SavedGB      float64 `json:"saved_gb"`   // share of the requested
	RequestedGBh float64 `json:"requested_gbh"`
	GrantedGBh   float64 `json:"granted_gbh"` // to all tries, the killed ones whole
	UsedGBh      float64 `json:"used_gbh"`    // peak · duration: what a perfect grant comes to
	SavedGBh     float64 `json:"saved_gbh"`
	Killed       float64 `json:"killed"` // share of first tries

	RequestedCores    float64 `json:"requested_cores"`
	GrantedCores      float64 `json:"granted_cores"`
	SavedCores        float64 `json:"saved_cores"`
	OverRequested     float64 `json:"cpu_over_requested"`      // share of tries that used more than was requested
	OverGranted       float64 `json:"cpu_over_granted"`        // … more than is granted
	OverGrantedThread float64 `json:"cpu_over_granted_thread"` // … not counting single threads on one core
}

// TaskLevel is one task: the mean of its tries.
type TaskLevel struct {
	Task string `json:"task"`
	Rows int    `json:"rows"` // held back, over all seeds
	Level
}

// RunLevel is one run of a DAG in which every task is run once, at its mean. Shares
// of tries are of all the tries that are held back.
type RunLevel struct {
	DAG   string `json:"dag"`
	Tasks int    `json:"tasks"`
	Rows  int    `json:"rows"`
	Level
	SavedGBSeeds Spread `json:"saved_gb_seeds"` // SavedGB over the seeds
}

// The figures that are summed over tries.
const (
	tries = iota
	kills
	requestedBytes
	grantedBytes
	requestedUse // bytes · seconds
	grantedUse
	peakUse
	measuredCPU // tries whose CPU was both measured and requested
	requestedCores
	grantedCores
	overRequested
	overGranted
	overGrantedThread
	summed
)

type sums [summed]float64

func (s *sums) add(o *sums) {
	for i := range s {
		s[i] += o[i]
	}
}

// mean is that of one try.
func (s *sums) mean() (m sums) {
	for i := range s {
		m[i] = s[i] / s[tries]
	}
	return m
}

// level has amounts from one lot of sums, and shares of tries from another.
func level(amounts, all *sums) Level {
	const gb, gbHour = 1e9, 1e9 * 3600
	return Level{
		RequestedGB: amounts[requestedBytes] / gb, GrantedGB: amounts[grantedBytes] / gb,
		SavedGB:      saved(amounts[requestedBytes], amounts[grantedBytes]),
		RequestedGBh: amounts[requestedUse] / gbHour, GrantedGBh: amounts[grantedUse] / gbHour, UsedGBh: amounts[peakUse] / gbHour,
		SavedGBh:       saved(amounts[requestedUse], amounts[grantedUse]),
		Killed:         all[kills] / all[tries],
		RequestedCores: amounts[requestedCores], GrantedCores: amounts[grantedCores],
		SavedCores:    saved(amounts[requestedCores], amounts[grantedCores]),
		OverRequested: all[overRequested] / max(1, all[measuredCPU]), OverGranted: all[overGranted] / max(1, all[measuredCPU]),
		OverGrantedThread: all[overGrantedThread] / max(1, all[measuredCPU]),
	}
}

// saved is the share of before; 0 where that is not known.
func saved(before, after float64) float64 {
	if before == 0 {
		return 0
	}
	return 1 - after/before
}

// measured is one task of a DAG that is experimented on, and what its tries came to
// for each seed.
type measured struct {
	*fitting.Dataset
	seeds []sums
}

// measures are the tasks of all DAGs that are experimented on, if Serving is tried.
func (p *Plan) measures() []*measured {
	var all []*measured
	if !slices.Contains(p.Families, Serving) {
		return nil
	}
	for _, l := range p.data.lessons {
		if slices.ContainsFunc(p.trials, func(t *trial) bool { return dagOf(t.lesson) == dagOf(l) }) {
			all = append(all, &measured{l, make([]sums, p.Seeds)})
		}
	}
	return all
}

func dagOf(l *fitting.Dataset) sizing.TaskKey {
	return sizing.TaskKey{Namespace: l.Task.Namespace, DAG: l.Task.DAG}
}

// measure asks serving's model, fitted on the rows of a split of its own, for every
// row held back that tells what it requested.
func (p *Plan) measure(ctx context.Context, m *measured, seed int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := stratified(make([]int, m.Len()), 1, uint64(seed))
	if p.Split == ByTime {
		s = byTime(m.Len())
	}
	served, err := p.serve(m.Dataset, s.train)
	if err != nil {
		return err
	}
	to, thread := &m.seeds[seed], singleThread(m.Dataset)
	for _, i := range s.test {
		if r := m.Row(i); r.Requested.Memory > 0 {
			sized := served.Size(i, p.question(m.Dataset, i))
			to.memory(r, &sized, m.Seconds(i))
			to.cores(r, sized.CPU, thread)
		}
	}
	p.step()
	return nil
}

func (s *sums) memory(r *sizing.HistoryRow, sized *fitting.Answer, seconds float64) {
	s[tries]++
	s[requestedBytes] += float64(r.Requested.Memory)
	s[requestedUse] += float64(r.Requested.Memory) * seconds
	s[peakUse] += float64(r.MemoryMax) * seconds
	s[grantedBytes] += float64(sized.Limit)
	s[kills] += ones(sized.Limit < r.MemoryMax)
	for _, grant := range sized.Ladder { // the last rung is the cap, which holds every peak
		s[grantedUse] += float64(grant) * seconds
		if grant >= r.MemoryMax {
			break
		}
	}
}

func (s *sums) cores(r *sizing.HistoryRow, granted sizing.Cores, thread bool) {
	if r.CPUMax == 0 || r.Requested.CPU == 0 {
		return
	}
	if granted == 0 {
		granted = r.Requested.CPU // nothing is known of it: the request stays
	}
	s[measuredCPU]++
	s[requestedCores] += float64(r.Requested.CPU)
	s[grantedCores] += float64(granted)
	s[overRequested] += ones(r.CPUMax > r.Requested.CPU)
	s[overGranted] += ones(r.CPUMax > granted)
	s[overGrantedThread] += ones(r.CPUMax > granted && !(thread && granted == 1))
}

// singleThread reports whether a task never used more than one thread does, which
// is measured at somewhat above one core, by sampling and helpers: a request of one
// core does not hold it back.
func singleThread(l *fitting.Dataset) bool {
	const oneCoreAtMost = 1.25
	for i := range l.Len() {
		if l.Row(i).CPUMax > oneCoreAtMost {
			return false
		}
	}
	return true
}

func ones(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// taskLevels are the tasks, those that are requested most first.
func (p *Plan) taskLevels(all []*measured) []TaskLevel {
	var levels []TaskLevel
	for _, m := range all {
		var total sums
		for seed := range m.seeds {
			total.add(&m.seeds[seed])
		}
		if total[tries] > 0 {
			mean := total.mean()
			levels = append(levels, TaskLevel{p.data.nameOf(m.Task), int(total[tries]), level(&mean, &total)})
		}
	}
	slices.SortStableFunc(levels, func(a, b TaskLevel) int {
		return cmp.Compare(b.RequestedGBh*float64(b.Rows), a.RequestedGBh*float64(a.Rows))
	})
	return levels
}

// runLevels are the DAGs, in the order of their names.
func (p *Plan) runLevels(all []*measured) []RunLevel {
	var levels []RunLevel
	for len(all) > 0 {
		dag := dagOf(all[0].Dataset)
		n := 0
		for n < len(all) && dagOf(all[n].Dataset) == dag {
			n++
		}
		if l := runLevel(all[:n], p.Seeds); l.Rows > 0 {
			l.DAG = dag.DAG
			levels = append(levels, l)
		}
		all = all[n:]
	}
	return levels
}

func runLevel(tasks []*measured, seeds int) RunLevel {
	var l RunLevel
	var run, all sums
	bySeed := make([]sums, seeds)
	for _, m := range tasks {
		var total sums
		for seed := range m.seeds {
			if m.seeds[seed][tries] > 0 {
				total.add(&m.seeds[seed])
				mean := m.seeds[seed].mean()
				bySeed[seed].add(&mean)
			}
		}
		if total[tries] > 0 {
			mean := total.mean()
			run.add(&mean)
			all.add(&total)
			l.Tasks++
		}
	}
	if l.Rows = int(all[tries]); l.Rows == 0 {
		return l
	}
	l.Level = level(&run, &all)
	shares := make([]float64, seeds)
	for seed := range shares {
		shares[seed] = saved(bySeed[seed][requestedBytes], bySeed[seed][grantedBytes])
	}
	l.SavedGBSeeds = spread(shares)
	return l
}
