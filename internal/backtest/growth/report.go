package growth

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/plan"
)

// Static is the name of the policy with static grants, the baseline of the comparison.
const Static = "static"

// Report is the result of a replay.
type Report struct {
	Runs      int           `json:"runs"`
	FirstRuns int           `json:"first_runs"` // number of first runs of tasks, which are learned and not counted; 0 with Config.Request
	Tasks     int           `json:"tasks"`
	Poll      float64       `json:"poll_seconds"`
	Reaction  float64       `json:"reaction_seconds"`
	Policies  []*Figures    `json:"policies"`
	Requests  []*Requests   `json:"requests"` // costs if only the memory request follows the plan, and the memory limit is static
	CPU       []*CPUFigures `json:"cpu"`
	PerTask   []*TaskReport `json:"per_task"`
}

// Figures has the costs of the limits of one policy. GB is 1e9 bytes.
type Figures struct {
	Policy        string  `json:"policy"`
	Grows         bool    `json:"grows_only"` // false: limits may shrink, and a smaller limit may kill a pod
	Hindsight     bool    `json:"hindsight"`  // the policy knows the run in advance
	Runs          int     `json:"runs"`       // number of counted runs; see Report.FirstRuns
	Tries         int     `json:"tries"`
	Killed        int     `json:"killed"`          // number of killed tries
	KilledPercent float64 `json:"killed_percent"`  // killed tries per 100 runs
	LimitGBh      float64 `json:"limit_gbh"`       // limits of all tries, including killed tries
	ShareOfStatic float64 `json:"share_of_static"` // LimitGBh divided by LimitGBh of the static grant
	ResizesPerRun float64 `json:"resizes_per_run"`
	byteSeconds   float64
	resizes       int
}

// Requests has the costs of the memory requests of one policy, if the memory limit is static.
type Requests struct {
	Policy        string  `json:"policy"`
	RequestGBh    float64 `json:"request_gbh"`
	ShareOfStatic float64 `json:"share_of_static"`
	byteSeconds   float64
}

// CPUFigures has the costs of CPU requests.
type CPUFigures struct {
	Policy        string  `json:"policy"`
	Runs          int     `json:"runs"` // runs with known CPU use and a static CPU grant
	CoreHours     float64 `json:"core_hours"`
	ShareOfStatic float64 `json:"share_of_static"`
	ShortPercent  float64 `json:"short_percent"` // percentage of the time in which a run used more than its request
	coreSeconds   float64
	short, all    float64 // seconds
}

// TaskReport compares the plans with the static grants of one task, and shows the plan for its next run.
type TaskReport struct {
	DagID         string      `json:"dag_id"`
	TaskID        string      `json:"task_id"`
	Runs          int         `json:"runs"` // including the first run, which the other figures may not count
	StaticGBh     float64     `json:"static_gbh"`
	PlanGBh       float64     `json:"plan_gbh"`
	ShareOfStatic float64     `json:"share_of_static"`
	StaticKilled  int         `json:"static_killed"`
	PlanKilled    int         `json:"plan_killed"`
	Plan          *PlanReport `json:"plan"`
}

// PlanReport shows a plan. The steps are those of a run whose memory at each time is the largest memory of
// the learned runs (the newest 32) up to that time.
type PlanReport struct {
	Rule        string  `json:"rule"`         // description of the chosen rule
	StaticBytes int64   `json:"static_bytes"` // the static grant
	StartBytes  int64   `json:"start_bytes"`  // limit at the start of the run
	Risk        float64 `json:"risk"`         // expected number of kills of the run
	Steps       []Step  `json:"steps"`
}

// Step is one increase of a limit.
type Step struct {
	AfterSeconds float64 `json:"after_seconds"`
	LevelBytes   int64   `json:"level_bytes"` // largest memory of the run so far
	LimitBytes   int64   `json:"limit_bytes"`
}

func newReport(cfg Config, policies []policy) *Report {
	r := &Report{Poll: cfg.Timing.Poll, Reaction: cfg.Timing.Reaction, Policies: []*Figures{{Policy: Static, Grows: true}}}
	for _, p := range policies {
		f := &Figures{Policy: p.name(), Grows: true}
		switch p := p.(type) {
		case stepwise:
			f.Grows, f.Hindsight = false, p.current
		case *phasedPolicy:
			f.Grows = false
		case perfect:
			f.Hindsight = true
		}
		r.Policies = append(r.Policies, f)
	}
	r.Requests = []*Requests{{Policy: Static}, {Policy: planName}}
	r.CPU = []*CPUFigures{{Policy: Static}, {Policy: planName}}
	return r
}

func (f *Figures) add(run *Run, tries []try) {
	f.Runs++
	f.Tries += len(tries)
	f.Killed += countKills(tries)
	for _, t := range tries {
		f.byteSeconds += t.cost(run)
		for i := 1; i < len(t.limits); i++ {
			if t.limits[i] != t.limits[i-1] {
				f.resizes++
			}
		}
	}
}

// countKills returns the number of killed tries. The last of maxTries tries may be killed, too.
func countKills(tries []try) (kills int) {
	for _, t := range tries {
		if t.killed {
			kills++
		}
	}
	return kills
}

func (t *try) cost(run *Run) float64 {
	sum := 0.0
	for i, limit := range t.limits {
		sum += limit * run.width(i)
	}
	return sum
}

// addRequests adds the memory requests of the last try of one run. With the plan, the request is the limit of the plan,
// but at most the static limit. A run whose planned tries were all killed does not count.
func (r *Report) addRequests(run *Run, staticTries, planned []try) {
	last := planned[len(planned)-1]
	if last.killed {
		return
	}
	limits, wanted := staticTries[len(staticTries)-1].limits, last.limits
	for i, limit := range limits {
		r.Requests[0].byteSeconds += limit * run.width(i)
		r.Requests[1].byteSeconds += math.Min(limit, wanted[i]) * run.width(i)
	}
}

func (r *Report) addCPU(samples []plan.CoreSample, static float64, planned []float64) {
	for p, f := range r.CPU {
		f.Runs++
		for i, s := range samples {
			request := static
			if p == 1 {
				request = planned[i]
			}
			seconds := plan.CoreSeconds(samples, i)
			f.coreSeconds += request * seconds
			f.all += seconds
			if s.Cores > request {
				f.short += seconds
			}
		}
	}
}

func (r *Report) finish() {
	staticCost := r.Policies[0].byteSeconds
	for _, f := range r.Policies {
		f.LimitGBh, f.ShareOfStatic = gigabyteHours(f.byteSeconds), ratio(f.byteSeconds, staticCost)
		f.KilledPercent = 100 * ratio(float64(f.Killed), float64(f.Runs))
		f.ResizesPerRun = ratio(float64(f.resizes), float64(f.Runs))
	}
	for _, f := range r.Requests {
		f.RequestGBh, f.ShareOfStatic = gigabyteHours(f.byteSeconds), ratio(f.byteSeconds, r.Requests[0].byteSeconds)
	}
	for _, f := range r.CPU {
		f.CoreHours, f.ShareOfStatic = f.coreSeconds/3600, ratio(f.coreSeconds, r.CPU[0].coreSeconds)
		f.ShortPercent = 100 * ratio(f.short, f.all)
	}
	for _, t := range r.PerTask {
		t.ShareOfStatic = ratio(t.PlanGBh, t.StaticGBh)
	}
	r.Tasks = len(r.PerTask)
}

func gigabyteHours(byteSeconds float64) float64 { return byteSeconds / 1e9 / 3600 }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
