package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/loadaware/loadaware/internal/campaign"
)

// Campaigns stores profiling campaigns and the states of their runs. Every change of a campaign by a person, and every
// stop by its budget, has an audit entry with the DAG of the campaign and an empty task id. Conflict, NotFound and
// Invalid are kinds of errors (sizing.Kind). The methods with an id return NotFound if there is no such campaign, except
// CampaignRuns, which then returns no runs.
type Campaigns interface {
	// CreateCampaign stores a campaign and returns it with its id. It ignores the fields ID, CreatedAt,
	// CreatedBy, Paused and Stopped of c. It returns Conflict if the DAG already has a campaign with that
	// name.
	CreateCampaign(ctx context.Context, c campaign.Campaign) (campaign.Campaign, error)
	// Campaign returns a campaign.
	Campaign(ctx context.Context, id int64) (campaign.Campaign, error)
	// CampaignStatus returns a campaign with its progress. The argument failures limits its list of
	// failed runs.
	CampaignStatus(ctx context.Context, id int64, failures int) (campaign.Status, error)
	// Campaigns lists the campaigns in any of the scopes, newest first: at most limit of those with an id below the
	// argument `before` (0: all ids). The result has no Failures, and the GB·h of a campaign with
	// very many reports may be up to a minute old.
	Campaigns(ctx context.Context, scopes []Scope, before int64, limit int) ([]campaign.Status, error)
	// RegisterRuns adds runs in the state campaign.Registered. It ignores runs whose scenario, conf and
	// execution date (in whole seconds) are registered already or equal those of an earlier run of the same call.
	// It returns the number of added runs (registered) and of ignored runs (already).
	RegisterRuns(ctx context.Context, id int64, runs []campaign.ArchivedRun) (registered, already int, err error)
	// CampaignRuns lists at most limit runs in the given states whose number is above the argument `after`, ordered by
	// number. An empty list of states selects all states.
	CampaignRuns(ctx context.Context, id int64, states []campaign.State, after, limit int) ([]campaign.Run, error)
	// CampaignRunTasks lists what the tasks of the current attempt of a run reported, by task
	// and map index. It returns NotFound if there is no such run.
	CampaignRunTasks(ctx context.Context, id int64, number int) ([]campaign.TaskReport, error)
	// ClaimRuns leases at most limit runs to a worker, for one branch of the scheduler DAG: a trigger, which starts a
	// step of a run, or a check, which reports the result of the step (campaign.Branch). Runs whose lease
	// has expired take precedence. For a trigger, limit bounds the active runs of the branch over all workers: a
	// run is active from its claim by the trigger until a check reports the result of the step, or the trigger
	// reports that it could not start the step. A trigger gets no runs while the
	// campaign is paused. A claim for a trigger of deployments or DAG runs stops a campaign whose budget is
	// used up. In a stopped campaign, these triggers get only runs that were claimed before and whose lease has
	// expired. If Budget.Runs is the only bound that is used up, the trigger of DAG runs also
	// gets the runs that it returned to the state campaign.Deployed because it could not start their DAG run.
	ClaimRuns(ctx context.Context, id int64, branch campaign.Branch, limit int, lease time.Duration) (ClaimedRuns, error)
	// ReportRun moves a run from one state to another and ends its lease. It returns Conflict if
	// the run is not in state r.From or not in r.Attempt, Invalid if a worker must not make this move, and
	// NotFound if there is no such run.
	ReportRun(ctx context.Context, id int64, r RunReport) (campaign.Run, error)
	// ResetRun moves a run back by the rules of campaign.CheckReset. It starts a new attempt if
	// campaign.RestartsRun says so. It returns NotFound if there is no such run.
	ResetRun(ctx context.Context, id int64, number int, to campaign.State, notes string) (campaign.Run, error)
	// PauseCampaign pauses or resumes a campaign. Resuming also removes the stop by a used-up
	// budget. A budget that is not nil replaces the stored one.
	PauseCampaign(ctx context.Context, id int64, paused bool, budget *campaign.Budget) (campaign.Campaign, error)
	// ReleaseRuns ends the expired leases of a campaign, and returns at most limit active runs whose
	// state has not changed for the duration stuckAfter.
	ReleaseRuns(ctx context.Context, id int64, stuckAfter time.Duration, limit int) (released int, stuck []campaign.Run, err error)
}

// ClaimedRuns are the leased runs, and their campaign in its state after the claim.
type ClaimedRuns struct {
	Campaign campaign.Campaign
	Runs     []campaign.Run
}

// RunReport says that a run moved from one state to another.
type RunReport struct {
	Number   int            // of the run in its campaign
	From, To campaign.State // the state before and after the move
	Attempt  int            // the attempt in which the run must be; 0 for any
	Notes    string         // replaces the notes of the run; empty to keep them
}

// CampaignAudit is what the audit trail stores about a change of a campaign or of one of its runs.
type CampaignAudit struct {
	Campaign int64            `json:"campaign"` // id
	Name     string           `json:"name,omitempty"`
	Pool     string           `json:"pool,omitempty"`   // Airflow pool of the reproduced tasks
	Conf     json.RawMessage  `json:"conf,omitempty"`   // sandbox settings that override the archived conf
	Budget   *campaign.Budget `json:"budget,omitempty"` // nil if the change does not set it
	Run      int              `json:"run,omitempty"`    // number of the run that was reset
	State    *int             `json:"state,omitempty"`  // state of that run
	Runs     int              `json:"runs,omitempty"`   // number of registered runs
}
