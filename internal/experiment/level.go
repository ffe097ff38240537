package experiment

import (
	"cmp"
	"context"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Level compares the requests with the grants of serving at its own fine grid, over
// held-out rows.
type Level struct {
	RequestedGB  float64 `json:"requested_gb"`
	GrantedGB    float64 `json:"granted_gb"` // to first tries
	SavedGB      float64 `json:"saved_gb"`   // share of the request
	RequestedGBh float64 `json:"requested_gbh"`
	GrantedGBh   float64 `json:"granted_gbh"` // to all tries, including the full duration of killed ones
	UsedGBh      float64 `json:"used_gbh"`    // peak · duration: the cost of a perfect grant
	SavedGBh     float64 `json:"saved_gbh"`
	Killed       float64 `json:"killed"` // share of first tries

	RequestedCores    float64 `json:"requested_cores"`
	GrantedCores      float64 `json:"granted_cores"`
	SavedCores        float64 `json:"saved_cores"`
	OverRequested     float64 `json:"cpu_over_requested"`      // share of tries that used more than the request
	OverGranted       float64 `json:"cpu_over_granted"`        // … more than the grant
	OverGrantedThread float64 `json:"cpu_over_granted_thread"` // … not counting single threads on one core
}

// TaskLevel is the mean over the tries of one task.
type TaskLevel struct {
	Task string `json:"task"`
	Rows int    `json:"rows"` // held-out rows over all seeds
	Level
}

// RunLevel is one run of a DAG in which every task runs once, at its mean. Shares of
// tries refer to all held-out tries.
type RunLevel struct {
	DAG   string `json:"dag"`
	Tasks int    `json:"tasks"`
	Rows  int    `json:"rows"`
	Level
	SavedGBSeeds Spread `json:"saved_gb_seeds"` // SavedGB over the seeds
}

// These are the indices of the figures in sums.
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

// mean returns the sums divided by the number of tries.
func (s *sums) mean() (m sums) {
	for i := range s {
		m[i] = s[i] / s[tries]
	}
	return m
}

// level builds a Level: the amounts come from the first sums, the shares of tries from
// the second.
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

// saved returns the saved share of before, or 0 if before is unknown.
func saved(before, after float64) float64 {
	if before == 0 {
		return 0
	}
	return 1 - after/before
}

// measuredTask is a task of an evaluated DAG with the sums of its tries for each seed.
type measuredTask struct {
	*taskmodel.Dataset
	seeds []sums
}

// measuredTasks returns the tasks of all evaluated DAGs if the plan includes Serving.
func (p *Plan) measuredTasks() []*measuredTask {
	var all []*measuredTask
	if !slices.Contains(p.Families, Serving) {
		return nil
	}
	for _, l := range p.data.datasets {
		if slices.ContainsFunc(p.trials, func(t *trial) bool { return dagOf(t.dataset) == dagOf(l) }) {
			all = append(all, &measuredTask{l, make([]sums, p.Seeds)})
		}
	}
	return all
}

func dagOf(l *taskmodel.Dataset) sizing.TaskKey {
	return sizing.TaskKey{Namespace: l.Task.Namespace, DAG: l.Task.DAG}
}

// measure fits serving's model on a split of the task and sizes every held-out row that
// has a request.
func (p *Plan) measure(ctx context.Context, m *measuredTask, seed int) error {
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

func (s *sums) memory(r *sizing.HistoryRow, sized *taskmodel.Answer, seconds float64) {
	s[tries]++
	s[requestedBytes] += float64(r.Requested.Memory)
	s[requestedUse] += float64(r.Requested.Memory) * seconds
	s[peakUse] += float64(r.MemoryMax) * seconds
	s[grantedBytes] += float64(sized.Limit)
	s[kills] += ones(sized.Limit < r.MemoryMax)
	for _, grant := range sized.Ladder { // the last rung is the cap, which exceeds every peak
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
		granted = r.Requested.CPU // no CPU history: the request stays
	}
	s[measuredCPU]++
	s[requestedCores] += float64(r.Requested.CPU)
	s[grantedCores] += float64(granted)
	s[overRequested] += ones(r.CPUMax > r.Requested.CPU)
	s[overGranted] += ones(r.CPUMax > granted)
	s[overGrantedThread] += ones(r.CPUMax > granted && !(thread && granted == 1))
}

// singleThread reports whether a task never used more CPU than one thread, which
// measures slightly above one core because of sampling and helper threads. A request of
// one core does not slow such a task.
func singleThread(l *taskmodel.Dataset) bool {
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

// taskLevels returns the tasks by descending total request.
func (p *Plan) taskLevels(all []*measuredTask) []TaskLevel {
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

// runLevels returns the DAGs ordered by name.
func (p *Plan) runLevels(all []*measuredTask) []RunLevel {
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

func runLevel(tasks []*measuredTask, seeds int) RunLevel {
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
