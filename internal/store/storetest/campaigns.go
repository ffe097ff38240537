package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func newCampaign(t *testing.T, st store.Store, name string, b campaign.Budget) campaign.Campaign {
	t.Helper()
	c, err := st.CreateCampaign(asActor(t, "ada"), campaign.Campaign{
		Name: name, Namespace: sizing.DefaultNamespace, DAG: "dag", Conf: json.RawMessage(`{"out": "sandbox"}`), Budget: b})
	require.NoError(t, err)
	return c
}

func archived(n int) []campaign.ArchivedRun {
	runs := make([]campaign.ArchivedRun, n)
	for i := range runs {
		runs[i] = campaign.ArchivedRun{Scenario: fmt.Sprintf("s%03d", i), ExecutionDate: noon.AddDate(0, 0, -i), Conf: json.RawMessage(`{"a": 1}`)}
	}
	return runs
}

func register(t *testing.T, st store.Store, id int64, n int) {
	t.Helper()
	registered, already, err := st.RegisterRuns(asActor(t, "ada"), id, archived(n))
	require.NoError(t, err)
	require.Equal(t, []int{n, 0}, []int{registered, already})
}

func claimRuns(t *testing.T, st store.Store, id int64, branch campaign.Branch, limit int) []campaign.Run {
	t.Helper()
	claimed, err := st.ClaimRuns(t.Context(), id, branch, limit, time.Hour)
	require.NoError(t, err)
	return claimed.Runs
}

func advance(t *testing.T, st store.Store, id int64, branch campaign.Branch, to campaign.State) campaign.Run {
	t.Helper()
	runs := claimRuns(t, st, id, branch, 1)
	require.Len(t, runs, 1, "%s", branch)
	report := store.RunReport{Number: runs[0].Number, From: runs[0].State, To: to, Attempt: runs[0].Attempt + 1}
	_, err := st.ReportRun(t.Context(), id, report)
	requireKind(t, sizing.Conflict, err) // another attempt
	report.Attempt = runs[0].Attempt
	run, err := st.ReportRun(t.Context(), id, report)
	require.NoError(t, err)
	return run
}

func testCampaigns(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	c := newCampaign(t, st, "heavy", campaign.Budget{Runs: 3, GBHours: 1.5, Until: noon.AddDate(100, 0, 0)})
	require.Equal(t, "ada", c.CreatedBy)
	got, err := st.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, c, got)
	_, err = st.CreateCampaign(t.Context(), campaign.Campaign{Name: "heavy", Namespace: c.Namespace, DAG: c.DAG, Pool: "p"})
	requireKind(t, sizing.Conflict, err)
	_, err = st.Campaign(t.Context(), c.ID+1)
	requireKind(t, sizing.NotFound, err)

	register(t, st, c.ID, 3)
	again := append(archived(3), archived(4)...) // with runs that are registered, and runs that are repeated within the batch
	registered, already, err := st.RegisterRuns(t.Context(), c.ID, again)
	require.NoError(t, err)
	require.Equal(t, []int{1, 6}, []int{registered, already})
	_, _, err = st.RegisterRuns(t.Context(), c.ID+1, archived(1))
	requireKind(t, sizing.NotFound, err)
	runs, err := st.CampaignRuns(t.Context(), c.ID, []campaign.State{campaign.Registered}, 1, 2)
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, []int{runs[0].Number, runs[1].Number})
	require.Equal(t, campaign.RunID(c.ID, runs[0].Archived.Hash(), runs[0].Archived.ExecutionDate, 1), runs[0].RunID)

	t.Run("a run goes from registered to profiled", func(t *testing.T) {
		for _, step := range []struct {
			branch campaign.Branch
			to     campaign.State
		}{
			{campaign.TriggerDeploy, campaign.Deploying}, {campaign.CheckDeploy, campaign.Deployed},
			{campaign.TriggerRun, campaign.Running}, {campaign.CheckRun, campaign.RunSucceeded},
			{campaign.TriggerProfile, campaign.Profiling}, {campaign.CheckProfile, campaign.Profiled},
		} {
			run := advance(t, st, c.ID, step.branch, step.to)
			require.Equal(t, []any{1, step.to, 1}, []any{run.Number, run.State, run.Attempt})
			require.Zero(t, run.Leased)
		}
		status, err := st.CampaignStatus(t.Context(), c.ID, 10)
		require.NoError(t, err)
		require.Equal(t, campaign.Counts{campaign.Registered: 3, campaign.Profiled: 1}, status.Counts)
		require.Equal(t, []any{0.25, 1, 1}, []any{status.Counts.Progress(), status.Hourly, status.Used.Runs})
	})
	t.Run("a report in another state is a conflict", func(t *testing.T) {
		run := advance(t, st, c.ID, campaign.TriggerDeploy, campaign.DeployFailed)
		for _, r := range []store.RunReport{
			{Number: run.Number, From: campaign.DeployTriggered, To: campaign.Deploying},
			{Number: 1, From: campaign.Running, To: campaign.RunSucceeded},
		} {
			_, err := st.ReportRun(t.Context(), c.ID, r)
			requireKind(t, sizing.Conflict, err)
		}
		_, err := st.ReportRun(t.Context(), c.ID, store.RunReport{Number: 3, From: campaign.Registered, To: campaign.Profiled})
		requireKind(t, sizing.Invalid, err)
		_, err = st.ReportRun(t.Context(), c.ID, store.RunReport{Number: 99, From: campaign.Running, To: campaign.RunFailed})
		requireKind(t, sizing.NotFound, err)
		status, err := st.CampaignStatus(t.Context(), c.ID, 10)
		require.NoError(t, err)
		require.Len(t, status.Failures, 1)
	})
	t.Run("a reset starts another attempt only after the DAG run has ended", func(t *testing.T) {
		run, err := st.ResetRun(asActor(t, "bob"), c.ID, 2, campaign.Registered, "fixed")
		require.NoError(t, err)
		require.Equal(t, []any{campaign.Registered, 1, "fixed"}, []any{run.State, run.Attempt, run.Notes})
		first := run.RunID
		advance(t, st, c.ID, campaign.TriggerDeploy, campaign.Deploying)
		_, err = st.ResetRun(t.Context(), c.ID, 2, campaign.Registered, "")
		requireKind(t, sizing.Conflict, err) // the run is active
		advance(t, st, c.ID, campaign.CheckDeploy, campaign.Deployed)
		advance(t, st, c.ID, campaign.TriggerRun, campaign.RunFailed)
		run, err = st.ResetRun(asActor(t, "bob"), c.ID, 2, campaign.Deployed, "")
		require.NoError(t, err)
		require.Equal(t, 2, run.Attempt)
		require.NotEqual(t, first, run.RunID)
		_, err = st.ResetRun(t.Context(), c.ID, 2, campaign.RunSucceeded, "")
		requireKind(t, sizing.Conflict, err) // a reset goes back only
		require.Equal(t, []string{
			`bob:  campaign run reset {"campaign":1,"run":2,"state":35} > {"campaign":1,"run":2,"state":17}`,
			`bob:  campaign run reset {"campaign":1,"run":2,"state":15} > {"campaign":1,"run":2,"state":0} (fixed)`,
			`anonymous:  campaign runs registered  > {"campaign":1,"runs":1}`,
			`ada:  campaign runs registered  > {"campaign":1,"runs":3}`,
		}, trail(t, st, store.AuditFilter{}, 4))
	})
	t.Run("usage follows new, amended and voided reports", func(t *testing.T) {
		runs, err := st.CampaignRuns(t.Context(), c.ID, nil, 0, 2)
		require.NoError(t, err)
		used := func() float64 {
			status, err := st.CampaignStatus(t.Context(), c.ID, 0)
			require.NoError(t, err)
			found, err := st.Campaigns(t.Context(), allScopes, 0, 10) // after CampaignStatus, because Campaigns may return a cached usage
			require.NoError(t, err)
			require.Equal(t, found[0].Used, status.Used)
			return found[0].Used.GBHours
		}
		reproduced := func(run int) sizing.Observation {
			o := success(firstTry(sizing.TaskKey{Namespace: c.Namespace, DAG: c.DAG, Task: "a"}, runs[run].RunID), 1e9, 0)
			o.Duration, o.Allocated.Memory = time.Hour, 2e9
			return o
		}
		require.Zero(t, used())
		first, second := reproduced(0), reproduced(1)
		recordNew(t, st, first)
		require.InDelta(t, 2, used(), 1e-9)
		require.InDelta(t, 2, used(), 1e-9, "without a new report, the usage must stay")
		second.Duration = 0
		recordNew(t, st, second)
		require.InDelta(t, 2, used(), 1e-9, "a report without a duration must not change the usage")
		second.Duration = 3 * time.Hour
		_, err = st.Record(t.Context(), []sizing.Observation{second})
		require.NoError(t, err)
		require.InDelta(t, 8, used(), 1e-9, "an amended report must change the usage")
		require.NoError(t, st.Void(t.Context(), first.Try))
		require.InDelta(t, 6, used(), 1e-9, "a voided report must not count")
	})
	t.Run("a list has only the campaigns of its scopes", func(t *testing.T) {
		for _, scope := range []struct {
			store.Scope
			want int
		}{{store.Scope{}, 1}, {store.Scope{Namespace: "default", DAGPrefix: "da"}, 1}, {store.Scope{DAGPrefix: "other"}, 0}} {
			found, err := st.Campaigns(t.Context(), []store.Scope{scope.Scope}, 0, 10)
			require.NoError(t, err)
			require.Len(t, found, scope.want)
		}
	})
}

// testReproductions compares what the store returns for a task before and after reports of a reproduced
// kill and success.
func testReproductions(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key := task("reproduced")
	recordNew(t, st, runs(key, 3)...)
	before, err := st.Task(t.Context(), key)
	require.NoError(t, err)
	sums := func() []store.SavingsSum {
		got, err := st.SavingsSums(t.Context(), store.SavingsFilter{Scopes: allScopes}, store.ByTask)
		require.NoError(t, err)
		return got
	}
	saved := sums()
	h := history(t, st, key)

	archivedAt := noon.AddDate(0, 0, -30).Truncate(24 * time.Hour)
	run := campaign.RunID(7, "0123456789abcdef", archivedAt, 1)
	killed, done := kill(firstTry(key, run), sizing.GiB), success(sizing.TryKey{TaskKey: key, RunID: run, MapIndex: sizing.NoMap, Number: 2}, 9*sizing.GiB, 9)
	killed.Duration, done.Duration, done.Allocated.Memory = time.Hour, time.Hour, 10*sizing.GiB
	killed.EndedAt, done.EndedAt = noon.Add(time.Hour), noon.Add(2*time.Hour)
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt("r", killed.Try, 0.25, noon.Add(time.Minute))}))
	recordNew(t, st, killed, done)

	after, err := st.Task(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, before.Kills, after.Kills)
	require.Equal(t, saved, sums())
	require.Empty(t, promises(t, st, key, 10))
	realised, err := st.Realised(t.Context(), key, 10)
	require.NoError(t, err)
	require.Zero(t, realised.Tries)
	granted, err := st.GrantedTries(t.Context(), key, noon.Add(-time.Hour), 10)
	require.NoError(t, err)
	require.Empty(t, granted)
	tail, err := st.Since(t.Context(), key, h.LastSeq, 10)
	require.NoError(t, err)
	require.Empty(t, tail.Rows, "Since must omit reproduced runs")

	all := history(t, st, key)
	require.Len(t, all.Rows, 5)
	for _, r := range all.Rows[:2] {
		require.Equal(t, []any{run, archivedAt, time.Time{}, (*float64)(nil)}, []any{r.RunID, r.At, r.StartedAt, r.Promised}, "a reproduced run must have the time of the archived run, and neither a start nor a promise")
	}
	require.NoError(t, st.Void(t.Context(), killed.Try))
	after, err = st.Task(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, before.Kills, after.Kills)
	require.Equal(t, saved, sums())
}
