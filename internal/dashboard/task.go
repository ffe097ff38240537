package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Task is the page of one task.
type Task struct {
	TaskRow
	Runs       int              `json:"observations"` // number of reported tries
	AllKills   int              `json:"all_kills"`    // number of OOM kills among them
	Memory     sizing.Quantiles `json:"memory"`       // of the peaks
	Seconds    sizing.Quantiles `json:"seconds"`      // of the durations
	Realised   RiskSummary      `json:"realised"`
	Ambiguity  string           `json:"ambiguity,omitempty"`   // of runs with equal features and very different peaks; "" for none
	Quarantine []string         `json:"quarantined,omitempty"` // reports that wait for confirmation
	Features   []string         `json:"features"`
	Policy     PolicyForm       `json:"policy"`
	Drivers    []Driver         `json:"drivers"` // features that change the grants
	Versions   []Version        `json:"models"`
	Newest     []TryRow         `json:"newest_tries"`
	Changes    []LevelChange    `json:"level_changes"` // of the peaks
	Bins       []sizing.Bytes   `json:"bins_bytes"`    // upper edges
	Python     string           `json:"python"`        // to paste into a DAG
	YAML       string           `json:"yaml"`          // the suggested static request, to paste into the manifest of a pod

	UsageProfile *TaskUsage `json:"usage_profile,omitempty"`
	Currency     string     `json:"currency,omitempty"`

	Usage       chart.Figure   `json:"-"`
	Peaks       chart.Figure   `json:"-"`
	Reliability chart.Figure   `json:"-"`
	Dependence  []chart.Figure `json:"-"`
	WhatIfURL   string         `json:"-"`
	AuditURL    string         `json:"-"`
	RunTimeURL  string         `json:"-"`
	AskURL      string         `json:"-"`
	ForecastURL string         `json:"-"`
	IsPinned    bool           `json:"pinned"` // a version is pinned; a training can replace it only if the watchdog pinned it
	IsAdmin     bool           `json:"-"`      // the caller may change the task
}

// Version is a stored model.
type Version struct {
	Number     int       `json:"version"`
	Family     string    `json:"family"`
	Runs       int       `json:"observations"` // number of reports of the task at the training
	TrainedAt  time.Time `json:"trained_at"`
	Active     bool      `json:"active"`
	PinnedBy   string    `json:"pinned_by,omitempty"`
	Withdrawn  bool      `json:"withdrawn"`  // excluded from later rollbacks
	Evaluation string    `json:"evaluation"` // why the training promoted it, or did not
}

// TryRow is one ended try in a list.
type TryRow struct {
	At        time.Time     `json:"at"`
	RunID     string        `json:"run_id"`
	MapIndex  int           `json:"map_index"`
	Try       int           `json:"try_number"`
	Outcome   string        `json:"outcome"`
	Allocated sizing.Bytes  `json:"allocated_bytes"` // the request if no allocation was reported; 0: unknown
	Used      sizing.Bytes  `json:"used_bytes"`      // 0: unknown
	IsKill    bool          `json:"is_kill"`         // Used is a lower bound
	Duration  time.Duration `json:"duration_ns"`
	URL       string        `json:"-"`
}

const (
	shownTries  = 300  // newest tries on the chart of memory
	listedTries = 25   // newest tries in the table
	peakRows    = 4000 // largest sample of runs in the histogram of peaks
	promiseRows = 2000 // newest promises in the reliability diagram
)

func (d *Dashboard) task(req *pageRequest) (*view, error) {
	key, err := req.keyOf()
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	profile, err := d.svc.Task(ctx, key)
	if err != nil {
		return nil, err
	}
	t := &Task{
		Runs: profile.Observations, AllKills: profile.Kills, Memory: profile.Memory, Seconds: profile.Seconds, Realised: riskSummary(profile.Realised, 0),
		Ambiguity: profile.Ambiguous, Policy: newPolicyForm(profile.Policy), IsAdmin: req.admin.Covers(key), Currency: d.cfg.Prices.Currency,
		WhatIfURL: d.taskURL("/whatif", key, "curve", "1"), AuditURL: d.taskURL("/audit", key), RunTimeURL: d.taskURL("/runtime", key), AskURL: d.taskURL("/ask", key),
		ForecastURL: d.url("/forecast", "namespace", key.Namespace, "dag_id", key.DAG),
	}
	if t.Bins = profile.Bins; profile.Policy.Grid == sizing.OnBins && len(profile.Policy.Edges) > 0 {
		t.Bins = profile.Policy.Edges
	}
	for _, f := range profile.Schema.Fields {
		t.Features = append(t.Features, f.Name)
	}
	for _, q := range profile.Quarantined {
		t.Quarantine = append(t.Quarantine, q.Memory.Approx()+": "+q.Detail)
	}
	if err := d.fillTask(ctx, t, key, &profile); err != nil {
		return nil, err
	}
	t.Python, t.YAML = pythonOf(t), yamlOf(t)
	return &view{Title: key.String(), Nav: "Tasks", Template: "task", Page: t, Table: func() ([]string, [][]string) { return triesTable(t.Newest) }}, nil
}

func (d *Dashboard) fillTask(ctx context.Context, t *Task, key sizing.TaskKey, profile *sizing.Profile) error {
	filter := store.SavingsFilter{Scopes: []store.Scope{{}}, Namespace: key.Namespace, DAG: key.DAG, Task: key.Task}
	read, err := report.Read(ctx, &pageSavings{Source: d.svc}, []sizing.Profile{*profile}, report.Options{Filter: filter, Prices: d.cfg.Prices})
	if err != nil {
		return err
	}
	owners, err := d.ownersOf(ctx, key.Namespace)
	if err != nil {
		return err
	}
	t.TaskRow = newTaskList(read, []sizing.Profile{*profile}, owners).rows[0]
	if t.UsageProfile, err = d.taskUsage(ctx, key); err != nil {
		return err
	}
	recent, err := d.svc.RecentTries(ctx, key, shownTries)
	if err != nil {
		return err
	}
	rows := d.tryRows(key, recent.Rows)
	t.Changes = levelChanges(rows)
	t.Usage = usageFigure(rows, sizing.Bytes(orZero(t.RequestedBytes)), t.Changes)
	for i := len(rows) - 1; i >= 0 && len(t.Newest) < listedTries; i-- {
		t.Newest = append(t.Newest, rows[i])
	}
	if t.Versions, err = d.versions(ctx, key); err != nil {
		return err
	}
	for _, version := range t.Versions {
		t.IsPinned = t.IsPinned || version.PinnedBy != ""
	}
	if t.Runs == 0 {
		return nil
	}
	return d.fillFigures(ctx, t, key)
}

// fillFigures adds the suggested static request, the drivers (see Driver) and the charts that need many rows. The cache
// bounds how often it reads these rows.
func (d *Dashboard) fillFigures(ctx context.Context, t *Task, key sizing.TaskKey) error {
	peaks, err := cached(ctx, d.cache, fmt.Sprintf("peaks %q", key), func(ctx context.Context) ([]store.PeakRow, error) {
		return d.svc.PeakSample(ctx, key, peakRows)
	})
	if err != nil {
		return err
	}
	t.Peaks = peaksFigure(peaks, t)
	t.Static = report.NewStatic(slices.Clone(peaks), &t.TaskRow.Task)
	promises, err := cached(ctx, d.cache, fmt.Sprintf("promises %q", key), func(ctx context.Context) ([]sizing.Promise, error) {
		return d.svc.Promises(ctx, key, promiseRows)
	})
	if err != nil {
		return err
	}
	t.Reliability = reliabilityFigure(promises)
	if t.Version == 0 {
		return nil
	}
	state := fmt.Sprintf("%d %d", t.Version, t.Runs) // the factors change with both, because the model learns each run
	drivers, err := cachedInState(ctx, d.cache, fmt.Sprintf("drivers %q", key), state, func(ctx context.Context) (*drivers, error) {
		factors, err := d.svc.RecentFactors(ctx, key, explainedTries)
		return newDrivers(factors), err
	})
	if err != nil {
		return err
	}
	t.Drivers, t.Dependence = drivers.list, drivers.figures
	return nil
}

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

func (d *Dashboard) tryRows(key sizing.TaskKey, stored []sizing.HistoryRow) []TryRow {
	rows := make([]TryRow, len(stored))
	for i := range stored {
		r := &stored[i]
		rows[i] = TryRow{At: r.At, RunID: r.RunID, MapIndex: r.MapIndex, Try: r.Try, Outcome: r.Outcome.String(), Allocated: r.Allocated.Memory,
			IsKill: r.Outcome.OOM(), Duration: r.Duration, URL: d.tryURL(key, r.RunID, r.MapIndex, r.Try)}
		if rows[i].Allocated == 0 {
			rows[i].Allocated = r.Requested.Memory
		}
		if peak, censoring := r.Peak(); r.Outcome == sizing.Success && censoring == sizing.Exact || rows[i].IsKill {
			rows[i].Used = peak
		}
	}
	return rows
}

func (d *Dashboard) tryURL(key sizing.TaskKey, runID string, mapIndex, number int) string {
	index := ""
	if mapIndex != sizing.NoMap {
		index = strconv.Itoa(mapIndex)
	}
	return d.taskURL("/try", key, "run_id", runID, "map_index", index, "try_number", strconv.Itoa(number))
}

func (d *Dashboard) versions(ctx context.Context, key sizing.TaskKey) ([]Version, error) {
	stored, err := d.svc.Models(ctx, key)
	if err != nil {
		return nil, err
	}
	versions := make([]Version, len(stored))
	for i, m := range stored {
		versions[i] = Version{Number: m.Version, Family: m.Family, Runs: m.Observations, TrainedAt: m.TrainedAt, Active: m.Active,
			PinnedBy: m.PinnedBy, Withdrawn: m.Withdrawn, Evaluation: evaluationText(m.Evaluation)}
	}
	return versions, nil
}

func evaluationText(stored []byte) string {
	var e struct{ Reason string }
	if len(stored) == 0 || json.Unmarshal(stored, &e) != nil {
		return ""
	}
	return e.Reason
}

// identifier matches the names that a Jinja template may write after a dot.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pythonOf returns the imports and the operator with the features of the task and its first request (4Gi if this request
// is unknown), to paste into a DAG.
func pythonOf(t *Task) string {
	var b strings.Builder
	b.WriteString("from airflow_provider_loadaware.operators import SizedKubernetesPodOperator\nfrom kubernetes.client import models as k8s\n\nSizedKubernetesPodOperator(\n")
	fmt.Fprintf(&b, "    task_id=%s,\n    features={", strconv.Quote(t.TaskID))
	for _, name := range t.Features {
		param := "{{ params[" + strconv.Quote(name) + "] }}"
		if identifier.MatchString(name) {
			param = "{{ params." + name + " }}"
		}
		fmt.Fprintf(&b, "\n        %s: %s,", strconv.Quote(name), strconv.Quote(param))
	}
	b.WriteString("\n    },\n    container_resources=k8s.V1ResourceRequirements(requests={\"memory\": ")
	request := "4Gi"
	if t.RequestedBytes != nil {
		request = sizing.Bytes(*t.RequestedBytes).String()
	}
	b.WriteString(strconv.Quote(request) + "}),  # the fallback\n    ...\n)")
	return b.String()
}

func yamlOf(t *Task) string {
	if t.Static == nil || t.Static.Request == nil {
		return ""
	}
	return fmt.Sprintf("resources:\n  requests:\n    memory: %s\n  limits:\n    memory: %s", *t.Static.Request, *t.Static.Request)
}

func triesTable(tries []TryRow) (header []string, table [][]string) {
	header = []string{"at", "run_id", "map_index", "try_number", "outcome", "allocated_bytes", "used_bytes", "duration_seconds"}
	known := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	for _, t := range tries {
		table = append(table, []string{t.At.UTC().Format(time.RFC3339), t.RunID, strconv.Itoa(t.MapIndex), strconv.Itoa(t.Try), t.Outcome,
			known(int64(t.Allocated)), known(int64(t.Used)), strconv.FormatFloat(t.Duration.Seconds(), 'f', -1, 64)})
	}
	return header, table
}

// PolicyFields returns the fields of the policy form.
func (p *Task) PolicyFields() *PolicyForm { return &p.Policy }
