package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testCampaignClaims(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	t.Run("workers together never exceed the limit of a trigger", func(t *testing.T) {
		c := newCampaign(t, st, "parallel", campaign.Budget{})
		register(t, st, c.ID, 20)
		var mu sync.Mutex
		claimed := map[int]int{}
		inParallel(t, 8, func(ctx context.Context, _ int) error {
			got, err := st.ClaimRuns(ctx, c.ID, campaign.TriggerDeploy, 5, time.Hour)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range got.Runs {
				claimed[r.Number]++
			}
			return err
		})
		require.Equal(t, map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, claimed)
		run := 1
		_, err := st.ReportRun(t.Context(), c.ID, store.RunReport{Number: run, From: campaign.DeployTriggered, To: campaign.Deploying})
		require.NoError(t, err)
		require.Empty(t, claimRuns(t, st, c.ID, campaign.TriggerDeploy, 5), "a deploying run must count as active")
		require.Len(t, claimRuns(t, st, c.ID, campaign.TriggerDeploy, 6), 1, "a higher limit must take effect at once")
		require.Empty(t, claimRuns(t, st, c.ID, campaign.TriggerDeploy, 2))
		require.Len(t, claimRuns(t, st, c.ID, campaign.CheckDeploy, 9), 1)
		require.Empty(t, claimRuns(t, st, c.ID, campaign.CheckDeploy, 9), "a run that another worker has leased must not be claimed")
	})
	t.Run("a run whose lease has expired is claimed again, or released by ReleaseRuns", func(t *testing.T) {
		c := newCampaign(t, st, "lost", campaign.Budget{})
		register(t, st, c.ID, 2)
		first, err := st.ClaimRuns(t.Context(), c.ID, campaign.TriggerDeploy, 1, time.Millisecond)
		require.NoError(t, err)
		time.Sleep(5 * time.Millisecond)
		reclaimed := claimRuns(t, st, c.ID, campaign.TriggerDeploy, 1)
		require.Len(t, reclaimed, 1)
		require.Equal(t, []any{first.Runs[0].Number, first.Runs[0].RunID}, []any{reclaimed[0].Number, reclaimed[0].RunID})
		_, err = st.ClaimRuns(t.Context(), c.ID, campaign.TriggerDeploy, 2, time.Millisecond)
		require.NoError(t, err)
		time.Sleep(5 * time.Millisecond)
		released, stuck, err := st.ReleaseRuns(t.Context(), c.ID, time.Microsecond, 10)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, []int{released, len(stuck)})
	})
	t.Run("during a pause the runs of lost workers are not claimed", func(t *testing.T) {
		c := newCampaign(t, st, "paused", campaign.Budget{})
		register(t, st, c.ID, 1)
		lost, err := st.ClaimRuns(t.Context(), c.ID, campaign.TriggerDeploy, 1, time.Microsecond)
		require.NoError(t, err)
		require.Len(t, lost.Runs, 1)
		_, err = st.PauseCampaign(asActor(t, "ada"), c.ID, true, nil)
		require.NoError(t, err)
		require.Empty(t, claimRuns(t, st, c.ID, campaign.TriggerDeploy, 1))
		_, err = st.PauseCampaign(asActor(t, "ada"), c.ID, false, nil)
		require.NoError(t, err)
		require.Len(t, claimRuns(t, st, c.ID, campaign.TriggerDeploy, 1), 1)
	})
	t.Run("a pause stops triggers, and a used-up budget stops triggers of DAG runs but no checks", func(t *testing.T) {
		c := newCampaign(t, st, "bounded", campaign.Budget{Runs: 1})
		require.Contains(t, trail(t, st, store.AuditFilter{}, 1)[0], `"budget":{"runs":1}}`)
		register(t, st, c.ID, 3)
		for range 3 {
			advance(t, st, c.ID, campaign.TriggerDeploy, campaign.Deploying)
			advance(t, st, c.ID, campaign.CheckDeploy, campaign.Deployed)
		}
		_, err := st.PauseCampaign(asActor(t, "ada"), c.ID, true, nil)
		require.NoError(t, err)
		require.Empty(t, claimRuns(t, st, c.ID, campaign.TriggerRun, 5))
		_, err = st.PauseCampaign(asActor(t, "ada"), c.ID, false, nil)
		require.NoError(t, err)
		require.Len(t, claimRuns(t, st, c.ID, campaign.TriggerRun, 5), 1)
		claimed, err := st.ClaimRuns(t.Context(), c.ID, campaign.TriggerRun, 5, time.Hour)
		require.NoError(t, err)
		require.Empty(t, claimed.Runs)
		require.Equal(t, "budget of 1 runs is used up", claimed.Campaign.Stopped)
		require.Contains(t, trail(t, st, store.AuditFilter{}, 1)[0], "campaign stopped")
		_, err = st.ReportRun(t.Context(), c.ID, store.RunReport{Number: 1, From: campaign.RunTriggered, To: campaign.Running})
		require.NoError(t, err)
		require.Len(t, claimRuns(t, st, c.ID, campaign.CheckRun, 5), 1)
		resumed, err := st.PauseCampaign(asActor(t, "ada"), c.ID, false, &campaign.Budget{GBHours: 2})
		require.NoError(t, err)
		require.Equal(t, []any{"", campaign.Budget{GBHours: 2}}, []any{resumed.Stopped, resumed.Budget})
		named := fmt.Sprintf(`{"campaign":%d,"name":"bounded"`, c.ID)
		require.Equal(t, "ada:  campaign resumed "+named+`,"budget":{"runs":1}} > `+named+`,"budget":{"gbh":2}}`, trail(t, st, store.AuditFilter{}, 1)[0])

		run := claimRuns(t, st, c.ID, campaign.TriggerRun, 2)[0]
		used := success(firstTry(task("heavy"), run.RunID), sizing.GiB, 1)
		used.Allocated.Memory, used.Duration = 2_000_000_000, time.Hour
		recordNew(t, st, used)
		reported, err := st.CampaignRunTasks(t.Context(), c.ID, run.Number)
		require.NoError(t, err)
		require.Equal(t, []campaign.TaskReport{{Task: "heavy", MapIndex: sizing.NoMap, Tries: 1, Succeeded: true, Peak: sizing.GiB}}, reported)
		claimed, err = st.ClaimRuns(t.Context(), c.ID, campaign.TriggerRun, 5, time.Hour)
		require.NoError(t, err)
		require.Equal(t, "budget of 2 GB·h is used up: 2", claimed.Campaign.Stopped)
	})
	t.Run("a run that a trigger returned without starting its DAG run keeps its place in the budget of runs", func(t *testing.T) {
		c := newCampaign(t, st, "given back", campaign.Budget{Runs: 1})
		register(t, st, c.ID, 2)
		for range 2 {
			advance(t, st, c.ID, campaign.TriggerDeploy, campaign.Deploying)
			advance(t, st, c.ID, campaign.CheckDeploy, campaign.Deployed)
		}
		advance(t, st, c.ID, campaign.TriggerRun, campaign.Deployed)
		require.Empty(t, claimRuns(t, st, c.ID, campaign.TriggerDeploy, 5), "this claim stops the campaign")
		status, err := st.CampaignStatus(t.Context(), c.ID, 1)
		require.NoError(t, err)
		require.Equal(t, "budget of 1 runs is used up", status.Stopped)
		again := claimRuns(t, st, c.ID, campaign.TriggerRun, 5)
		require.Len(t, again, 1, "the other run would exceed the budget")
		require.Equal(t, []int{1, 1}, []int{again[0].Number, again[0].Attempt})
		_, err = st.ReportRun(t.Context(), c.ID, store.RunReport{Number: 1, From: campaign.RunTriggered, To: campaign.Deployed})
		require.NoError(t, err)
		_, err = st.PauseCampaign(asActor(t, "ada"), c.ID, false, &campaign.Budget{Runs: 1, Until: time.Now().Add(-time.Hour)})
		require.NoError(t, err)
		require.Empty(t, claimRuns(t, st, c.ID, campaign.TriggerRun, 5), "no run starts after the end date")
		_, err = st.PauseCampaign(asActor(t, "ada"), c.ID, false, &campaign.Budget{Runs: 2})
		require.NoError(t, err)
		require.Len(t, claimRuns(t, st, c.ID, campaign.TriggerRun, 5), 2)
		status, err = st.CampaignStatus(t.Context(), c.ID, 1)
		require.NoError(t, err)
		require.Equal(t, 2, status.Used.Runs)
	})
}
