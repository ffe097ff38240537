// Package report compares the requested, granted and used memory of each task, the most wasteful
// task first, and names the obstacles to a better size. Its static form suggests static requests for
// teams that do not ask for predictions.
//
// The usage comes from the ledger of savings, so that it equals the numbers of package savings. A
// nil number is unknown.
package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext"

	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Source reads the ledger and samples of peaks.
type Source interface {
	savings.Source
	// PeakSample returns the runs whose last try is in a uniform sample of at most `limit` tries of a task: those with a
	// success of known peak, and those that were OOM-killed and never succeeded.
	PeakSample(ctx context.Context, task sizing.TaskKey, limit int) ([]store.PeakRow, error)
	// Realised compares the promised risks of first tries with their outcomes. It reads the newest receipts of a
	// task, at most `limit`; these include the receipts of later tries.
	Realised(ctx context.Context, task sizing.TaskKey, limit int) (sizing.RealisedRisk, error)
}

// Severity says how much the size of a task needs attention.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // clearly more kills than the risk target allows, or the grants and kills cost more than the baseline
	Warning  Severity = "warning"  // see minUsedShare
	OK       Severity = "ok"       // none of the others
	Unknown  Severity = "unknown"  // the mean grant or the mean usage is unknown
)

// A task has the severity Warning if it uses less than minUsedShare of its grants and causes at least noticeableShare of the
// waste of all tasks. The second condition excludes the many small tasks that use little of their grants but waste almost
// nothing.
const (
	minUsedShare    = 0.5
	noticeableShare = 0.01
)

// Task is one task of a report. GrantedBytes and UsedBytes are means over the run time of the
// successes for which they are known, and GB·h are sums over the window.
type Task struct {
	Namespace string   `json:"namespace"`
	DagID     string   `json:"dag_id"`
	TaskID    string   `json:"task_id"`
	Group     string   `json:"group"`
	Severity  Severity `json:"severity"`
	Tries     int      `json:"tries"`
	Kills     int      `json:"kills"`

	RequestedBytes *int64 `json:"requested_bytes"` // baseline: the first static request
	GrantedBytes   *int64 `json:"granted_bytes"`
	UsedBytes      *int64 `json:"used_bytes"`

	RequestedGBH *float64 `json:"requested_gbh"`
	GrantedGBH   *float64 `json:"granted_gbh"`
	UsedGBH      *float64 `json:"used_gbh"`
	KilledGBH    *float64 `json:"killed_gbh"`
	WastedGBH    *float64 `json:"wasted_gbh"`
	SavedGBH     *float64 `json:"saved_gbh"`
	SavedMoney   *float64 `json:"saved_money"`

	KilledPercent *float64 `json:"killed_percent"` // kills as a percentage of successes and kills
	Risk          *float64 `json:"risk"`           // mean promised risk of the reported first tries among the newest RealisedReceipts receipts
	RiskTarget    float64  `json:"risk_target"`
	Source        *string  `json:"source"`            // probable source of the next answer
	WhyNot        *string  `json:"why_not,omitempty"` // obstacles to a better size
	Static        *Static  `json:"static,omitempty"`
}

// Report contains the tasks of a window. savings.Answer documents the days.
type Report struct {
	From     *savings.Day  `json:"from"`
	To       *savings.Day  `json:"to"`
	FirstDay *savings.Day  `json:"first_day"`
	LastDay  *savings.Day  `json:"last_day"`
	Tasks    []Task        `json:"tasks"`
	Groups   []StaticGroup `json:"groups,omitempty"` // only in a static report
	Total    savings.Row   `json:"total"`
	Currency *string       `json:"currency"`
}

// RealisedReceipts is the largest number of newest receipts of a task that are read for the mean promised risk.
const RealisedReceipts = 500

// Options select the tasks and the form of a report.
type Options struct {
	Filter store.SavingsFilter
	Prices savings.Prices
	Static bool // whether the report suggests static requests
}

// Read returns the report of the tasks with the given profiles, without those that have no try in the
// window. The caller must pass only profiles of tasks that o.Filter selects.
func Read(ctx context.Context, source Source, profiles []sizing.Profile, o Options) (*Report, error) {
	answer, err := savings.Read(ctx, source, o.Filter, store.ByTask, o.Prices)
	if err != nil {
		return nil, err
	}
	report := &Report{From: answer.From, To: answer.To, FirstDay: answer.FirstDay, LastDay: answer.LastDay,
		Tasks: make([]Task, 0, len(profiles)), Total: answer.Total, Currency: answer.Currency}
	rows, baselines := map[sizing.TaskKey]*savings.Row{}, map[sizing.TaskKey]*savings.Baseline{}
	for i := range answer.Rows {
		r := &answer.Rows[i]
		rows[sizing.TaskKey{Namespace: *r.Namespace, DAG: *r.DagID, Task: *r.TaskID}] = r
	}
	for i := range answer.Baselines {
		b := &answer.Baselines[i]
		baselines[sizing.TaskKey{Namespace: b.Namespace, DAG: b.DagID, Task: b.TaskID}] = b
	}
	samples := map[sizing.TaskKey][]store.PeakRow{}
	for i := range profiles {
		p := &profiles[i]
		row := rows[p.Task]
		if row == nil {
			continue // no try in the window
		}
		realised, err := source.Realised(ctx, p.Task, RealisedReceipts)
		if err != nil {
			return nil, err
		}
		task := newTask(p, row, &answer.Total, baselines[p.Task], realised)
		if o.Static {
			if samples[p.Task], err = source.PeakSample(ctx, p.Task, sampleRows); err != nil {
				return nil, err
			}
			task.Static = NewStatic(samples[p.Task], &task)
		}
		report.Tasks = append(report.Tasks, task)
	}
	slices.SortStableFunc(report.Tasks, worstFirst)
	if o.Static {
		report.Groups = newStaticGroups(report.Tasks, samples)
	}
	return report, nil
}

// worstFirst orders tasks by descending waste; tasks with unknown waste are last.
func worstFirst(a, b Task) int {
	waste := func(t *Task) float64 {
		if t.WastedGBH == nil {
			return math.Inf(-1)
		}
		return *t.WastedGBH
	}
	return cmp.Compare(waste(&b), waste(&a))
}

// newTask returns the report of one task. `total` is the sum over all tasks; `baseline` is nil if it is unknown.
func newTask(p *sizing.Profile, row, total *savings.Row, baseline *savings.Baseline, realised sizing.RealisedRisk) Task {
	t := Task{
		Namespace: p.Task.Namespace, DagID: p.Task.DAG, TaskID: p.Task.Task, Group: string(p.Group), Tries: row.Tries, Kills: row.Kills,
		RequestedGBH: row.RequestedGBH, GrantedGBH: row.GrantedGBH, UsedGBH: row.UsedGBH, KilledGBH: row.KilledGBH,
		WastedGBH: row.WastedGBH, SavedGBH: row.SavedGBH, SavedMoney: row.SavedMoney, RiskTarget: p.Policy.WithDefaults().RiskTarget,
	}
	if baseline != nil {
		t.RequestedBytes = baseline.MemoryBytes
	}
	t.GrantedBytes, t.UsedBytes = bytesOver(row.GrantedGBH, row.SuccessHours), bytesOver(row.UsedGBH, row.UsedHours)
	if ended := row.Successes + row.Kills; ended > 0 {
		percent := 100 * float64(row.Kills) / float64(ended)
		t.KilledPercent = &percent
	}
	if realised.Tries > 0 {
		risk := realised.Promised / float64(realised.Tries)
		t.Risk = &risk
	}
	t.Source = sourceOf(p, &t)
	t.Severity = severityOf(&t, row, total.WastedGBH)
	if obstacles := obstaclesOf(p, &t, row); obstacles != "" {
		t.WhyNot = &obstacles
	}
	return t
}

// bytesOver returns the mean amount in bytes of GB·h over a number of hours; nil if it is unknown.
func bytesOver(gbh, hours *float64) *int64 {
	if gbh == nil || hours == nil || *hours == 0 {
		return nil
	}
	bytes := int64(math.Round(*gbh * 1e9 / *hours))
	return &bytes
}

func sourceOf(p *sizing.Profile, t *Task) *string {
	source := ""
	switch {
	case p.Champion != nil:
		source = string(sizing.FromModel)
	case p.LargestPeak > 0:
		source = string(sizing.FromProfile)
	case t.RequestedBytes != nil:
		source = string(sizing.FromRequested)
	default:
		return nil
	}
	return &source
}

// severityOf returns the severity of a task. `wasted` is the waste of all tasks in GB·h; nil if it is unknown.
func severityOf(t *Task, row *savings.Row, wasted *float64) Severity {
	switch {
	case isKilledTooOften(row.Kills, row.Successes+row.Kills, t.RiskTarget), t.SavedGBH != nil && *t.SavedGBH < 0:
		return Critical
	case t.GrantedBytes == nil || t.UsedBytes == nil:
		return Unknown
	case float64(*t.UsedBytes) < minUsedShare*float64(*t.GrantedBytes) && t.WastedGBH != nil && wasted != nil && *t.WastedGBH >= noticeableShare**wasted:
		return Warning
	}
	return OK
}

// killSignificance is the significance level of isKilledTooOften: one tail of a 95 % interval. A larger value would rate more
// tasks as critical although their kills are chance.
const killSignificance = 0.025

// isKilledTooOften reports whether k or more kills in n tries have a probability below killSignificance, if the probability of
// a kill is the risk target in each try (exact binomial test). The interval of Wilson is too narrow here: it excludes a target
// of 1.5 % after one kill in ten tries, which happens to 14 % of the tasks at this target.
func isKilledTooOften(k, n int, target float64) bool {
	return k > 0 && mathext.RegIncBeta(float64(k), float64(n-k+1), target) < killSignificance
}

// NoGrantYet is the obstacle of a task whose savings are zero, and which has no kills and no other obstacles: its tries
// ran with their static requests, because the history was imported, or because Airflow does not apply the answers.
const NoGrantYet = "no grant yet"

func obstaclesOf(p *sizing.Profile, t *Task, row *savings.Row) string {
	var reasons []string
	switch p.Policy.WithDefaults().Mode {
	case sizing.Shadow:
		reasons = append(reasons, "shadow")
	case sizing.Off:
		reasons = append(reasons, "off")
	}
	if p.Champion == nil {
		reasons = append(reasons, fmt.Sprintf("too few runs (%d)", p.Observations))
	}
	if p.Ambiguous != "" {
		reasons = append(reasons, "ambiguous features")
	}
	if t.RequestedBytes == nil {
		reasons = append(reasons, "request not known")
	}
	if t.SavedGBH != nil && *t.SavedGBH == 0 && row.Kills == 0 && len(reasons) == 0 {
		reasons = append(reasons, NoGrantYet)
	}
	return strings.Join(reasons, ", ")
}
