package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/insight/explain"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Try is the page of one try: what it got, and why.
type Try struct {
	Namespace    string         `json:"namespace"`
	DagID        string         `json:"dag_id"`
	TaskID       string         `json:"task_id"`
	RunID        string         `json:"run_id,omitempty"`
	MapIndex     int            `json:"map_index"`
	TryNumber    int            `json:"try_number"`
	PredictionID string         `json:"prediction_id,omitempty"`
	AnsweredAt   *time.Time     `json:"answered_at,omitempty"`
	IsAnswered   bool           `json:"is_answered"` // false: no answer is recorded; the explanation is of the grant that the try would get now
	Requested    sizing.Bytes   `json:"requested_bytes"`
	Granted      sizing.Bytes   `json:"granted_bytes"`     // of the answer
	Outcome      *TryRow        `json:"outcome,omitempty"` // nil without a report
	Features     []Feature      `json:"features"`
	Text         string         `json:"text,omitempty"`            // the explanation of the grant
	Reason       string         `json:"reason,omitempty"`          // of the answer
	Note         string         `json:"note,omitempty"`            // why Steps are incomplete; "" if they are complete
	WouldGet     sizing.Bytes   `json:"would_get_bytes,omitempty"` // what a try without a recorded answer would get now
	Source       sizing.Source  `json:"source,omitempty"`
	Mode         sizing.Mode    `json:"mode,omitempty"`
	Version      int            `json:"model_version,omitempty"`
	Promised     *float64       `json:"promised"`    // probability that the try is killed with its grant; nil if it is not stated
	RiskTarget   float64        `json:"risk_target"` // of the policy
	IsShadow     bool           `json:"is_shadow"`   // Steps lead to the amount that enforce mode would grant
	BaseName     string         `json:"base_name,omitempty"`
	Base         sizing.Bytes   `json:"base_bytes,omitempty"`
	Steps        []Step         `json:"steps"`
	Ladder       []sizing.Bytes `json:"ladder_bytes"`     // the grant, and the grants after OOM kills
	Rung         int            `json:"rung"`             // index in Ladder of the first amount that would have held; 0: none or unknown
	Killed       string         `json:"killed,omitempty"` // why the try was OOM-killed; "" if it was not
	Nearest      []SimilarRun   `json:"nearest"`
	Tries        []TryRow       `json:"tries"` // ended tries of the same run

	Series  chart.Figure `json:"-"`
	TaskURL string       `json:"-"`
}

// Key returns the key of the task.
func (t *Try) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: t.Namespace, DAG: t.DagID, Task: t.TaskID}
}

// Feature is a feature of the try.
type Feature struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Step is a factor on the way from the base to the grant. X and Width place its bar, in percent.
type Step struct {
	Kind   string       `json:"kind"`
	Name   string       `json:"name"`
	Value  string       `json:"value,omitempty"` // of a feature
	Factor float64      `json:"factor"`
	After  sizing.Bytes `json:"bytes_after"` // the amount after this factor
	X      float64      `json:"-"`
	Width  float64      `json:"-"`
	Colour string       `json:"-"`
}

// SimilarRun is a past run with similar inputs.
type SimilarRun struct {
	RunID    string       `json:"run_id"`
	Distance float64      `json:"distance"`     // 0: identical inputs, or no feature explains the peaks
	Needed   sizing.Bytes `json:"needed_bytes"` // peak; of a killed run a lower bound
	Outcome  string       `json:"outcome"`
	At       time.Time    `json:"at"`
	URL      string       `json:"-"`
}

func (d *Dashboard) try(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	t, explained, err := d.readTry(ctx, req)
	if err != nil {
		return nil, err
	}
	if explained != nil {
		d.explain(t, explained)
		if !t.IsAnswered {
			t.WouldGet = explained.Chain.Granted
		}
	}
	key := t.Key()
	t.TaskURL = d.taskURL("/task", key)
	if t.RunID != "" {
		run, err := d.svc.TriesOfRun(ctx, key, t.RunID, t.MapIndex)
		if err != nil && sizing.KindOf(err) != sizing.NotFound {
			return nil, err
		}
		t.Tries = d.tryRows(key, run.Rows)
		for i := range t.Tries {
			if t.Tries[i].Try == t.TryNumber {
				t.Outcome = &t.Tries[i]
			}
		}
		if req.observe.Covers(key) {
			t.Series = d.seriesFigure(ctx, t)
		}
	}
	title := t.RunID
	if title == "" {
		title = "Prediction " + t.PredictionID
	}
	return &view{Title: title, Nav: "Tasks", Template: "try", Page: t, Table: func() ([]string, [][]string) { return stepsTable(t) }}, nil
}

func (d *Dashboard) readTry(ctx context.Context, req *pageRequest) (*Try, *explain.Explanation, error) {
	if id := req.query.Get("prediction_id"); id != "" {
		if detail := sizing.CheckRunID(id); detail != "" {
			return nil, nil, sizing.InvalidField("prediction_id", "%s", detail)
		}
		receipt, err := d.svc.Receipt(ctx, id)
		if err == nil && !req.grants.Covers(receipt.Ask.Try.TaskKey) {
			err = sizing.UnknownPrediction(id)
		}
		if err != nil {
			return nil, nil, err
		}
		return d.tryOfReceipt(ctx, &receipt)
	}
	try, err := req.tryKey()
	if err != nil {
		return nil, nil, err
	}
	if try.Number == 0 {
		if try.Number, err = d.lastTry(ctx, &try); err != nil {
			return nil, nil, err
		}
	}
	receipt, err := d.svc.ReceiptOfTry(ctx, try)
	if err == nil {
		return d.tryOfReceipt(ctx, &receipt)
	}
	if sizing.KindOf(err) != sizing.NotFound {
		return nil, nil, err
	}
	return d.tryWithoutReceipt(ctx, try)
}

// tryKey reads the key of a try. The number 0 means the last try of the run. Airflow inserts values into the
// address of an embedded page (iframe) without percent-encoding, so a + in a run id is a plus and not a space.
// Airflow does not replace the placeholder of the map index if the task is not mapped.
func (req *pageRequest) tryKey() (try sizing.TryKey, err error) {
	if try.TaskKey, err = req.keyOf(); err != nil {
		return try, err
	}
	query, err := url.ParseQuery(strings.ReplaceAll(req.URL.RawQuery, "+", "%2B"))
	if err != nil {
		return try, sizing.Errorf(sizing.Invalid, "read the address: %v; percent-encode its values", err)
	}
	try.RunID, try.MapIndex = query.Get("run_id"), sizing.NoMap
	for _, number := range []struct {
		name   string
		target *int
	}{{"map_index", &try.MapIndex}, {"try_number", &try.Number}} {
		if text := req.query.Get(number.name); text != "" && !strings.HasPrefix(text, "{") {
			if *number.target, err = strconv.Atoi(text); err != nil {
				return try, sizing.InvalidField(number.name, "must be a whole number, not %.50q", text)
			}
		}
	}
	checked := try
	checked.Number = cmp.Or(checked.Number, 1)
	if bad := checked.Validate(true); len(bad) > 0 {
		return try, &sizing.Error{Kind: sizing.Invalid, Detail: "some fields are not valid", Fields: bad}
	}
	return try, nil
}

func (d *Dashboard) lastTry(ctx context.Context, try *sizing.TryKey) (number int, err error) {
	number = 1
	run, err := d.svc.TriesOfRun(ctx, try.TaskKey, try.RunID, try.MapIndex)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return number, err
	}
	for i := range run.Rows {
		number = max(number, run.Rows[i].Try)
	}
	return number, nil
}

func newTry(ask *sizing.Ask) *Try {
	t := &Try{Namespace: ask.Try.Namespace, DagID: ask.Try.DAG, TaskID: ask.Try.Task, RunID: ask.Try.RunID, MapIndex: ask.Try.MapIndex, TryNumber: ask.Try.Number,
		Requested: ask.Requested.Memory, Features: []Feature{}}
	for _, name := range ask.Features.Names() {
		t.Features = append(t.Features, Feature{name, featureText(ask.Features[name])})
	}
	return t
}

func featureText(v sizing.Value) string {
	if v.Kind == sizing.Missing {
		return ""
	}
	return fmt.Sprint(v.JSON())
}

func (d *Dashboard) tryOfReceipt(ctx context.Context, receipt *sizing.Receipt) (*Try, *explain.Explanation, error) {
	t := newTry(&receipt.Ask)
	t.IsAnswered, t.PredictionID, t.AnsweredAt, t.Granted = true, receipt.Allocation.PredictionID, &receipt.At, receipt.Allocation.Memory.Limit
	explained, err := d.explainer.Receipt(ctx, receipt)
	return t, explained, err
}

// tryWithoutReceipt returns a try without a receipt, such as a try of an imported history.
func (d *Dashboard) tryWithoutReceipt(ctx context.Context, try sizing.TryKey) (*Try, *explain.Explanation, error) {
	run, err := d.svc.TriesOfRun(ctx, try.TaskKey, try.RunID, try.MapIndex)
	if err != nil {
		return nil, nil, err
	}
	index := slices.IndexFunc(run.Rows, func(r sizing.HistoryRow) bool { return r.Try == try.Number })
	if index < 0 {
		return nil, nil, sizing.Errorf(sizing.NotFound, "try %d of run %q is not known: it was neither predicted nor reported", try.Number, try.RunID)
	}
	row := &run.Rows[index]
	ask := &sizing.Ask{Try: try, Features: run.Schema.Features(row.Features), Requested: row.Requested}
	explained, err := d.explainer.Ask(ctx, ask)
	if sizing.KindOf(err) == sizing.NotFound {
		err = nil // no model, profile or request can size the try
	}
	return newTry(ask), explained, err
}

func (d *Dashboard) explain(t *Try, e *explain.Explanation) {
	t.Text, t.Reason, t.Note, t.Source, t.Mode, t.Promised, t.RiskTarget, t.Ladder = e.Text, e.Reason, e.Note, e.Source, e.Mode, e.Risk.Promised, e.Risk.Target, e.Ladder
	if e.Model != nil {
		t.Version = e.Model.Version
	}
	chain := &e.Chain
	if e.Shadow != nil {
		t.IsShadow, chain = true, e.Shadow
	}
	t.BaseName, t.Base = chain.BaseName, chain.Base
	t.Steps = stepsOf(chain)
	if e.Killed != nil {
		t.Killed, t.Rung = e.Killed.Text, e.Killed.Rung
		t.Text = strings.TrimSpace(strings.Replace(e.Text, e.Killed.Text, "", 1)) // the page shows it above
	}
	for _, r := range e.Nearest {
		t.Nearest = append(t.Nearest, SimilarRun{RunID: r.RunID, Distance: r.Distance, Needed: r.Peak, Outcome: r.Outcome.String(), At: r.At,
			URL: d.tryURL(t.Key(), r.RunID, r.MapIndex, r.TryNumber)})
	}
}

// stepsOf returns the steps with their bars. Each bar reaches from the amount before the step to the
// amount after it, on one logarithmic axis.
func stepsOf(c *explain.Chain) []Step {
	low, high, before := float64(c.Base), float64(c.Base), float64(c.Base)
	for i := range c.Terms {
		low, high = min(low, float64(c.Terms[i].After)), max(high, float64(c.Terms[i].After))
	}
	if !(low > 0) {
		low = 1
	}
	position := func(v float64) float64 {
		if !(high > low) {
			return 0
		}
		return 100 * math.Log(max(v, low)/low) / math.Log(high/low)
	}
	steps := make([]Step, len(c.Terms))
	for i := range c.Terms {
		term := &c.Terms[i]
		from, to := position(before), position(float64(term.After))
		colour := "c1"
		if from > to {
			colour = "c2"
		}
		steps[i] = Step{Kind: string(term.Kind), Name: term.Name, Value: term.Value, Factor: term.Factor, After: term.After,
			X: math.Round(10*min(from, to)) / 10, Width: max(0.6, math.Round(10*math.Abs(to-from))/10), Colour: colour}
		before = float64(term.After)
	}
	return steps
}

func (d *Dashboard) seriesFigure(ctx context.Context, t *Try) chart.Figure {
	series, err := d.svc.Series(ctx, sizing.TryKey{TaskKey: t.Key(), RunID: t.RunID, MapIndex: t.MapIndex, Number: t.TryNumber})
	if err != nil || len(series.Memory) < 2 {
		return chart.Figure{} // usually no series is stored; the page is complete without the chart
	}
	x, y := make([]float64, len(series.Memory)), make([]float64, len(series.Memory))
	for i, b := range series.Memory {
		x[i], y[i] = float64(i)*series.Step.Minutes(), float64(b)
	}
	spec := chart.Spec{
		Title: "Memory during the try", Summary: fmt.Sprintf("Memory over %s", duration(time.Duration(len(x))*series.Step)),
		X: chart.Axis{Label: "minutes"}, Y: chart.Axis{Label: "memory", Unit: chart.Memory},
		Series: []chart.Series{{Name: "used", Colour: 2, X: x, Y: y}},
	}
	if t.Outcome != nil && t.Outcome.Allocated > 0 {
		spec.Markers = []chart.Marker{{Name: "allocated", Colour: 1, At: float64(t.Outcome.Allocated), OnY: true}}
	}
	return spec.Draw()
}

func stepsTable(t *Try) (header []string, table [][]string) {
	header = []string{"kind", "name", "value", "factor", "bytes_after"}
	table = append(table, []string{"base", t.BaseName, "", "1", strconv.FormatInt(int64(t.Base), 10)})
	for _, s := range t.Steps {
		table = append(table, []string{s.Kind, s.Name, s.Value, strconv.FormatFloat(s.Factor, 'g', -1, 64), strconv.FormatInt(int64(s.After), 10)})
	}
	return header, table
}
