package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/testcluster"
)

// TestListsComeFromTheStandby uses a streaming standby whose replay is paused, so that it differs from
// the primary.
func TestListsComeFromTheStandby(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // the user of PostgreSQL is another one if root runs the test
	primary, err := testcluster.NewPostgres(ctx, filepath.Join(dir, "primary", "data"), testcluster.PostgresConfig{})
	require.NoError(t, err)
	require.NoError(t, primary.Start(ctx))
	t.Cleanup(func() { assert.NoError(t, primary.Stop()) })
	st := open(t, primary.DSN())
	policy := sizing.Policy{Floor: sizing.GiB}
	task := func(name string) sizing.TaskKey { return sizing.TaskKey{Namespace: "n", DAG: "d", Task: name} }
	require.NoError(t, st.SetPolicy(ctx, task("first"), policy))

	standby, err := primary.NewStandby(ctx, filepath.Join(dir, "standby", "data"), testcluster.PostgresConfig{})
	require.NoError(t, err)
	require.NoError(t, standby.Start(ctx))
	t.Cleanup(func() { assert.NoError(t, standby.Stop()) })
	replicated, err := postgres.OpenReplicated(ctx, st, standby.DSN(), postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(replicated.CloseReplica)
	control := connect(t, standby.DSN())
	catchUp := func() {
		t.Helper()
		var last string
		require.NoError(t, connect(t, primary.DSN()).QueryRow(ctx, "SELECT pg_current_wal_lsn()").Scan(&last))
		for isBehind := true; isBehind; { // go test bounds it
			require.NoError(t, control.QueryRow(ctx, "SELECT pg_last_wal_replay_lsn() < $1::text::pg_lsn", last).Scan(&isBehind))
		}
	}
	names := func() (names []string) {
		t.Helper()
		listed, err := replicated.TasksBrief(ctx, "n", sizing.TaskKey{}, 10)
		require.NoError(t, err)
		for _, p := range listed {
			names = append(names, p.Task.Task)
		}
		return names
	}
	catchUp()
	require.NoError(t, replicated.Check(ctx))

	_, err = control.Exec(ctx, "SELECT pg_wal_replay_pause()")
	require.NoError(t, err)
	require.NoError(t, st.SetPolicy(ctx, task("second"), policy)) // another process writes
	assert.Equal(t, []string{"first"}, names(), "the list comes from the standby")
	found, err := replicated.Policy(ctx, task("second"))
	require.NoError(t, err)
	assert.Equal(t, policy, found, "a policy comes from the primary")

	require.NoError(t, replicated.SetPolicy(ctx, task("third"), policy))
	assert.Equal(t, []string{"first", "second", "third"}, names(), "after a write of this process, the list comes from the primary")
	require.Error(t, replicated.Check(ctx), "the standby has not replayed the write")
	assert.Equal(t, []string{"first", "second", "third"}, names())

	_, err = control.Exec(ctx, "SELECT pg_wal_replay_resume()")
	require.NoError(t, err)
	catchUp()
	require.NoError(t, replicated.Check(ctx))
	standby.Kill()
	assert.Equal(t, []string{"first", "second", "third"}, names(), "without the standby, the list comes from the primary")
	require.Error(t, replicated.Check(ctx))
}

// A database that is no standby would serve another history.
func TestADatabaseThatIsNoStandbyServesNoReads(t *testing.T) {
	st := reopen(t, pgtest.Migrated(t))
	replicated, err := postgres.OpenReplicated(t.Context(), st, pgtest.Migrated(t), postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(replicated.CloseReplica)
	require.ErrorContains(t, replicated.Check(t.Context()), "no standby")
	require.NoError(t, st.SetPolicy(t.Context(), sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"}, sizing.Policy{Floor: sizing.GiB}))
	listed, err := replicated.TasksBrief(t.Context(), "n", sizing.TaskKey{}, 10)
	require.NoError(t, err)
	assert.Len(t, listed, 1)
}

func TestAMalformedReplicaURLIsNamed(t *testing.T) {
	_, err := postgres.OpenReplicated(t.Context(), nil, "postgres://%zz", postgres.Config{})
	require.ErrorContains(t, err, "DATABASE_REPLICA_URL")
}
