package httpapi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// The default time of a lease, and the default time after which a run counts as stuck. A shorter lease would give the
// runs of a slow worker to another worker; a longer one would delay the runs of a worker that died.
const (
	defaultLease      = 5 * time.Minute
	defaultStuckAfter = 6 * time.Hour
)

// ListCampaigns returns one page of the campaigns that the caller may access.
func (s *server) ListCampaigns(ctx context.Context, r api.ListCampaignsRequestObject) (api.ListCampaignsResponseObject, error) {
	var f fieldReader
	limit := f.pageLimit(r.Params.Limit, defaultPageSize)
	before := f.numberCursor(r.Params.Cursor, math.MaxInt64)
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	found, err := s.svc.Campaigns(ctx, infoOf(ctx).grants.Scopes(), before, limit+1)
	if err != nil {
		return nil, err
	}
	page := api.CampaignPage{Campaigns: []api.Campaign{}}
	if len(found) > limit {
		found = found[:limit]
		next := strconv.FormatInt(found[limit-1].ID, 10)
		page.NextCursor = &next
	}
	for i := range found {
		page.Campaigns = append(page.Campaigns, campaignAnswer(&found[i]))
	}
	return api.ListCampaigns200JSONResponse(page), nil
}

// CreateCampaign stores a campaign.
func (s *server) CreateCampaign(ctx context.Context, r api.CreateCampaignRequestObject) (api.CreateCampaignResponseObject, error) {
	var f fieldReader
	b := r.Body
	c := campaign.Campaign{
		Name: b.Name, Namespace: valueOr(b.Namespace, sizing.DefaultNamespace), DAG: b.DagID, Pool: valueOr(b.Pool, ""), Version: valueOr(b.Version, ""),
		Conf: f.document("conf", b.Conf, '{'), Budget: budgetOf(b.Budget),
	}
	if err := f.err(c.Validate); err != nil {
		return nil, err
	}
	if err := infoOf(ctx).grants.CheckTask(c.Key()); err != nil {
		return nil, err
	}
	created, err := s.svc.CreateCampaign(ctx, c)
	if err != nil {
		return nil, err
	}
	return api.CreateCampaign200JSONResponse(campaignAnswer(&campaign.Status{Campaign: created})), nil
}

// GetCampaign returns a campaign with its progress.
func (s *server) GetCampaign(ctx context.Context, r api.GetCampaignRequestObject) (api.GetCampaignResponseObject, error) {
	status, err := s.svc.CampaignStatus(ctx, r.Campaign)
	if err == nil && !infoOf(ctx).grants.Covers(status.Key()) {
		err = unknownCampaign(r.Campaign)
	}
	if err != nil {
		return nil, err
	}
	return api.GetCampaign200JSONResponse(campaignAnswer(&status)), nil
}

// checkCampaign returns an error unless the caller may access the campaign. Without access it returns
// the same error as for an unknown campaign, so that the error reveals nothing.
func (s *server) checkCampaign(ctx context.Context, id int64) error {
	c, err := s.svc.Campaign(ctx, id)
	if err == nil && !infoOf(ctx).grants.Covers(c.Key()) {
		err = unknownCampaign(id)
	}
	return err
}

func (s *server) checkRun(ctx context.Context, id int64, n int) error {
	if err := s.checkCampaign(ctx, id); err != nil {
		return err
	}
	if n < 1 || n > math.MaxInt32 {
		return sizing.Errorf(sizing.NotFound, "campaign %d has no run %d", id, n)
	}
	return nil
}

func unknownCampaign(id int64) error {
	return sizing.Errorf(sizing.NotFound, "no campaign has the id %d; GET /campaigns lists them", id)
}

// ClaimCampaignRuns leases runs to a worker.
func (s *server) ClaimCampaignRuns(ctx context.Context, r api.ClaimCampaignRunsRequestObject) (api.ClaimCampaignRunsResponseObject, error) {
	var f fieldReader
	if r.Body.Limit < 1 || r.Body.Limit > campaign.MaxClaim {
		f.add("limit", "must be 1 to %d", campaign.MaxClaim)
	}
	lease := f.span("lease_seconds", r.Body.LeaseSeconds, defaultLease, 24*time.Hour)
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	if err := s.checkCampaign(ctx, r.Campaign); err != nil {
		return nil, err
	}
	claimed, err := s.svc.ClaimRuns(ctx, r.Campaign, campaign.Branch(r.Body.Branch), r.Body.Limit, lease)
	if err != nil {
		return nil, err
	}
	c := &claimed.Campaign
	return api.ClaimCampaignRuns200JSONResponse{
		Runs: campaignRuns(claimed.Runs), Paused: c.Paused, Stopped: textOrNull(c.Stopped),
		DagID: c.DAG, Pool: textOrNull(c.Pool), Version: textOrNull(c.Version),
	}, nil
}

// PauseCampaign pauses a campaign.
func (s *server) PauseCampaign(ctx context.Context, r api.PauseCampaignRequestObject) (api.PauseCampaignResponseObject, error) {
	answer, err := s.setPaused(ctx, r.Campaign, true, nil)
	return api.PauseCampaign200JSONResponse(answer), err
}

// ResumeCampaign resumes a campaign. It replaces the budget if the request has one.
func (s *server) ResumeCampaign(ctx context.Context, r api.ResumeCampaignRequestObject) (api.ResumeCampaignResponseObject, error) {
	var budget *campaign.Budget
	if r.Body.Budget != nil {
		b := budgetOf(r.Body.Budget)
		budget = &b
	}
	answer, err := s.setPaused(ctx, r.Campaign, false, budget)
	return api.ResumeCampaign200JSONResponse(answer), err
}

func (s *server) setPaused(ctx context.Context, id int64, paused bool, budget *campaign.Budget) (api.Campaign, error) {
	err := s.checkCampaign(ctx, id)
	if err == nil {
		_, err = s.svc.PauseCampaign(ctx, id, paused, budget)
	}
	if err != nil {
		return api.Campaign{}, err
	}
	status, err := s.svc.CampaignStatus(ctx, id)
	return campaignAnswer(&status), err
}

// ReleaseCampaignRuns ends expired leases and lists stuck runs.
func (s *server) ReleaseCampaignRuns(ctx context.Context, r api.ReleaseCampaignRunsRequestObject) (api.ReleaseCampaignRunsResponseObject, error) {
	var f fieldReader
	stuckAfter := f.span("stuck_after_seconds", r.Body.StuckAfterSeconds, defaultStuckAfter, 365*24*time.Hour)
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	if err := s.checkCampaign(ctx, r.Campaign); err != nil {
		return nil, err
	}
	released, stuck, err := s.svc.ReleaseRuns(ctx, r.Campaign, stuckAfter)
	if err != nil {
		return nil, err
	}
	return api.ReleaseCampaignRuns200JSONResponse{Released: released, Stuck: campaignRuns(stuck)}, nil
}

// ListCampaignRuns returns one page of the runs of a campaign.
func (s *server) ListCampaignRuns(ctx context.Context, r api.ListCampaignRunsRequestObject) (api.ListCampaignRunsResponseObject, error) {
	var f fieldReader
	limit := f.pageLimit(r.Params.Limit, defaultPageSize)
	after := f.numberCursor(r.Params.Cursor, math.MaxInt32)
	states := []campaign.State{}
	if state := r.Params.State; state != nil {
		states = append(states, campaign.State(*state))
		if !slices.Contains(campaign.States(), states[0]) {
			f.add("state", "must be one of %d", campaign.States())
		}
	}
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	if err := s.checkCampaign(ctx, r.Campaign); err != nil {
		return nil, err
	}
	found, err := s.svc.CampaignRuns(ctx, r.Campaign, states, int(after), limit+1)
	if err != nil {
		return nil, err
	}
	page := api.CampaignRunPage{}
	if len(found) > limit {
		found = found[:limit]
		next := strconv.Itoa(found[limit-1].Number)
		page.NextCursor = &next
	}
	page.Runs = campaignRuns(found)
	return api.ListCampaignRuns200JSONResponse(page), nil
}

// RegisterCampaignRuns adds archived runs to a campaign.
func (s *server) RegisterCampaignRuns(ctx context.Context, r api.RegisterCampaignRunsRequestObject) (api.RegisterCampaignRunsResponseObject, error) {
	var f fieldReader
	if n := len(r.Body.Runs); n < 1 || n > campaign.MaxBatch {
		f.add("runs", "must have 1 to %d entries", campaign.MaxBatch)
	}
	runs := make([]campaign.ArchivedRun, len(r.Body.Runs))
	for i := range r.Body.Runs {
		b := &r.Body.Runs[i]
		runs[i] = campaign.ArchivedRun{Scenario: b.Scenario, ExecutionDate: b.ExecutionDate, Conf: f.document(fmt.Sprintf("runs[%d].conf", i), b.Conf, '{')}
	}
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	if err := s.checkCampaign(ctx, r.Campaign); err != nil {
		return nil, err
	}
	registered, already, err := s.svc.RegisterRuns(ctx, r.Campaign, runs)
	if err != nil {
		return nil, err
	}
	return api.RegisterCampaignRuns200JSONResponse{Registered: registered, Already: already}, nil
}

// ReportCampaignRun moves a run to the state in the field `to` of the report. The run must still be in the state in the
// field `from` and, if the report has the field `attempt`, in this attempt.
func (s *server) ReportCampaignRun(ctx context.Context, r api.ReportCampaignRunRequestObject) (api.ReportCampaignRunResponseObject, error) {
	if err := s.checkRun(ctx, r.Campaign, r.N); err != nil {
		return nil, err
	}
	run, err := s.svc.ReportRun(ctx, r.Campaign, store.RunReport{
		Number: r.N, From: campaign.State(r.Body.From), To: campaign.State(r.Body.To), Attempt: valueOr(r.Body.Attempt, 0), Notes: valueOr(r.Body.Notes, ""),
	})
	if err != nil {
		return nil, err
	}
	return api.ReportCampaignRun200JSONResponse(campaignRun(&run)), nil
}

// ResetCampaignRun moves a run back by the rules of campaign.CheckReset. It starts a new attempt only if
// campaign.RestartsRun says so.
func (s *server) ResetCampaignRun(ctx context.Context, r api.ResetCampaignRunRequestObject) (api.ResetCampaignRunResponseObject, error) {
	if err := s.checkRun(ctx, r.Campaign, r.N); err != nil {
		return nil, err
	}
	if notes := valueOr(r.Body.Notes, ""); utf8.RuneCountInString(notes) > campaign.MaxNotes {
		return nil, sizing.InvalidField("notes", "must have at most %d characters", campaign.MaxNotes)
	}
	run, err := s.svc.ResetRun(ctx, r.Campaign, r.N, campaign.State(r.Body.To), valueOr(r.Body.Notes, ""))
	if err != nil {
		return nil, err
	}
	return api.ResetCampaignRun200JSONResponse(campaignRun(&run)), nil
}

// ListCampaignRunTasks lists what the tasks of a run reported.
func (s *server) ListCampaignRunTasks(ctx context.Context, r api.ListCampaignRunTasksRequestObject) (api.ListCampaignRunTasksResponseObject, error) {
	if err := s.checkRun(ctx, r.Campaign, r.N); err != nil {
		return nil, err
	}
	found, err := s.svc.CampaignRunTasks(ctx, r.Campaign, r.N)
	if err != nil {
		return nil, err
	}
	answer := api.CampaignTasks{Tasks: []api.CampaignTask{}}
	for i := range found {
		t := &found[i]
		task := api.CampaignTask{TaskID: t.Task, MapIndex: t.MapIndex, Tries: t.Tries, Succeeded: t.Succeeded}
		if t.Peak > 0 {
			task.MemoryMaxBytes = (*int64)(&t.Peak)
		}
		answer.Tasks = append(answer.Tasks, task)
	}
	return api.ListCampaignRunTasks200JSONResponse(answer), nil
}

func (f *fieldReader) numberCursor(cursor *string, maximum int64) int64 {
	text := valueOr(cursor, "")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maximum {
		f.add("cursor", invalidCursor)
	}
	return n
}

func (f *fieldReader) span(field string, seconds *float64, fallback, maximum time.Duration) time.Duration {
	if seconds == nil {
		return fallback
	}
	if *seconds < 1 || *seconds > maximum.Seconds() {
		f.add(field, "must be 1 to %.0f seconds", maximum.Seconds())
		return fallback
	}
	return time.Duration(*seconds * float64(time.Second))
}

func budgetOf(b *api.CampaignBudget) campaign.Budget {
	if b == nil {
		return campaign.Budget{}
	}
	return campaign.Budget{Runs: valueOr(b.Runs, 0), GBHours: valueOr(b.Gbh, 0), Until: valueOr(b.Until, time.Time{})}
}

func campaignAnswer(s *campaign.Status) api.Campaign {
	answer := api.Campaign{
		ID: s.ID, Name: s.Name, Namespace: s.Namespace, DagID: s.DAG, Pool: textOrNull(s.Pool), Conf: s.Conf, Version: textOrNull(s.Version),
		Used: api.CampaignUsage{Runs: s.Used.Runs, Gbh: s.Used.GBHours}, Paused: s.Paused, Stopped: textOrNull(s.Stopped),
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, Runs: s.Counts.Total(), Progress: s.Counts.Progress(), ProfiledLastHour: s.Hourly,
		Failures: campaignRuns(s.Failures), Budget: &api.CampaignBudget{},
	}
	if s.Budget.Runs > 0 {
		answer.Budget.Runs = &s.Budget.Runs
	}
	if s.Budget.GBHours > 0 {
		answer.Budget.Gbh = &s.Budget.GBHours
	}
	if until := s.Budget.Until; !until.IsZero() {
		answer.Budget.Until = &until
	}
	for _, state := range campaign.States() {
		answer.States = append(answer.States, api.CampaignCount{State: api.CampaignState(state), Name: state.String(), Runs: s.Counts[state]})
	}
	return answer
}

func campaignRuns(runs []campaign.Run) []api.CampaignRun {
	answer := make([]api.CampaignRun, len(runs))
	for i := range runs {
		answer[i] = campaignRun(&runs[i])
	}
	return answer
}

func campaignRun(r *campaign.Run) api.CampaignRun {
	answer := api.CampaignRun{
		N: r.Number, Scenario: r.Archived.Scenario, ExecutionDate: r.Archived.ExecutionDate, Conf: r.Archived.Conf,
		State: api.CampaignState(r.State), StateName: r.State.String(), Attempt: r.Attempt, DagRunID: r.RunID,
		Notes: textOrNull(r.Notes), ChangedAt: r.Changed,
	}
	if leased := r.Leased; !leased.IsZero() {
		answer.LeasedUntil = &leased
	}
	return answer
}
