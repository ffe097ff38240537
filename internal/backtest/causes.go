package backtest

type cause int

const (
	causeColdStart cause = iota // a success that was sized without a model of the task, except a retry at the cap
	causeMargin                 // any other success below the cap
	causeKill                   // a killed try, which wastes its whole allocation
	causeCap                    // a success at the cap or above it, except a first try in a cold start
	causeCount                  // number of causes
)

// causeOf returns the cause of the wastage of a try. `cold` is Answer.ColdStart of the answer that sized the try.
func causeOf(o *Outcome, cold bool) cause {
	switch {
	case o.Killed:
		return causeKill
	case o.Allocated >= o.Cap && (o.Above > 0 || !cold): // a first try in a cold start does not count as causeCap
		return causeCap
	case cold:
		return causeColdStart
	}
	return causeMargin
}

// Causes divides the wastage by its cause. GB is 1e9 bytes.
type Causes struct {
	ColdStartGBh float64 `json:"cold_start_gbh"` // successes that were sized without a model of the task, except retries at the cap
	MarginGBh    float64 `json:"margin_gbh"`     // other successes below the cap
	KillsGBh     float64 `json:"kills_gbh"`      // killed tries
	CapGBh       float64 `json:"cap_gbh"`        // successes at the cap or above it, except first tries in a cold start
}

func newCauses(c *[causeCount]float64) Causes {
	return Causes{c[causeColdStart] / gbHour, c[causeMargin] / gbHour, c[causeKill] / gbHour, c[causeCap] / gbHour}
}

// ageCount is the number of age groups. The age group of a run is the class of its number within its task, in order of
// start. The ages of models are narrower classes: 1, 2–3, 4–7, …
const ageCount = 4

var ageGroups = [ageCount]struct {
	last int // number of the last run of the group; 0: unbounded
	name string
}{{1, "1"}, {5, "2-5"}, {32, "6-32"}, {0, "later"}}

// ageGroupOf returns the index of the age group of a run. `before` is the number of earlier runs of the task.
func ageGroupOf(before int) int {
	for i := range ageGroups {
		if before < ageGroups[i].last {
			return i
		}
	}
	return ageCount - 1
}

// AgeFigures has the figures of the runs of one age group. GB is 1e9 bytes.
type AgeFigures struct {
	Runs      string  `json:"runs"` // numbers of the runs within their task: "1", "2-5", "6-32" or "later"
	Rows      int     `json:"rows"`
	UsedGBh   float64 `json:"used_gbh"`
	WastedGBh float64 `json:"wasted_gbh"`
	Killed    float64 `json:"killed_percent"` // rows that were killed at least once; 0 without rows
}

func newAgeFigures(groups *[ageCount]totals) (all [ageCount]AgeFigures) {
	for i := range groups {
		s := &groups[i]
		all[i] = AgeFigures{ageGroups[i].name, s.rows, s.used / gbHour, s.wasted / gbHour, percent(s.killed, max(1, s.rows))}
	}
	return all
}

// wastage returns the wastage in GB·h by cause and by age group, in the order of shareHeader.
func (f *Figures) wastage() []float64 {
	parts := []float64{f.Causes.ColdStartGBh, f.Causes.MarginGBh, f.Causes.KillsGBh, f.Causes.CapGBh}
	for i := range f.Ages {
		parts = append(parts, f.Ages[i].WastedGBh)
	}
	return parts
}

func (f *Figures) shares() []string {
	var cells []string
	for _, wasted := range f.wastage() {
		if f.WastedGBh > 0 {
			cells = append(cells, decimals(100*wasted/f.WastedGBh, 1))
		} else {
			cells = append(cells, noFigure)
		}
	}
	return cells
}

var shareHeader = []string{"cold start", "margin", "kills", "cap", "run 1", "2–5", "6–32", "later"}

func (r *Report) shareTable() table {
	t := table{header: append([]string{"policy"}, shareHeader...)}
	for i := range r.Results {
		t.rows = append(t.rows, append([]string{r.Results[i].Policy}, r.Results[i].shares()...))
	}
	return t
}

func (r *Result) shareTable() table {
	t := table{header: append([]string{"task", "wasted GB·h"}, shareHeader...)}
	for i := range r.Tasks {
		f := &r.Tasks[i]
		t.rows = append(t.rows, append([]string{f.Task, decimals(f.WastedGBh, 1)}, f.shares()...))
	}
	return t
}
