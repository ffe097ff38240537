package experiment

import (
	"cmp"
	"context"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Savings compares the requests with the grants of the service on held-out rows. The grants are
// not rounded up to the bins of the experiment. A saved share below 0 means that the grants are larger than
// the requests.
type Savings struct {
	RequestedGB  float64 `json:"requested_gb"`
	GrantedGB    float64 `json:"granted_gb"` // to first tries
	SavedGB      float64 `json:"saved_gb"`   // share of the request
	RequestedGBh float64 `json:"requested_gbh"`
	GrantedGBh   float64 `json:"granted_gbh"` // to all tries; a killed try counts with the full duration
	UsedGBh      float64 `json:"used_gbh"`    // peak · duration: the cost of a perfect grant
	SavedGBh     float64 `json:"saved_gbh"`   // share of the request
	Killed       float64 `json:"killed"`      // share of killed first tries

	RequestedCores   float64 `json:"requested_cores"`         // of the tries with measured and requested CPU
	GrantedCores     float64 `json:"granted_cores"`           // to the same tries
	SavedCores       float64 `json:"saved_cores"`             // share of the request
	AboveRequest     float64 `json:"cpu_over_requested"`      // share of the tries that used more CPU than requested, among those with measured and requested CPU
	AboveGrant       float64 `json:"cpu_over_granted"`        // share of the same tries that used more CPU than granted
	AboveGrantThread float64 `json:"cpu_over_granted_thread"` // like AboveGrant, but a grant of one core to a single-threaded task does not count; see singleThread
}

// TaskSavings holds the means over the held-out rows of one task.
type TaskSavings struct {
	Task string `json:"task"`
	Rows int    `json:"rows"` // held-out rows with a request, over all seeds
	Savings
}

// RunSavings holds the sums over one run of a DAG, in which each task that has a held-out row with a request runs once, with
// its mean amounts. Killed, AboveRequest, AboveGrant and AboveGrantThread are computed from all held-out tries of these
// tasks that have a request.
type RunSavings struct {
	DAG   string `json:"dag"`
	Tasks int    `json:"tasks"` // number of these tasks
	Rows  int    `json:"rows"`  // held-out rows of these tasks with a request, over all seeds
	Savings
	SavedGBSeeds SeedRange `json:"saved_gb_seeds"` // SavedGB over the seeds
}

// The indices of sums.
const (
	rowCount = iota
	kills
	requestedBytes
	grantedBytes
	requestedUse // bytes · seconds
	grantedUse
	peakUse
	measuredCPU // tries whose CPU was both measured and requested
	requestedCores
	grantedCores
	aboveRequest
	aboveGrant
	aboveGrantThread
	sumCount
)

// sums holds sums over held-out rows. Each row is one recorded try.
type sums [sumCount]float64

func (s *sums) add(o *sums) {
	for i := range s {
		s[i] += o[i]
	}
}

func (s *sums) mean() (m sums) {
	for i := range s {
		m[i] = s[i] / s[rowCount]
	}
	for _, i := range []int{requestedCores, grantedCores} {
		m[i] = s[i] / max(1, s[measuredCPU])
	}
	return m
}

// newSavings returns the savings. `amounts` has the sums or the means of the amounts. `all` has the sums over all tries,
// from which the shares of tries are computed.
func newSavings(amounts, all *sums) Savings {
	const gb, gbHour = 1e9, 1e9 * 3600
	return Savings{
		RequestedGB: amounts[requestedBytes] / gb, GrantedGB: amounts[grantedBytes] / gb,
		SavedGB:      savedShare(amounts[requestedBytes], amounts[grantedBytes]),
		RequestedGBh: amounts[requestedUse] / gbHour, GrantedGBh: amounts[grantedUse] / gbHour, UsedGBh: amounts[peakUse] / gbHour,
		SavedGBh:       savedShare(amounts[requestedUse], amounts[grantedUse]),
		Killed:         all[kills] / all[rowCount],
		RequestedCores: amounts[requestedCores], GrantedCores: amounts[grantedCores],
		SavedCores:   savedShare(amounts[requestedCores], amounts[grantedCores]),
		AboveRequest: all[aboveRequest] / max(1, all[measuredCPU]), AboveGrant: all[aboveGrant] / max(1, all[measuredCPU]),
		AboveGrantThread: all[aboveGrantThread] / max(1, all[measuredCPU]),
	}
}

// savedShare returns the share of the amount `before` that the amount `after` saves; 0 if `before` is unknown (zero).
func savedShare(before, after float64) float64 {
	if before == 0 {
		return 0
	}
	return 1 - after/before
}

// savedTask is a task whose DAG has an evaluated task, with the sums of its tries.
type savedTask struct {
	*taskmodel.Dataset
	seeds []sums // by seed
}

func (p *Plan) savedTasks() []*savedTask {
	var all []*savedTask
	if !slices.Contains(p.Families, Serving) {
		return nil
	}
	for _, dataset := range p.data.datasets {
		if slices.ContainsFunc(p.binned, func(t *binnedTask) bool { return dagOf(t.dataset) == dagOf(dataset) }) {
			all = append(all, &savedTask{dataset, make([]sums, p.Seeds)})
		}
	}
	return all
}

func dagOf(dataset *taskmodel.Dataset) sizing.TaskKey {
	return sizing.TaskKey{Namespace: dataset.Task.Namespace, DAG: dataset.Task.DAG}
}

func (p *Plan) measure(ctx context.Context, m *savedTask, seed int) error {
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
	s[rowCount]++
	s[requestedBytes] += float64(r.Requested.Memory)
	s[requestedUse] += float64(r.Requested.Memory) * seconds
	s[peakUse] += float64(r.MemoryMax) * seconds
	s[grantedBytes] += float64(sized.Limit)
	grants := []float64{float64(sized.Limit)}                        // of the first try and of each retry
	for _, grant := range sized.Ladder[min(1, len(sized.Ladder)):] { // the last grant is the cap, which is above every peak
		grants = append(grants, float64(grant))
	}
	peak := float64(r.MemoryMax)
	wasted, killedTries := cost.LadderWastage(peak, 0, grants...)
	s[grantedUse] += (wasted + peak) * seconds
	s[kills] += oneIf(killedTries > 0)
}

func (s *sums) cores(r *sizing.HistoryRow, granted sizing.Cores, isSingleThread bool) {
	if r.CPUMax == 0 || r.Requested.CPU == 0 {
		return
	}
	if granted == 0 {
		granted = r.Requested.CPU // without a CPU history, the request stays in force
	}
	s[measuredCPU]++
	s[requestedCores] += float64(r.Requested.CPU)
	s[grantedCores] += float64(granted)
	s[aboveRequest] += oneIf(r.CPUMax > r.Requested.CPU)
	s[aboveGrant] += oneIf(r.CPUMax > granted)
	s[aboveGrantThread] += oneIf(r.CPUMax > granted && !(isSingleThread && granted == 1))
}

// singleThread reports whether a task never used more CPU than one thread. The measured CPU of one
// thread may be slightly above one core because of sampling and helper threads. A grant of one
// core does not slow such a task.
func singleThread(dataset *taskmodel.Dataset) bool {
	const oneCoreAtMost = 1.25
	for i := range dataset.Len() {
		if dataset.Row(i).CPUMax > oneCoreAtMost {
			return false
		}
	}
	return true
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (p *Plan) taskSavings(all []*savedTask) []TaskSavings {
	var savings []TaskSavings
	for _, m := range all {
		var total sums
		for seed := range m.seeds {
			total.add(&m.seeds[seed])
		}
		if total[rowCount] > 0 {
			mean := total.mean()
			savings = append(savings, TaskSavings{p.data.nameOf(m.Task), int(total[rowCount]), newSavings(&mean, &total)})
		}
	}
	slices.SortStableFunc(savings, func(a, b TaskSavings) int {
		return cmp.Compare(b.RequestedGBh*float64(b.Rows), a.RequestedGBh*float64(a.Rows))
	})
	return savings
}

// runSavings returns the savings of each DAG. In `all`, the tasks of a DAG must be next to each other.
func (p *Plan) runSavings(all []*savedTask) []RunSavings {
	var savings []RunSavings
	for len(all) > 0 {
		dag := dagOf(all[0].Dataset)
		n := 0
		for n < len(all) && dagOf(all[n].Dataset) == dag {
			n++
		}
		if r := sumRun(all[:n], p.Seeds); r.Rows > 0 {
			r.DAG = dag.DAG
			savings = append(savings, r)
		}
		all = all[n:]
	}
	return savings
}

// sumRun returns the savings of one run of a DAG, without the name of the DAG. `tasks` are the tasks of the DAG.
func sumRun(tasks []*savedTask, seeds int) RunSavings {
	var r RunSavings
	var run, all sums
	bySeed := make([]sums, seeds)
	for _, m := range tasks {
		var total sums
		for seed := range m.seeds {
			if m.seeds[seed][rowCount] > 0 {
				total.add(&m.seeds[seed])
				mean := m.seeds[seed].mean()
				bySeed[seed].add(&mean)
			}
		}
		if total[rowCount] > 0 {
			mean := total.mean()
			run.add(&mean)
			all.add(&total)
			r.Tasks++
		}
	}
	if r.Rows = int(all[rowCount]); r.Rows == 0 {
		return r
	}
	r.Savings = newSavings(&run, &all)
	shares := make([]float64, seeds)
	for seed := range shares {
		shares[seed] = savedShare(bySeed[seed][requestedBytes], bySeed[seed][grantedBytes])
	}
	r.SavedGBSeeds = seedRange(shares)
	return r
}
