package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Overview is the first page.
type Overview struct {
	Tasks     int          `json:"tasks"`
	Total     savings.Row  `json:"total"`
	FirstDay  *savings.Day `json:"first_day"`
	LastDay   *savings.Day `json:"last_day"`
	Currency  string       `json:"currency,omitempty"`
	Kills     KillTrend    `json:"kills"`
	Risk      RiskSummary  `json:"risk"`
	Modes     Modes        `json:"modes"`
	Health    Health       `json:"health"`
	Worst     []TaskRow    `json:"worst"`      // tasks with the largest wastage
	IsGranted bool         `json:"is_granted"` // see isGranted
	Replay    *Replay      `json:"replay,omitempty"`

	Days      chart.Figure `json:"-"`
	IsSumming bool         `json:"-"` // the sums by day are not read yet
}

// KillTrend compares the kills of the last 30 days of the savings ledger with those of the 30 days before.
// Percentages are shares of the successes and kills.
type KillTrend struct {
	Percent       *float64 `json:"percent"` // of all days; nil without successes and kills
	Recent        int      `json:"recent"`
	RecentPercent *float64 `json:"recent_percent"` // nil without successes and kills
	Before        int      `json:"before"`
	BeforePercent *float64 `json:"before_percent"` // nil without successes and kills
}

// RiskSummary compares promised risks with kills, over the newest first tries of each task.
type RiskSummary struct {
	Tries    int      `json:"tries"`    // number of ended first tries with a promised risk
	Promised *float64 `json:"promised"` // mean promised risk of these tries; nil without any
	Realised *float64 `json:"realised"` // share of these tries that was OOM-killed; nil without any
	Low      float64  `json:"low"`      // 95 % interval of the realised risk
	High     float64  `json:"high"`
	Unread   int      `json:"unread_tasks,omitempty"` // number of tasks that have tries and whose risk is not read yet
}

// Modes counts the tasks by the mode of their policy.
type Modes struct {
	Enforce int `json:"enforce"`
	Shadow  int `json:"shadow"`
	Off     int `json:"off"`
	Models  int `json:"models"` // tasks with an active model
}

// Health is the state of this replica.
type Health struct {
	Ready   bool   `json:"ready"`
	Observe string `json:"observe"` // "ok", or "unavailable" while reports are rejected
	Models  int    `json:"models"`  // tasks with an active model that this replica knows
	Waiting int    `json:"waiting"` // tasks that wait for training, of all replicas
	Queued  int    `json:"queued"`  // receipts that wait to be stored
	Dropped int    `json:"dropped"` // receipts that were not stored
}

// Replay is a replay of the history of one DAG, in which loadaware sizes every try.
type Replay struct {
	DAG       string         `json:"dag_id"`
	State     whatif.State   `json:"state"`
	Progress  float64        `json:"progress"`
	Requested float64        `json:"requested_gbh"`    // by the tries of the DAG
	Result    *whatif.Result `json:"result,omitempty"` // nil while the replay runs
	Saved     float64        `json:"saved_gbh"`        // Requested minus the used and wasted GB·h of the replay
	Share     float64        `json:"saved_share"`      // of Requested
	URL       string         `json:"-"`
}

// Utilisation returns the used share of the granted memory, in which killed tries count as unused; nil if it is not
// known.
func (o *Overview) Utilisation() *float64 {
	t := &o.Total
	if t.UsedGBH == nil || t.WastedGBH == nil || *t.UsedGBH+*t.WastedGBH == 0 {
		return nil
	}
	share := *t.UsedGBH / (*t.UsedGBH + *t.WastedGBH)
	return &share
}

const worstTasks = 10

func (d *Dashboard) overview(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	list, err := d.taskList(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	o := &Overview{
		Tasks: len(list.rows), Total: list.Total, FirstDay: list.FirstDay, LastDay: list.LastDay, Currency: d.cfg.Prices.Currency,
		Kills: KillTrend{Percent: killedPercent(list.Total.Kills, list.Total.Successes)},
		Modes: countModes(list.rows), Health: d.health(), Risk: riskSummary(d.risks.sum(list.rows)),
		Worst: list.rows[:min(worstTasks, len(list.rows))], IsGranted: isGranted(list.rows),
	}
	page := &view{Title: "Overview", Nav: "Overview", Template: "overview", Page: o, Table: func() ([]string, [][]string) { return tasksTable(list.rows) }}
	if o.Risk.Unread > 0 {
		page.Refresh = 2
		if err := d.readAllRisks(ctx, req.grants, list); err != nil {
			return nil, err
		}
	}
	days, err := d.days(ctx, req, list)
	if err != nil {
		return nil, err
	}
	if days == nil {
		o.IsSumming, page.Refresh = true, 2
	} else {
		o.Kills.add(days)
		o.Days = daysFigure(days.Rows)
	}
	if !o.IsGranted && o.Total.Successes > 0 {
		if o.Replay = d.replayOf(ctx, req.grants, o.Total.Tries); o.Replay != nil && o.Replay.State == whatif.Running {
			page.Refresh = 2
		}
	}
	return page, nil
}

// awaitedDays bounds the task days (tasks times days) whose sums a page waits for. The database adds up
// this many in about 50 ms.
const awaitedDays = 5_000

// days returns the sums by day. If there are more than awaitedDays task days and their sums are not cached, it starts
// to read them and returns nil, except for JSON: a program does not load the page again.
func (d *Dashboard) days(ctx context.Context, req *pageRequest, list *taskList) (*savings.Answer, error) {
	filter := store.SavingsFilter{Scopes: req.grants.Scopes()}
	if formatOf(req.query) != asJSON && list.taskDays() > awaitedDays {
		return d.sumsIfRead(ctx, filter, store.ByDay)
	}
	return d.sums(ctx, filter, store.ByDay)
}

// isGranted reports whether some task has used a grant and has savings other than 0.
func isGranted(rows []TaskRow) bool {
	for i := range rows {
		if t := &rows[i]; t.SavedGBH != nil && *t.SavedGBH != 0 && orEmpty(t.WhyNot) != report.NoGrantYet {
			return true
		}
	}
	return false
}

func countModes(rows []TaskRow) (m Modes) {
	for i := range rows {
		switch rows[i].Mode {
		case sizing.Shadow:
			m.Shadow++
		case sizing.Off:
			m.Off++
		default:
			m.Enforce++
		}
		if rows[i].Version > 0 {
			m.Models++
		}
	}
	return m
}

func (d *Dashboard) health() Health {
	r, c := d.svc.Readiness(), d.svc.Counts()
	h := Health{Ready: r.Ready, Observe: r.Observe, Models: r.Models, Queued: c.Queued, Dropped: c.Dropped}
	if c.Backlog != nil {
		h.Waiting = c.Backlog.Waiting
	}
	return h
}

func riskSummary(r sizing.RealisedRisk, unread int) RiskSummary {
	s := RiskSummary{Tries: r.Tries, Low: r.Low, High: r.High, Unread: unread}
	if n := float64(r.Tries); n > 0 {
		promised, realised := r.Promised/n, float64(r.Killed)/n
		s.Promised, s.Realised = &promised, &realised
	}
	return s
}

const trendDays = 30

func (t *KillTrend) add(days *savings.Answer) {
	if days.LastDay == nil {
		return
	}
	var recentSuccesses, successesBefore int
	for i := range days.Rows {
		r := &days.Rows[i]
		switch daysBefore := int(days.LastDay.Sub(r.Day.Time) / (24 * time.Hour)); {
		case daysBefore < trendDays:
			t.Recent, recentSuccesses = t.Recent+r.Kills, recentSuccesses+r.Successes
		case daysBefore < 2*trendDays:
			t.Before, successesBefore = t.Before+r.Kills, successesBefore+r.Successes
		}
	}
	t.RecentPercent, t.BeforePercent = killedPercent(t.Recent, recentSuccesses), killedPercent(t.Before, successesBefore)
}

func killedPercent(kills, successes int) *float64 {
	if kills+successes == 0 {
		return nil
	}
	percent := 100 * float64(kills) / float64(kills+successes)
	return &percent
}

const maxPoints = 120

func daysFigure(rows []savings.Row) chart.Figure {
	if len(rows) == 0 {
		return chart.Figure{}
	}
	first, last := rows[0].Day.Time, rows[len(rows)-1].Day.Time
	count := int(last.Sub(first)/(24*time.Hour)) + 1
	width := (count + maxPoints - 1) / maxPoints // days in each point
	n := (count + width - 1) / width
	names, x := make([]string, n), make([]float64, n)
	requested, granted, used, killed := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	kills := make([]int, n)
	for i := range names {
		names[i], x[i] = first.AddDate(0, 0, i*width).Format(time.DateOnly), float64(i)
	}
	for i := range rows {
		r := &rows[i]
		point := int(r.Day.Sub(first)/(24*time.Hour)) / width
		for _, part := range []struct {
			sum []float64
			add *float64
		}{{requested, r.RequestedGBH}, {granted, r.GrantedGBH}, {used, r.UsedGBH}, {killed, r.KilledGBH}} {
			if part.add != nil {
				part.sum[point] += *part.add
			}
		}
		kills[point] += r.Kills
	}
	var killedX, killedY []float64
	var titles []string
	for i, k := range kills {
		if k > 0 {
			killedX, killedY = append(killedX, x[i]), append(killedY, killed[i])
			lost := "GB·h not known"
			if killed[i] > 0 {
				lost = amount(killed[i]) + " GB·h"
			}
			titles = append(titles, fmt.Sprintf("%s: %s, %s", names[i], plural(k, "kill"), lost))
		}
	}
	every := "per day"
	if width > 1 {
		every = fmt.Sprintf("per %d days", width)
	}
	spec := chart.Spec{
		Title:   "Memory time " + every,
		Summary: fmt.Sprintf("Requested, granted and used memory time in GB·h %s from %s to %s, and the OOM kills", every, names[0], last.Format(time.DateOnly)),
		X:       chart.Axis{Names: names}, Y: chart.Axis{Label: "GB·h " + every},
		Series: []chart.Series{
			{Name: "requested", Colour: 3, Style: chart.Dashed, X: x, Y: requested},
			{Name: "granted", Colour: 1, X: x, Y: granted},
			{Name: "used", Colour: 2, X: x, Y: used},
		},
	}
	if len(killedX) > 0 {
		spec.Series = append(spec.Series, chart.Series{Name: "lost to OOM kills", Colour: 4, Style: chart.Crosses, X: killedX, Y: killedY, Titles: titles})
	}
	return spec.Draw()
}

// maxReplayed is the maximum number of tries that the overview replays automatically. A larger value replays larger
// DAGs, but such a replay takes longer and uses more of the CPUs.
const maxReplayed = 5_000

// replayOf returns the replay of the DAG that requested the most memory time. It returns nil if there is no
// such DAG, if it has more than maxReplayed tries, or after an error. `tries` is the number of tries of the
// caller's tasks; a new try starts a new replay.
func (d *Dashboard) replayOf(ctx context.Context, grants auth.Grants, tries int) *Replay {
	dags, err := d.sums(ctx, store.SavingsFilter{Scopes: grants.Scopes()}, store.ByDAG)
	if err != nil {
		return nil // the page is complete without the replay
	}
	var largest *savings.Row
	for i := range dags.Rows {
		r := &dags.Rows[i]
		if r.RequestedGBH != nil && (largest == nil || *r.RequestedGBH > *largest.RequestedGBH) {
			largest = r
		}
	}
	if largest == nil || largest.Tries > maxReplayed || *largest.RequestedGBH == 0 {
		return nil
	}
	key := sizing.TaskKey{Namespace: *largest.Namespace, DAG: *largest.DagID}
	job, err := d.replays.start(ctx, &whatif.Question{Task: key}, fmt.Sprint(tries))
	if err != nil {
		return nil
	}
	r := &Replay{DAG: key.DAG, Requested: *largest.RequestedGBH, URL: d.url("/whatif", "namespace", key.Namespace, "dag_id", key.DAG)}
	var result *whatif.Report
	if r.State, r.Progress, result, err = job.Status(); err != nil {
		return nil
	}
	if result != nil {
		r.Result = &result.Current
		r.Saved = r.Requested - result.Current.UsedGBh - result.Current.WastedGBh
		r.Share = r.Saved / r.Requested
	}
	return r
}
