package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/insight/placement"
	"github.com/loadaware/loadaware/internal/insight/timeout"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// RunTime is the page of the run times of a task. Times are seconds.
type RunTime struct {
	Namespace   string              `json:"namespace"`
	DagID       string              `json:"dag_id"`
	TaskID      string              `json:"task_id"`
	Form        RunTimeForm         `json:"form"`
	Errors      []sizing.FieldError `json:"errors,omitempty"`
	Runs        int                 `json:"runs"` // number of runs of the histogram; 0: no run time is known
	Median      float64             `json:"median_seconds"`
	P95         float64             `json:"p95_seconds"`
	P99         float64             `json:"p99_seconds"`
	Longest     float64             `json:"longest_seconds"` // of the newest successes
	Risk        float64             `json:"risk"`            // share of healthy (not stuck) runs that Suggested may stop
	Suggested   float64             `json:"suggested_timeout_seconds"`
	Timeout     *float64            `json:"timeout_seconds"`     // in use; nil if unknown
	Probability *float64            `json:"timeout_probability"` // that a run exceeds Timeout; nil if Timeout is unknown
	Problem     string              `json:"problem,omitempty"`   // of the timeout or the run times; "" for none
	Drift       float64             `json:"drift"`               // median quotient of the ratios of run time to prediction of a newest and an earlier run
	NewestRatio float64             `json:"newest_ratio"`        // of run time to prediction, of the newest run
	IsOutlier   bool                `json:"newest_is_outlier"`   // the newest run took more than taskmodel.OutlierRatio times the predicted median
	Shapes      []RunTimeShape      `json:"shapes"`              // the most probable first
	NodeTypes   []string            `json:"node_types"`          // whose effect is known
	WhatIf      []RunTimeRow        `json:"what_if"`             // before and after the change in the form

	Ratios chart.Figure `json:"-"`
	bars   []ratioBar
}

// RunTimeForm has the fields of the form as a person types them.
type RunTimeForm struct {
	RiskPercent string `json:"risk_percent"`
	Timeout     string `json:"timeout_seconds"`
	Set         string `json:"set"` // features to replace, as name=value
	NodeType    string `json:"node_type"`
	Load        string `json:"cluster_load_percent"`
}

// RunTimeRow describes the run times before or after a change. Times are seconds.
type RunTimeRow struct {
	Name     string  `json:"name"`
	P25      float64 `json:"p25_seconds"`
	Median   float64 `json:"median_seconds"`
	P75      float64 `json:"p75_seconds"`
	P95      float64 `json:"p95_seconds"`
	Outliers float64 `json:"outlier_share"`
}

// RunTimeShape is a distribution of the ratio of run time to prediction that several tasks share.
type RunTimeShape struct {
	Name        string  `json:"name"`
	Probability float64 `json:"probability"` // that the ratios of the task have this distribution
}

// ratioBar is one bar of the histogram of the ratios of run time to prediction.
type ratioBar struct {
	From, To  float64 // ratios
	Runs      float64
	Predicted float64 // predicted share of the next runs
}

// Key returns the key of the task.
func (r *RunTime) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: r.Namespace, DAG: r.DagID, Task: r.TaskID}
}

func (d *Dashboard) runTime(req *pageRequest) (*view, error) {
	key, err := req.keyOf()
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	r := &RunTime{Namespace: key.Namespace, DagID: key.DAG, TaskID: key.Task, Shapes: []RunTimeShape{}, NodeTypes: []string{}, WhatIf: []RunTimeRow{},
		Form: readRunTimeForm(req.query)}
	page := &view{Title: "Run times of " + key.String(), Nav: "Tasks", Template: "runtime", Page: r, Table: func() ([]string, [][]string) { return ratiosTable(r.bars) }}
	ask, bad := r.Form.ask(key)
	if r.Errors = bad; len(bad) > 0 {
		return page, nil
	}
	answer, err := cached(ctx, d.cache, fmt.Sprintf("runtime %q %v %v", key, ask.Risk, ask.Timeout), func(ctx context.Context) (*service.RunTimeAnswer, error) {
		return d.svc.RunTime(ctx, ask)
	})
	switch {
	case sizing.KindOf(err) == sizing.NotFound:
		if _, taskErr := d.svc.Task(ctx, key); taskErr != nil {
			return nil, taskErr // the task is not known
		}
		return page, nil // the page says how to report run times
	case err != nil:
		return nil, err
	}
	r.fill(ask, answer)
	return page, d.expectRunTimes(ctx, r)
}

func readRunTimeForm(query url.Values) RunTimeForm {
	get := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	return RunTimeForm{RiskPercent: get("risk_percent"), Timeout: get("timeout"), Set: get("set"), NodeType: query.Get("node_type"), Load: get("load_percent")}
}

func (d *Dashboard) expectRunTimes(ctx context.Context, r *RunTime) error {
	change, bad := r.Form.change()
	if r.Errors = append(r.Errors, bad...); len(bad) > 0 {
		return nil
	}
	if r.Form.Set+r.Form.NodeType+r.Form.Load == "" { // nothing to compare, so the page does not wait until the effects of node types are fitted
		r.NodeTypes = append(r.NodeTypes, d.svc.NodeTypes(ctx, r.Namespace)...)
		return nil
	}
	key := fmt.Sprintf("what if the run time %q %+v", r.Key(), r.Form)
	w, err := cached(ctx, d.cache, key, func(ctx context.Context) (*service.RunTimeWhatIf, error) {
		return d.svc.RunTimeWhatIf(ctx, r.Key(), change)
	})
	switch sizing.KindOf(err) {
	case sizing.Invalid:
		r.Errors = append(r.Errors, sizing.FieldError{Field: "what if:", Detail: err.Error()})
		return nil
	case sizing.NotFound, sizing.Unavailable: // the page omits the comparison
		return nil
	}
	if err != nil {
		return err
	}
	r.NodeTypes = append(r.NodeTypes, w.NodeTypes...)
	r.WhatIf = []RunTimeRow{runTimeRow("before", w.Before), runTimeRow("after", w.After)}
	return nil
}

func runTimeRow(name string, q placement.Quantiles) RunTimeRow {
	return RunTimeRow{name, q.P25, q.Median, q.P75, q.P95, q.Outliers}
}

func (f *RunTimeForm) change() (c *placement.Change, bad []sizing.FieldError) {
	c = &placement.Change{To: sizing.Placement{NodeType: f.NodeType}}
	if f.Load != "" {
		percent, err := strconv.ParseFloat(f.Load, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			bad = append(bad, sizing.FieldError{Field: "load", Detail: fmt.Sprintf("must be 0 to 100 %%, not %.50q", f.Load)})
		}
		load := percent / 100
		c.To.ClusterLoad = &load
	}
	set, wrong := featuresOf(f.Set)
	c.Set = set
	return c, append(bad, wrong...)
}

// ask converts the fields of the form that describe a timeout.
func (f *RunTimeForm) ask(key sizing.TaskKey) (ask *service.RunTimeAsk, bad []sizing.FieldError) {
	ask = &service.RunTimeAsk{Task: key, Risk: service.DefaultTimeoutRisk}
	if f.RiskPercent != "" {
		percent, err := strconv.ParseFloat(f.RiskPercent, 64)
		if ask.Risk = percent / 100; err != nil || !(ask.Risk >= service.MinTimeoutRisk && ask.Risk <= service.MaxTimeoutRisk) {
			bad = append(bad, sizing.FieldError{Field: "risk", Detail: fmt.Sprintf("must be %g to %g %%, not %.50q", 100*service.MinTimeoutRisk, 100*service.MaxTimeoutRisk, f.RiskPercent)})
		}
	}
	if f.Timeout != "" {
		seconds, err := strconv.ParseFloat(f.Timeout, 64)
		if err != nil || !(seconds > 0 && seconds <= maxTimeout.Seconds()) {
			bad = append(bad, sizing.FieldError{Field: "timeout", Detail: fmt.Sprintf("must be seconds above 0, at most %.0f, not %.50q", maxTimeout.Seconds(), f.Timeout)})
			seconds = 0
		}
		ask.Timeout = time.Duration(seconds * float64(time.Second))
	}
	return ask, bad
}

// maxTimeout is the longest timeout that the form accepts. The pages show longer times as unknown; see the function seconds.
const maxTimeout = 365 * 24 * time.Hour

func (r *RunTime) fill(ask *service.RunTimeAsk, a *service.RunTimeAnswer) {
	p := &a.Profile
	r.Runs, r.Median, r.P95, r.P99, r.Longest, r.Risk, r.Suggested = p.Runs, a.Median, a.P95, a.P99, a.LongestSeen, ask.Risk, a.SuggestedTimeout
	r.Drift, r.NewestRatio, r.IsOutlier, r.Probability = a.Drift, p.NewestRatio, p.IsOutlier, a.TimeoutProbability
	if a.Timeout > 0 {
		seconds := a.Timeout.Seconds()
		r.Timeout = &seconds
	}
	figures := timeout.Figures{Risk: r.Risk, Suggested: r.Suggested, Current: r.Timeout, Probability: r.Probability, Drift: r.Drift}
	r.Problem, _ = figures.Problem()
	for _, s := range p.Shapes {
		r.Shapes = append(r.Shapes, RunTimeShape{s.Name, s.Probability})
	}
	r.bars = ratioBars(a)
	r.Ratios = ratiosFigure(r.bars, p.Runs)
}

const binsPerBar = 2

// ratioBars returns the bars up to the bar after the last one with a run.
func ratioBars(a *service.RunTimeAnswer) (bars []ratioBar) {
	width, last := a.Profile.BinWidth(), 0
	for from := 0; from+binsPerBar <= len(a.Profile.Histogram); from += binsPerBar {
		b := ratioBar{From: width * float64(from), To: width * float64(from+binsPerBar)}
		for i := from; i < from+binsPerBar; i++ {
			b.Runs += float64(a.Profile.Histogram[i])
			b.Predicted += a.Profile.Predicted[i]
		}
		if bars = append(bars, b); b.Runs > 0 {
			last = len(bars)
		}
	}
	return bars[:min(len(bars), last+1)]
}

func ratiosFigure(bars []ratioBar, runs int) chart.Figure {
	if len(bars) == 0 {
		return chart.Figure{}
	}
	observed := chart.Series{Name: "runs", Colour: 2, Style: chart.Bars}
	next := chart.Series{Name: "predicted for the next runs", Colour: 1}
	for _, b := range bars {
		observed.X, observed.Y = append(observed.X, b.From), append(observed.Y, b.Runs)
		observed.Titles = append(observed.Titles, fmt.Sprintf("%.2f to %.2f times the prediction: %s", b.From, b.To, plural(int(b.Runs), "run")))
		next.X, next.Y = append(next.X, (b.From+b.To)/2), append(next.Y, b.Predicted*float64(runs))
	}
	observed.X = append(observed.X, bars[len(bars)-1].To)
	return chart.Spec{
		Title: "Run time beside its prediction", Summary: fmt.Sprintf("Histogram of the ratio of run time to prediction, of %s", plural(runs, "run")),
		X: chart.Axis{Label: "times the prediction", Min: 0, Max: bars[len(bars)-1].To}, Y: chart.Axis{Label: "runs"}, Series: []chart.Series{observed, next},
		Markers: []chart.Marker{{Name: "as predicted", Colour: 3, At: 1}},
	}.Draw()
}

func ratiosTable(bars []ratioBar) (header []string, table [][]string) {
	header = []string{"ratio_from", "ratio_to", "runs", "predicted_share"}
	for i := range bars {
		b := &bars[i]
		table = append(table, []string{csvNumber(&b.From), csvNumber(&b.To), csvNumber(&b.Runs), csvNumber(&b.Predicted)})
	}
	return header, table
}

// featuresOf reads "name=value" pairs, separated by white space. It reads a value as a number or a
// boolean if possible, and otherwise as a text.
func featuresOf(text string) (f sizing.Features, bad []sizing.FieldError) {
	f = sizing.Features{}
	for pair := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(pair, "=")
		if unescaped, err := url.QueryUnescape(value); err == nil && strings.Contains(value, "%") {
			value = unescaped // a value with white space
		}
		if !ok || name == "" || value == "" {
			bad = append(bad, sizing.FieldError{Field: "features", Detail: fmt.Sprintf("must be pairs such as product_count=1253, not %.50q", pair)})
			continue
		}
		f[name] = sizing.UntypedValue(value)
	}
	if len(bad) == 0 {
		bad = f.Validate()
	}
	return f, bad
}
