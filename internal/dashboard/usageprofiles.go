package dashboard

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// Profiles is the page of the usage profiles of a namespace.
type Profiles struct {
	Namespace     string       `json:"namespace"`
	Namespaces    []string     `json:"-"`                 // to choose from
	Missing       string       `json:"missing,omitempty"` // why there are no profiles
	Version       int          `json:"version"`
	LearnedAt     *time.Time   `json:"learned_at"`
	Runs          int          `json:"runs"`           // number of runs from which the profiles were found
	Tasks         int          `json:"tasks"`          // number of tasks of these runs
	Quantities    []string     `json:"quantities"`     // by which runs are compared
	Coverage      float64      `json:"coverage"`       // share of these runs with a profile
	Silhouette    float64      `json:"silhouette"`     // −1 to 1; high: the profiles are distinct
	DaviesBouldin float64      `json:"davies_bouldin"` // 0 or more; low: the profiles are distinct
	Hopkins       float64      `json:"hopkins"`        // 0 to 1; high: the runs form groups
	Rows          []ProfileRow `json:"profiles"`       // the outlier group is the last
	Chosen        *ProfileRow  `json:"chosen,omitempty"`
	Members       []MemberRow  `json:"members,omitempty"` // of Chosen
	IsCut         bool         `json:"-"`                 // the HTML table omits later members
}

// ProfileRow is one usage profile.
type ProfileRow struct {
	ID         int         `json:"id"` // 0: the outlier group
	Runs       int         `json:"runs"`
	Tasks      int         `json:"tasks"`
	Killed     int         `json:"killed"`         // OOM-killed runs
	Share      float64     `json:"share"`          // of the runs from which the profiles were found
	Previous   *float64    `json:"previous_share"` // Share in the previous version; nil: a new profile
	Spreads    []SpreadRow `json:"spreads"`
	Memory     *SpreadRow  `json:"-"`
	Seconds    *SpreadRow  `json:"-"`
	Cores      *SpreadRow  `json:"-"`
	OfRequest  *SpreadRow  `json:"-"` // peak divided by request
	X, Width   float64     `json:"-"` // of the bar of memory, in percent
	Median     float64     `json:"-"` // position of the median in the bar of memory, in percent
	IsSelected bool        `json:"-"`
	URL        string      `json:"-"`
}

// SpreadRow has quantiles of one quantity over the runs of a profile, in the unit of the quantity.
type SpreadRow struct {
	Quantity string  `json:"quantity"`
	Runs     int     `json:"runs"` // number of runs in which the quantity is known
	P10      float64 `json:"p10"`
	P50      float64 `json:"p50"`
	P90      float64 `json:"p90"`
}

// MemberRow is one task of a profile.
type MemberRow struct {
	DagID  string  `json:"dag_id"`
	TaskID string  `json:"task_id"`
	Runs   int     `json:"runs"`
	Share  float64 `json:"share"` // of the runs of the task
	URL    string  `json:"-"`
}

const shownMembers = 300

func (d *Dashboard) usageProfiles(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	namespace, err := req.namespace()
	if err != nil {
		return nil, err
	}
	page := &Profiles{Namespace: namespace, Quantities: []string{}, Rows: []ProfileRow{}}
	if bad := sizing.CheckID(page.Namespace); bad != "" {
		return nil, sizing.InvalidField("namespace", "%s", bad)
	}
	shown := &view{Title: "Profiles", Nav: "Profiles", Template: "profiles", Page: page, Table: func() ([]string, [][]string) { return profilesTable(page.Rows) }}
	list, err := d.taskList(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	page.Namespaces = choicesOf(list.rows).Namespaces
	page.Namespaces = page.Namespaces[:min(len(page.Namespaces), listedNames)]
	set, err := d.svc.UsageProfiles(ctx, page.Namespace)
	switch {
	case sizing.KindOf(err) == sizing.NotFound:
		page.Missing = err.Error()
		return shown, nil
	case err != nil:
		return nil, err
	}
	d.fillProfiles(page, set)
	if text := req.query.Get("id"); text != "" {
		if err := d.chooseProfile(req, page, set, text); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

func (d *Dashboard) fillProfiles(page *Profiles, set *service.UsageProfiles) {
	page.Version, page.LearnedAt, page.Runs, page.Tasks = set.Version, &set.LearnedAt, set.Runs(), len(set.Tasks)
	page.Coverage, page.Silhouette, page.DaviesBouldin, page.Hopkins = set.Coverage, set.Silhouette, set.DaviesBouldin, set.Hopkins
	for _, q := range set.Quantities {
		page.Quantities = append(page.Quantities, q.String())
	}
	for i := range set.Profiles {
		page.Rows = append(page.Rows, d.profileRow(page.Namespace, &set.Profiles[i]))
	}
	page.Rows = append(page.Rows, d.profileRow(page.Namespace, &set.Outliers))
	placeBars(page.Rows)
}

func (d *Dashboard) profileRow(namespace string, p *usageprofile.Profile) ProfileRow {
	r := ProfileRow{ID: p.ID, Runs: p.Runs, Tasks: p.Tasks, Killed: p.Killed, Share: p.Share, Spreads: []SpreadRow{},
		URL: d.url("/profiles", "namespace", namespace, "id", strconv.Itoa(p.ID))}
	if p.PreviousShare >= 0 {
		r.Previous = &p.PreviousShare
	}
	byQuantity := map[usageprofile.Quantity]*SpreadRow{}
	for q, s := range p.Spreads {
		if s.Known > 0 {
			row := SpreadRow{usageprofile.Quantity(q).String(), s.Known, s.P10, s.P50, s.P90}
			byQuantity[usageprofile.Quantity(q)] = &row
			r.Spreads = append(r.Spreads, row)
		}
	}
	r.Memory, r.Seconds, r.Cores, r.OfRequest = byQuantity[usageprofile.MemoryPeak], byQuantity[usageprofile.Duration], byQuantity[usageprofile.CPUPeak], byQuantity[usageprofile.PeakOverRequest]
	if r.Cores == nil {
		r.Cores = byQuantity[usageprofile.CPUMean]
	}
	return r
}

func placeBars(rows []ProfileRow) {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range rows {
		if m := rows[i].Memory; m != nil {
			low, high = min(low, math.Log(m.P10)), max(high, math.Log(m.P90))
		}
	}
	const thinnest = 0.5
	for i := range rows {
		if m := rows[i].Memory; m != nil && high > low {
			at := func(v float64) float64 { return 100 * (math.Log(v) - low) / (high - low) }
			rows[i].X, rows[i].Median = at(m.P10), at(m.P50)
			rows[i].Width = max(thinnest, at(m.P90)-rows[i].X)
		}
	}
}

func (d *Dashboard) chooseProfile(req *pageRequest, page *Profiles, set *service.UsageProfiles, text string) error {
	id, err := strconv.ParseUint(text, 10, 31)
	for i := range page.Rows {
		if err == nil && page.Rows[i].ID == int(id) {
			page.Rows[i].IsSelected, page.Chosen = true, &page.Rows[i]
		}
	}
	if page.Chosen == nil {
		return sizing.Errorf(sizing.NotFound, "namespace %s has no usage profile %.50q; choose one of the list", page.Namespace, text)
	}
	for _, m := range set.Members(page.Chosen.ID) {
		key := sizing.TaskKey{Namespace: page.Namespace, DAG: m.DAG, Task: m.Task.Task}
		switch {
		case !req.grants.Covers(key):
		case len(page.Members) == shownMembers && formatOf(req.query) == asHTML:
			page.IsCut = true
		default:
			page.Members = append(page.Members, MemberRow{m.DAG, m.Task.Task, m.Runs, m.Share, d.taskURL("/task", key)})
		}
	}
	return nil
}

// TaskUsage is the usage profile of a task.
type TaskUsage struct {
	ID       int     `json:"id"`            // 0: the outlier group
	Share    float64 `json:"share"`         // of the task's runs from which the profiles were found or, if there are none, of the compared runs
	Placed   int     `json:"placed_runs"`   // number of the newest runs that were compared with the profiles
	Outliers int     `json:"outliers"`      // number of compared runs without a profile
	Score    float64 `json:"outlier_score"` // outlier score of the newest run
	URL      string  `json:"-"`
}

// taskUsage returns the usage profile of a task; nil before its namespace has profiles, or if no run of the task can be
// compared with them.
func (d *Dashboard) taskUsage(ctx context.Context, key sizing.TaskKey) (*TaskUsage, error) {
	usage, err := d.svc.TaskUsage(ctx, key)
	if sizing.KindOf(err) == sizing.NotFound {
		return nil, nil
	}
	if err != nil || usage.Profile == nil {
		return nil, err
	}
	t := &TaskUsage{ID: usage.Profile.ID, Share: usage.Share, Placed: len(usage.Newest),
		URL: d.url("/profiles", "namespace", key.Namespace, "id", strconv.Itoa(usage.Profile.ID))}
	for i := range usage.Newest {
		if t.Score = usage.Newest[i].Score; usage.Newest[i].IsOutlier() {
			t.Outliers++
		}
	}
	return t, nil
}

func profilesTable(rows []ProfileRow) (header []string, table [][]string) {
	header = []string{"profile", "quantity", "runs", "share", "previous_share", "p10", "p50", "p90"}
	for i := range rows {
		for _, s := range rows[i].Spreads {
			table = append(table, []string{strconv.Itoa(rows[i].ID), s.Quantity, strconv.Itoa(s.Runs), csvNumber(&rows[i].Share), csvNumber(rows[i].Previous), csvNumber(&s.P10), csvNumber(&s.P50), csvNumber(&s.P90)})
		}
	}
	return header, table
}
