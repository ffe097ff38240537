package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// maxFailures is the largest number of failed or stuck runs in a list.
const maxFailures = 20

// CreateCampaign validates and stores a campaign: archived runs of a DAG that Airflow reproduces in a sandbox.
func (s *Service) CreateCampaign(ctx context.Context, c campaign.Campaign) (campaign.Campaign, error) {
	if bad := c.Validate(); len(bad) > 0 {
		return c, invalid(bad)
	}
	return s.store.CreateCampaign(ctx, c)
}

// Campaign returns a campaign, or NotFound if there is none with this id.
func (s *Service) Campaign(ctx context.Context, id int64) (campaign.Campaign, error) {
	return s.store.Campaign(ctx, id)
}

// CampaignStatus returns a campaign with its progress and its newest failures.
func (s *Service) CampaignStatus(ctx context.Context, id int64) (campaign.Status, error) {
	return s.store.CampaignStatus(ctx, id, maxFailures)
}

// Campaigns lists campaigns of the scopes with their progress, newest first: at most `limit`, whose ids are below
// `before`. If `before` is 0, it starts with the newest.
func (s *Service) Campaigns(ctx context.Context, scopes []store.Scope, before int64, limit int) ([]campaign.Status, error) {
	return s.store.Campaigns(ctx, scopes, before, limit)
}

// RegisterRuns adds archived runs to a campaign. It returns the number of added runs and of runs that the
// campaign already had. If one run is invalid, RegisterRuns adds none.
func (s *Service) RegisterRuns(ctx context.Context, id int64, runs []campaign.ArchivedRun) (registered, already int, err error) {
	var bad []sizing.FieldError
	for i := range runs {
		for _, f := range runs[i].Validate() {
			bad = append(bad, sizing.FieldError{Field: fmt.Sprintf("runs[%d].%s", i, f.Field), Detail: f.Detail})
		}
	}
	if len(bad) > 0 {
		return 0, 0, invalid(bad)
	}
	return s.store.RegisterRuns(ctx, id, runs)
}

// CampaignRuns lists runs of a campaign in the order of their numbers: at most `limit`, whose numbers are above `after`
// and whose state is one of `states`. If `states` is empty, the runs of all states are listed.
func (s *Service) CampaignRuns(ctx context.Context, id int64, states []campaign.State, after, limit int) ([]campaign.Run, error) {
	return s.store.CampaignRuns(ctx, id, states, after, limit)
}

// CampaignRunTasks lists the reports of the tasks of a run, in the current attempt of the run.
func (s *Service) CampaignRunTasks(ctx context.Context, id int64, number int) ([]campaign.TaskReport, error) {
	return s.store.CampaignRunTasks(ctx, id, number)
}

// ClaimRuns leases runs to a branch of the scheduler. The returned conf of each run has the entries of its
// archived conf and of the campaign's conf; for a name in both, it has the campaign's value.
func (s *Service) ClaimRuns(ctx context.Context, id int64, branch campaign.Branch, limit int, lease time.Duration) (store.ClaimedRuns, error) {
	claimed, err := s.store.ClaimRuns(ctx, id, branch, limit, lease)
	if err != nil {
		return store.ClaimedRuns{}, err
	}
	for i := range claimed.Runs {
		run := &claimed.Runs[i].Archived
		if run.Conf, err = campaign.MergedConf(run.Conf, claimed.Campaign.Conf); err != nil {
			return claimed, err
		}
	}
	return claimed, err
}

// ReportRun moves a run to another state. It returns Conflict if the run is no longer in the state and the
// attempt that the report names. It shortens the notes to campaign.MaxNotes characters.
func (s *Service) ReportRun(ctx context.Context, id int64, r store.RunReport) (campaign.Run, error) {
	r.Notes = strings.ReplaceAll(r.Notes, "\x00", "") // PostgreSQL cannot store NUL, but a worker may report any error text
	if notes := []rune(r.Notes); len(notes) > campaign.MaxNotes {
		r.Notes = string(notes[:campaign.MaxNotes])
	}
	return s.store.ReportRun(ctx, id, r)
}

// ResetRun moves a run back to an earlier state.
func (s *Service) ResetRun(ctx context.Context, id int64, number int, to campaign.State, notes string) (campaign.Run, error) {
	return s.store.ResetRun(ctx, id, number, to, notes)
}

// PauseCampaign pauses or resumes a campaign. If `budget` is not nil, it replaces the budget of the campaign.
func (s *Service) PauseCampaign(ctx context.Context, id int64, paused bool, budget *campaign.Budget) (campaign.Campaign, error) {
	if budget != nil {
		if bad := budget.Validate(); len(bad) > 0 {
			return campaign.Campaign{}, invalid(bad)
		}
	}
	return s.store.PauseCampaign(ctx, id, paused, budget)
}

// ReleaseRuns ends expired leases. It also lists at most maxFailures active runs whose state has not changed for the
// time `stuckAfter`.
func (s *Service) ReleaseRuns(ctx context.Context, id int64, stuckAfter time.Duration) (released int, stuck []campaign.Run, err error) {
	return s.store.ReleaseRuns(ctx, id, stuckAfter, maxFailures)
}
