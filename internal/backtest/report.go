package backtest

import (
	"cmp"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Report has the results of all policies on one trace.
type Report struct {
	Trace    string   `json:"trace"`
	Feedback string   `json:"feedback"` // "immediate" or "delayed"
	Rows     int      `json:"rows"`
	LeftOut  int      `json:"left_out"` // tries that are not a success with a measured peak and duration
	Rejected int      `json:"rejected"` // rows that cannot be read
	Repeated int      `json:"repeated"` // rows that repeat the try of an earlier row; a try counts once
	Results  []Result `json:"results"`  // in the order of Config.Policies
}

// Result has the figures of one policy on one trace.
type Result struct {
	Policy string `json:"policy"`
	Figures
	Deciles      []Decile      `json:"risk_by_decile,omitempty"`       // first tries by ascending promise; nil with fewer than ten promises
	LimitDeciles []Decile      `json:"risk_by_limit_decile,omitempty"` // first tries by the rank of the limit within the task; nil with fewer than ten promises
	WorstHeavy   *Worst        `json:"worst_heavy"`                    // nil if no task is heavy
	Tasks        []TaskFigures `json:"tasks"`                          // by descending memory time of the peaks of all rows
}

// TaskFigures has the figures of one policy on one task.
type TaskFigures struct {
	Task string `json:"task"`
	Figures
}

// Figures has the costs of a policy. A row is one run with all its tries. GB is 1e9 bytes.
type Figures struct {
	Rows        int     `json:"rows"`
	UsedGBh     float64 `json:"used_gbh"` // by the rows that succeeded
	WastedGBh   float64 `json:"wasted_gbh"`
	Utilisation float64 `json:"utilisation_percent"` // used / (used + wasted); 0 if both are 0
	Killed      float64 `json:"killed_percent"`      // rows that were killed at least once
	Attempts    int     `json:"attempts"`            // number of tries
	Kills       int     `json:"kills"`
	GaveUp      int     `json:"gave_up"` // rows that never succeeded
	Risk        *Risk   `json:"risk"`    // nil if the policy promised nothing

	Causes Causes               `json:"wasted_by_cause"`
	Ages   [ageCount]AgeFigures `json:"by_age"` // by number of the run within its task, first runs first
}

// Risk compares the promised with the realised risk of first tries.
type Risk struct {
	Rows        int     `json:"rows"`             // number of first tries with a promised risk
	PromisedSum float64 `json:"promised_sum"`     // expected number of kills of these tries
	Killed      int     `json:"killed"`           // number of these tries that were killed
	Promised    float64 `json:"promised_percent"` // the mean promise
	Realised    float64 `json:"realised_percent"`
	Low         float64 `json:"realised_low_percent"`  // lower end of the 95 % Wilson interval of the realised risk
	High        float64 `json:"realised_high_percent"` // upper end
}

// Worst is the heavy task with the largest share of killed rows; see heavyShare.
type Worst struct {
	Task   string  `json:"task"`
	Killed float64 `json:"killed_percent"`
}

func newReport(t *Trace, cfg Config) *Report {
	r := &Report{Trace: t.Name, Feedback: "immediate", Rows: len(t.rows), LeftOut: t.LeftOut, Rejected: len(t.Rejected), Repeated: t.Repeated}
	if cfg.Delayed {
		r.Feedback = "delayed"
	}
	r.Results = make([]Result, len(cfg.Policies))
	return r
}

const gbHour = 1e9 * 3600 // byte-seconds

func (a *taskCosts) figures() Figures {
	f := Figures{
		Rows: a.rows, UsedGBh: a.used / gbHour, WastedGBh: a.wasted / gbHour,
		Killed:   percent(a.killed, a.rows),
		Attempts: a.tries, Kills: a.tries - a.rows + a.gaveUp, GaveUp: a.gaveUp,
		Causes: newCauses(&a.causes), Ages: newAgeFigures(&a.ages),
	}
	if a.used > 0 { // otherwise no row succeeded; used + wasted is 0, too, if the policy gave up before the first try of every row
		f.Utilisation = 100 * a.used / (a.used + a.wasted)
	}
	if a.promises > 0 {
		killed := a.promises - a.survived
		low, high := sizing.WilsonInterval(killed, a.promises)
		f.Risk = &Risk{
			Rows: a.promises, PromisedSum: a.promised, Killed: killed,
			Promised: 100 * a.promised / float64(a.promises), Realised: percent(killed, a.promises),
			Low: 100 * low, High: 100 * high,
		}
	}
	return f
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// A task is heavy if it has at least heavyRows rows and at least the share heavyShare of what the rows of all tasks
// needed (byte-seconds). Fewer than heavyRows rows cannot show that 1 % of them are killed. The only task of a trace is
// always heavy.
const (
	heavyShare = 0.1
	heavyRows  = 100
)

func worstHeavy(tasks []*taskCosts, all *taskCosts) *Worst {
	var worst *Worst
	for _, a := range tasks {
		if len(tasks) > 1 && (a.needed < heavyShare*all.needed || a.rows < heavyRows) {
			continue
		}
		if killed := percent(a.killed, a.rows); worst == nil || killed > worst.Killed {
			worst = &Worst{Task: a.task.String(), Killed: killed}
		}
	}
	return worst
}

func byNeed(a, b *taskCosts) int {
	return cmp.Or(cmp.Compare(b.needed, a.needed), cmp.Compare(a.task.String(), b.task.String()))
}
