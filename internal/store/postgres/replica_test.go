package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/testcluster"
	"github.com/loadaware/loadaware/internal/testwait"
)

// replicated is a store with a streaming standby whose replay the test can pause, so that the standby differs from the primary.
type replicated struct {
	*postgres.ReplicatedStore
	t       *testing.T
	standby *testcluster.Postgres
	primary *testcluster.Postgres
	other   *postgres.Store // the primary, as another process uses it
	control *pgx.Conn       // to the standby
}

func newReplicated(t *testing.T) *replicated {
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	t.Cleanup(cancel)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // if root runs the test, PostgreSQL runs as another user
	primary, err := testcluster.NewPostgres(ctx, filepath.Join(dir, "primary", "data"), testcluster.PostgresConfig{})
	require.NoError(t, err)
	require.NoError(t, primary.Start(ctx))
	t.Cleanup(func() { assert.NoError(t, primary.Stop()) })
	st := open(t, primary.DSN())
	standby, err := primary.NewStandby(ctx, filepath.Join(dir, "standby", "data"), testcluster.PostgresConfig{})
	require.NoError(t, err)
	require.NoError(t, standby.Start(ctx))
	t.Cleanup(func() { assert.NoError(t, standby.Stop()) })
	r, err := postgres.OpenReplicated(ctx, st, standby.DSN(), postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(r.CloseReplica)
	return &replicated{r, t, standby, primary, st, connect(t, standby.DSN())}
}

func (r *replicated) catchUp() {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.Check(r.t.Context()) == nil }, testwait.Limit, 10*time.Millisecond)
}

// pauseReplay pauses the replay of the standby. It waits until the replay has stopped, because pg_wal_replay_pause only
// requests the pause.
func (r *replicated) pauseReplay() {
	r.t.Helper()
	_, err := r.control.Exec(r.t.Context(), "SELECT pg_wal_replay_pause()")
	require.NoError(r.t, err)
	require.Eventually(r.t, func() bool {
		var state string
		require.NoError(r.t, r.control.QueryRow(r.t.Context(), "SELECT pg_get_wal_replay_pause_state()").Scan(&state))
		return state == "paused"
	}, testwait.Limit, 10*time.Millisecond)
}

func (r *replicated) resumeReplay() {
	r.t.Helper()
	_, err := r.control.Exec(r.t.Context(), "SELECT pg_wal_replay_resume()")
	require.NoError(r.t, err)
}

func (r *replicated) names() (names []string) {
	r.t.Helper()
	listed, err := r.TasksBrief(r.t.Context(), "n", sizing.TaskKey{}, 10)
	require.NoError(r.t, err)
	for _, p := range listed {
		names = append(names, p.Task.Task)
	}
	return names
}

func TestListsComeFromTheStandby(t *testing.T) {
	r, ctx := newReplicated(t), t.Context()
	policy := sizing.Policy{Floor: sizing.GiB}
	task := func(name string) sizing.TaskKey { return sizing.TaskKey{Namespace: "n", DAG: "d", Task: name} }
	require.NoError(t, r.SetPolicy(ctx, task("first"), policy))
	r.catchUp()

	r.pauseReplay()
	require.NoError(t, r.other.SetPolicy(ctx, task("second"), policy))
	assert.Equal(t, []string{"first"}, r.names(), "the list must come from the standby")
	found, err := r.Policy(ctx, task("second"))
	require.NoError(t, err)
	assert.Equal(t, policy, found, "a policy must come from the primary")

	require.NoError(t, r.SetPolicy(ctx, task("third"), policy))
	assert.Equal(t, []string{"first", "second", "third"}, r.names(), "after a write of this process, the list must come from the primary")
	require.Error(t, r.Check(ctx), "the check must fail, because the standby has not replayed the write")
	assert.Equal(t, []string{"first", "second", "third"}, r.names())

	r.resumeReplay()
	r.catchUp()
	r.standby.Kill()
	assert.Equal(t, []string{"first", "second", "third"}, r.names(), "without the standby, the list must come from the primary")
	// After the kill of the postmaster, a backend may still answer one query before it ends.
	require.Eventually(t, func() bool { return r.Check(ctx) != nil }, testwait.Limit, 10*time.Millisecond)
}

func TestCheckNamesAPrimaryThatDoesNotAnswer(t *testing.T) {
	r, ctx := newReplicated(t), t.Context()
	r.primary.Kill()
	err := r.Check(ctx)
	require.ErrorContains(t, err, "read the position of the primary, without which the lag of the standby is unknown")
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err))
}

func TestStandbyServesReadsWhileThePrimaryIsDown(t *testing.T) {
	r, ctx := newReplicated(t), t.Context()
	require.NoError(t, r.SetPolicy(ctx, sizing.TaskKey{Namespace: "n", DAG: "d", Task: "first"}, sizing.Policy{Floor: sizing.GiB}))
	r.catchUp()
	r.primary.Kill()
	require.NoError(t, r.Check(ctx), "while the primary is down, its last known WAL positions must decide")
	assert.Equal(t, []string{"first"}, r.names())
}

func TestAuditListsCampaignChangesBeforeTheStandbyReplaysThem(t *testing.T) {
	r, ctx := newReplicated(t), t.Context()
	var created campaign.Campaign
	for _, change := range []struct {
		action store.Action
		make   func() error
	}{
		{store.CampaignCreated, func() (err error) {
			created, err = r.CreateCampaign(ctx, campaign.Campaign{Name: "heavy", Namespace: "n", DAG: "d", Pool: "sandbox"})
			return err
		}},
		{store.RunsRegistered, func() error {
			_, _, err := r.RegisterRuns(ctx, created.ID, []campaign.ArchivedRun{{Scenario: "s", ExecutionDate: monday}})
			return err
		}},
		{store.RunReset, func() error {
			claimed, err := r.ClaimRuns(ctx, created.ID, campaign.TriggerDeploy, 1, time.Hour)
			require.NoError(t, err)
			_, err = r.ReportRun(ctx, created.ID, store.RunReport{Number: 1, From: claimed.Runs[0].State, To: campaign.DeployFailed, Attempt: claimed.Runs[0].Attempt})
			require.NoError(t, err)
			_, err = r.ResetRun(ctx, created.ID, 1, campaign.Registered, "")
			return err
		}},
		{store.CampaignPaused, func() error {
			_, err := r.PauseCampaign(ctx, created.ID, true, nil)
			return err
		}},
	} {
		r.catchUp()
		r.pauseReplay()
		require.NoError(t, change.make())
		trail, err := r.Audit(ctx, store.AuditFilter{}, 1)
		require.NoError(t, err)
		if assert.NotEmpty(t, trail, change.action) {
			assert.Equal(t, change.action, trail[0].Action)
		}
		r.resumeReplay()
	}
}

// A database that is no standby may have other data.
func TestADatabaseThatIsNoStandbyServesNoReads(t *testing.T) {
	st := reopen(t, pgtest.Migrated(t))
	r, err := postgres.OpenReplicated(t.Context(), st, pgtest.Migrated(t), postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(r.CloseReplica)
	require.ErrorContains(t, r.Check(t.Context()), "no standby")
	require.NoError(t, st.SetPolicy(t.Context(), sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"}, sizing.Policy{Floor: sizing.GiB}))
	listed, err := r.TasksBrief(t.Context(), "n", sizing.TaskKey{}, 10)
	require.NoError(t, err)
	assert.Len(t, listed, 1)
}

func TestErrorOfAMalformedReplicaURLNamesItsVariable(t *testing.T) {
	_, err := postgres.OpenReplicated(t.Context(), nil, "postgres://%zz", postgres.Config{})
	require.ErrorContains(t, err, "DATABASE_REPLICA_URL")
}
