package dashboard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// WhatIf is the page that replays the history with other settings.
type WhatIf struct {
	Form     WhatIfForm          `json:"form"`
	Errors   []sizing.FieldError `json:"errors,omitempty"`
	State    whatif.State        `json:"state,omitempty"` // empty if no replay was started
	Progress float64             `json:"progress"`
	Runs     int                 `json:"runs"`     // number of replayed runs
	LeftOut  int                 `json:"left_out"` // number of tries that did not succeed, or have no measured peak or no duration
	Results  []ReplayRow         `json:"results"`
	Problem  string              `json:"problem,omitempty"` // why there is no result

	Curve chart.Figure `json:"-"`
	DAGs  []string     `json:"-"` // to choose from
}

// WhatIfForm has the fields of the form as a person types them.
type WhatIfForm struct {
	Namespace   string `json:"namespace"`
	DagID       string `json:"dag_id"`
	TaskID      string `json:"task_id"`
	RiskPercent string `json:"risk_percent"`
	Floor       string `json:"floor"`
	Cap         string `json:"cap"`
	MaxLifts    string `json:"max_lifts"`
	Curve       bool   `json:"curve"`
}

// ReplayRow is the result of one replay.
type ReplayRow struct {
	Name        string   `json:"name"`
	RiskTarget  *float64 `json:"risk_target,omitempty"`
	Utilisation float64  `json:"utilisation_percent"` // used GB·h as a share of the used and wasted GB·h
	WastedGBH   float64  `json:"wasted_gbh"`
	Killed      float64  `json:"killed_percent"`   // share of the runs that had an OOM kill
	Lifts       int      `json:"lifts"`            // number of tries after an OOM kill
	GaveUp      int      `json:"gave_up"`          // number of runs without a success
	Promised    *float64 `json:"promised_percent"` // mean promised risk of the first tries with a promise
	Realised    *float64 `json:"realised_percent"` // share of these tries that were killed
	IsCurve     bool     `json:"is_curve"`         // a point of the curve of risk targets
}

func newReplayRow(name string, r *whatif.Result) ReplayRow {
	return ReplayRow{Name: name, RiskTarget: r.Settings.RiskTarget, Utilisation: r.Utilisation, WastedGBH: r.WastedGBh, Killed: r.Killed, Lifts: r.Lifts, GaveUp: r.GaveUp,
		Promised: r.Promised, Realised: r.Realised}
}

// curveTargets are the risk targets of the curve, the same as in `loadaware whatif --curve`.
var curveTargets = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1}

const (
	replayWait  = 700 * time.Millisecond // time for which a page waits for its replay before it shows the progress
	listedNames = 200                    // maximum number of names that a form offers
)

// readWhatIfForm does not trim ids, which may begin or end with a space.
func readWhatIfForm(q url.Values) WhatIfForm {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return WhatIfForm{Namespace: cmp.Or(q.Get("namespace"), sizing.DefaultNamespace), DagID: q.Get("dag_id"), TaskID: q.Get("task_id"), RiskPercent: get("risk_percent"),
		Floor: get("floor"), Cap: get("cap"), MaxLifts: get("max_lifts"), Curve: get("curve") != ""}
}

// question converts the form. hasSettings reports whether it has settings besides the curve.
func (f *WhatIfForm) question() (q *whatif.Question, hasSettings bool, bad []sizing.FieldError) {
	form := PolicyForm{Floor: f.Floor, Cap: f.Cap, RiskPercent: f.RiskPercent, MaxLifts: f.MaxLifts}
	policy, bad := form.policy()
	settings := whatif.Settings{MaxLifts: policy.MaxLifts}
	if policy.RiskTarget > 0 {
		settings.RiskTarget = &policy.RiskTarget
	}
	if policy.Floor > 0 {
		settings.Floor = &policy.Floor
	}
	if policy.Cap > 0 {
		settings.Cap = &policy.Cap
	}
	q = &whatif.Question{Task: sizing.TaskKey{Namespace: f.Namespace, DAG: f.DagID, Task: f.TaskID}}
	if hasSettings = f.RiskPercent+f.Floor+f.Cap+f.MaxLifts != ""; hasSettings {
		q.Settings = append(q.Settings, settings)
	}
	if f.Curve {
		for i := range curveTargets {
			point := settings
			point.RiskTarget = &curveTargets[i]
			q.Settings = append(q.Settings, point)
		}
	}
	if len(bad) == 0 {
		bad = q.Validate()
	}
	return q, hasSettings, bad
}

func (f *WhatIfForm) text() string {
	var parts []string
	for _, p := range [][2]string{{"risk", f.RiskPercent}, {"floor", f.Floor}, {"cap", f.Cap}, {"lifts", f.MaxLifts}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	return strings.Replace(strings.Join(parts, ", "), "risk "+f.RiskPercent, "risk "+f.RiskPercent+" %", 1)
}

func (d *Dashboard) whatIf(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	w := &WhatIf{Form: readWhatIfForm(req.query), Results: []ReplayRow{}}
	page := &view{Title: "What if", Nav: "What if", Template: "whatif", Page: w, Table: func() ([]string, [][]string) { return replayTable(w.Results) }}
	list, err := d.taskList(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	w.DAGs = choicesOf(list.rows).DAGs
	w.DAGs = w.DAGs[:min(len(w.DAGs), listedNames)]
	if w.Form.DagID == "" {
		w.Form.Curve = true // a useful default
		if len(w.DAGs) > 0 {
			w.Form.DagID = w.DAGs[0]
		}
		return page, nil
	}
	question, hasSettings, bad := w.Form.question()
	if w.Errors = bad; len(bad) > 0 {
		return page, nil
	}
	if err := req.grants.CheckTask(question.Task); err != nil {
		return nil, err
	}
	sums, err := d.sums(ctx, store.SavingsFilter{Scopes: req.grants.Scopes(), Namespace: question.Task.Namespace, DAG: question.Task.DAG, Task: question.Task.Task}, store.ByAll)
	if err != nil {
		return nil, err
	}
	job, err := d.replays.start(ctx, question, fmt.Sprint(sums.Total.Tries))
	if err != nil {
		if sizing.KindOf(err) != sizing.Exhausted {
			return nil, err
		}
		w.Problem, page.Refresh = "Other replays wait or run. This page starts yours when one of them has ended.", 5
		return page, nil
	}
	job.Wait(ctx, replayWait)
	var result *whatif.Report
	if w.State, w.Progress, result, err = job.Status(); err != nil {
		w.Problem = err.Error()
	}
	if w.State == whatif.Running {
		page.Refresh = 2
	}
	if result != nil {
		w.fill(result, hasSettings)
	}
	return page, nil
}

// fill expects in report.Results first the result of the settings of the form, if hasSettings, and then the points of
// the curve.
func (w *WhatIf) fill(report *whatif.Report, hasSettings bool) {
	w.Runs, w.LeftOut = report.Rows, report.LeftOut
	w.Results = append(w.Results, newReplayRow("today's policy", &report.Current))
	results := report.Results
	today := chart.Series{Name: "today's policy", Colour: 4, Style: chart.Dots, X: []float64{report.Current.Killed}, Y: []float64{report.Current.Utilisation}, Titles: []string{"today's policy"}}
	marks := []chart.Series{today}
	if hasSettings && len(results) > 0 {
		w.Results = append(w.Results, newReplayRow(w.Form.text(), &results[0]))
		marks = append(marks, chart.Series{Name: w.Form.text(), Colour: 5, Style: chart.Dots, X: []float64{results[0].Killed}, Y: []float64{results[0].Utilisation}, Titles: []string{w.Form.text()}})
		results = results[1:]
	}
	line := chart.Series{Colour: 1, Style: chart.Line}
	dots := chart.Series{Name: "risk target from 0.1 % to 10 %", Colour: 1, Style: chart.Dots}
	for i := range results {
		row := newReplayRow(fmt.Sprintf("risk %g %%", 100**results[i].Settings.RiskTarget), &results[i])
		row.IsCurve = true
		w.Results = append(w.Results, row)
		dots.X, dots.Y = append(dots.X, row.Killed), append(dots.Y, row.Utilisation)
		dots.Titles = append(dots.Titles, fmt.Sprintf("%s: %s killed, %s used", row.Name, percent(row.Killed), percent(row.Utilisation)))
	}
	line.X, line.Y = dots.X, dots.Y
	if len(dots.X) > 0 {
		marks = slices.Insert(marks, 0, line, dots)
	}
	w.Curve = chart.Spec{
		Title: "Utilisation against kills", Summary: "Utilisation and share of killed runs for each of the settings below",
		X: chart.Axis{Label: "runs with an OOM kill", Unit: chart.Percent}, Y: chart.Axis{Label: "used of granted", Unit: chart.Percent}, Series: marks,
	}.Draw()
}

func replayTable(rows []ReplayRow) (header []string, table [][]string) {
	header = []string{"settings", "utilisation_percent", "wasted_gbh", "killed_percent", "lifts", "gave_up", "promised_percent", "realised_percent"}
	for i := range rows {
		r := &rows[i]
		table = append(table, []string{r.Name, csvNumber(&r.Utilisation), csvNumber(&r.WastedGBH), csvNumber(&r.Killed), strconv.Itoa(r.Lifts), strconv.Itoa(r.GaveUp),
			csvNumber(r.Promised), csvNumber(r.Realised)})
	}
	return header, table
}
