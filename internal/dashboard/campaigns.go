package dashboard

import (
	"context"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Campaigns is the page that lists the campaigns.
type Campaigns struct {
	Rows []CampaignRow `json:"campaigns"` // newest first
	Next string        `json:"-"`         // address of the older campaigns; "" if there are none
}

// CampaignRow is one campaign.
type CampaignRow struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Namespace string     `json:"namespace"`
	DagID     string     `json:"dag_id"`
	Runs      int        `json:"runs"`
	Profiled  int        `json:"profiled"` // runs whose peaks are known
	Failed    int        `json:"failed"`   // runs that wait until a person resets them
	Active    int        `json:"active"`   // being deployed, run or profiled
	Hourly    int        `json:"profiled_last_hour"`
	Progress  float64    `json:"progress"`               // share of the runs that are profiled
	Started   int        `json:"started_runs"`           // started DAG runs, including repeated attempts
	GBHours   float64    `json:"used_gbh"`               // used part of the budget: allocated GB·h
	MaxRuns   int        `json:"budget_runs,omitempty"`  // 0: any number
	MaxGBH    float64    `json:"budget_gbh,omitempty"`   // 0: any amount
	Until     *time.Time `json:"budget_until,omitempty"` // nil: any time
	State     string     `json:"state"`                  // running, done, paused or stopped
	Stopped   string     `json:"stopped,omitempty"`      // why the campaign is stopped
	CreatedAt time.Time  `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	URL       string     `json:"-"`
}

// CampaignPage is the page of one campaign.
type CampaignPage struct {
	CampaignRow
	Pool     string          `json:"pool,omitempty"`    // Airflow pool of the reproduced tasks
	Version  string          `json:"version,omitempty"` // version of the DAG that must be deployed
	Conf     string          `json:"conf,omitempty"`    // JSON object whose values override those in the conf of each archived run
	States   []CampaignState `json:"states"`
	Failures []FailedRun     `json:"failures"` // newest first
	Learned  []LearnedTask   `json:"learned"`  // by task
	IsAdmin  bool            `json:"-"`        // the caller may pause and resume the campaign
	TasksURL string          `json:"-"`
}

// CampaignState counts the runs in one state.
type CampaignState struct {
	State int     `json:"state"`
	Name  string  `json:"name"`
	Runs  int     `json:"runs"`
	Bar   float64 `json:"-"` // width of the bar, in percent
}

// FailedRun is a run that failed and waits until a person resets it.
type FailedRun struct {
	Number   int       `json:"n"`
	Scenario string    `json:"scenario"` // name of the run in the archive
	State    string    `json:"state"`
	Attempt  int       `json:"attempt"`
	RunID    string    `json:"dag_run_id"`
	Changed  time.Time `json:"changed_at"` // when the run failed
	Notes    string    `json:"notes,omitempty"`
}

// LearnedTask compares what two models of a task predict for archived runs of the campaign: the last one from before the
// campaign was created, and the active one.
type LearnedTask struct {
	Task   string            `json:"task_id"`
	Before *ModelPredictions `json:"before,omitempty"` // nil: no model was trained before the campaign was created, or it is no longer stored or cannot be decoded
	After  *ModelPredictions `json:"after,omitempty"`  // of the active model
	URL    string            `json:"-"`
}

// ModelPredictions summarises the predictions of one version of a model for archived runs.
type ModelPredictions struct {
	Version      int          `json:"version"`
	Observations int          `json:"observations"` // number of reports of the task at the training
	Grant        sizing.Bytes `json:"mean_grant_bytes"`
	Width        float64      `json:"width"`             // median ratio of the grant at the default risk target to the expected peak; 0 if no run has an expected peak
	Unstated     int          `json:"runs_without_risk"` // number of runs for which no risk can be stated, such as those outside the known range
	Runs         int          `json:"runs"`              // number of archived runs, at most 50
}

const campaignsPerPage = 50

func (d *Dashboard) campaigns(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	before, err := idParam(req, "before")
	if err != nil {
		return nil, err
	}
	found, err := cached(ctx, d.cache, "campaigns "+scopeKey(req.grants)+strconv.FormatInt(before, 10), func(ctx context.Context) ([]campaign.Status, error) {
		return d.svc.Campaigns(ctx, req.grants.Scopes(), before, campaignsPerPage+1)
	})
	if err != nil {
		return nil, err
	}
	page := &Campaigns{Rows: []CampaignRow{}}
	if len(found) > campaignsPerPage {
		found = found[:campaignsPerPage]
		page.Next = d.url("/campaigns", "before", strconv.FormatInt(found[campaignsPerPage-1].ID, 10))
	}
	for i := range found {
		page.Rows = append(page.Rows, d.campaignRow(&found[i]))
	}
	return &view{Title: "Campaigns", Nav: "Campaigns", Template: "campaigns", Page: page, Table: func() ([]string, [][]string) { return campaignsTable(page.Rows) }}, nil
}

func idParam(req *pageRequest, name string) (int64, error) {
	text := req.query.Get(name)
	if req.Method != "GET" && req.Method != "HEAD" {
		text = req.PostForm.Get(name)
	}
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, sizing.InvalidField(name, "must be the number of a campaign, not %.50q", text)
	}
	return id, nil
}

func (d *Dashboard) campaignRow(s *campaign.Status) CampaignRow {
	r := CampaignRow{ID: s.ID, Name: s.Name, Namespace: s.Namespace, DagID: s.DAG, Runs: s.Counts.Total(), Profiled: s.Counts[campaign.Profiled], Hourly: s.Hourly,
		Progress: s.Counts.Progress(), Started: s.Used.Runs, GBHours: s.Used.GBHours, MaxRuns: s.Budget.Runs, MaxGBH: s.Budget.GBHours, State: "running", Stopped: s.Stopped,
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, URL: d.url("/campaign", "id", strconv.FormatInt(s.ID, 10))}
	if !s.Budget.Until.IsZero() {
		r.Until = &s.Budget.Until
	}
	for state, runs := range s.Counts {
		switch {
		case state.IsFailure():
			r.Failed += runs
		case state != campaign.Registered && state != campaign.Deployed && state != campaign.RunSucceeded && state != campaign.Profiled:
			r.Active += runs
		}
	}
	switch {
	case s.Stopped != "":
		r.State = "stopped"
	case s.Paused:
		r.State = "paused"
	case r.Runs > 0 && r.Profiled == r.Runs:
		r.State = "done"
	}
	return r
}

func (d *Dashboard) campaign(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	status, err := d.findCampaign(ctx, req)
	if err != nil {
		return nil, err
	}
	c := &CampaignPage{CampaignRow: d.campaignRow(&status), Pool: status.Pool, Version: status.Version, Conf: string(status.Conf), States: []CampaignState{}, Failures: []FailedRun{},
		IsAdmin: req.admin.Covers(status.Key()), TasksURL: d.url("/tasks", "namespace", status.Namespace, "dag_id", status.DAG)}
	if c.Learned, err = d.learned(ctx, &status); err != nil {
		return nil, err
	}
	for _, state := range campaign.States() {
		if n := status.Counts[state]; n > 0 {
			c.States = append(c.States, CampaignState{int(state), state.String(), n, 100 * float64(n) / float64(c.Runs)})
		}
	}
	for i := range status.Failures {
		r := &status.Failures[i]
		c.Failures = append(c.Failures, FailedRun{r.Number, r.Archived.Scenario, r.State.String(), r.Attempt, r.RunID, r.Changed, r.Notes})
	}
	return &view{Title: "Campaign " + c.Name, Nav: "Campaigns", Template: "campaign", Page: c, Table: func() ([]string, [][]string) { return statesTable(c.States) }}, nil
}

func (d *Dashboard) learned(ctx context.Context, status *campaign.Status) ([]LearnedTask, error) {
	found, err := cached(ctx, d.cache, "learned "+strconv.FormatInt(status.ID, 10), func(ctx context.Context) ([]service.LearnedTask, error) {
		return d.svc.CampaignLearned(ctx, status.ID)
	})
	learned := make([]LearnedTask, len(found))
	for i, t := range found {
		key := sizing.TaskKey{Namespace: status.Namespace, DAG: status.DAG, Task: t.Task}
		learned[i] = LearnedTask{Task: t.Task, Before: (*ModelPredictions)(t.Before), After: (*ModelPredictions)(t.After), URL: d.taskURL("/task", key)}
	}
	return learned, err
}

// findCampaign returns the campaign of the request. If the caller may not see it, the error is that of an unknown id.
func (d *Dashboard) findCampaign(ctx context.Context, req *pageRequest) (status campaign.Status, err error) {
	id, err := idParam(req, "id")
	if err != nil {
		return status, err
	}
	if status, err = d.svc.CampaignStatus(ctx, id); err == nil && !req.grants.Covers(status.Key()) {
		err = sizing.Errorf(sizing.NotFound, "no campaign has the id %d; GET /campaigns lists them", id)
	}
	return status, err
}

func (d *Dashboard) pauseCampaign(req *pageRequest) (string, error) {
	status, err := d.findCampaign(req.Context(), req)
	if err != nil {
		return "", err
	}
	_, err = d.svc.PauseCampaign(req.Context(), status.ID, req.PostForm.Get("pause") != "", nil)
	return d.url("/campaign", "id", strconv.FormatInt(status.ID, 10)), err
}

func campaignsTable(rows []CampaignRow) (header []string, table [][]string) {
	header = []string{"id", "name", "namespace", "dag_id", "state", "runs", "profiled", "failed", "active", "started_runs", "used_gbh", "budget_runs", "budget_gbh", "created_at", "created_by"}
	for i := range rows {
		r := &rows[i]
		table = append(table, []string{strconv.FormatInt(r.ID, 10), r.Name, r.Namespace, r.DagID, r.State, strconv.Itoa(r.Runs), strconv.Itoa(r.Profiled), strconv.Itoa(r.Failed),
			strconv.Itoa(r.Active), strconv.Itoa(r.Started), csvNumber(&r.GBHours), strconv.Itoa(r.MaxRuns), csvNumber(&r.MaxGBH), r.CreatedAt.UTC().Format(time.RFC3339), r.CreatedBy})
	}
	return header, table
}

func statesTable(states []CampaignState) (header []string, table [][]string) {
	for _, s := range states {
		table = append(table, []string{strconv.Itoa(s.State), s.Name, strconv.Itoa(s.Runs)})
	}
	return []string{"state", "name", "runs"}, table
}
