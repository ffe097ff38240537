package testcluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testwait"
)

func TestRestartsLoseNothingAndTheReportLogFindsFaults(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	out := t.TempDir() + "/loadaware"
	root, err := Root()
	require.NoError(t, err)
	require.NoError(t, Build(ctx, root, out))
	cluster, err := Open(ctx, Config{Binary: out})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	tasks, err := cluster.Fill(ctx, History{Runs: 59, Seed: 1})
	require.NoError(t, err)
	replica := cluster.Replicas[0]
	reproduced := Observation{Task: tasks[0], RunID: "loadaware_campaign__1", MapIndex: -1, TryNumber: 1, Outcome: "oom_killed", Peak: 1e9}
	cluster.Reports.RecordSent(reproduced)
	status, answer, err := replica.Call(ctx, http.MethodPost, "/observe", reproduced)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	cluster.Reports.RecordAcked(reproduced)

	replica.Kill()
	cluster.Postgres.Kill()
	require.NoError(t, cluster.Postgres.Start(ctx))
	require.NoError(t, replica.Start(ctx))
	comparison, err := cluster.Reports.Check(ctx, cluster.Postgres.DSN())
	require.NoError(t, err)
	assert.Equal(t, Comparison{Sent: 60, Acked: 60, Stored: 60}, comparison, "kills of the replica and of PostgreSQL must lose no report")
	require.NoError(t, replica.Terminate())
	require.NoError(t, replica.Start(ctx))
	require.NoError(t, syscall.Kill(replica.PID(), syscall.SIGKILL)) // simulates a crash
	require.Eventually(t, func() bool { return replica.PID() == 0 }, testwait.Limit, 10*time.Millisecond)
	require.ErrorContains(t, replica.Terminate(), "ended by itself")
	require.NoError(t, replica.Start(ctx))
	require.NoError(t, replica.Terminate())

	// Check must find each kind of fault.
	conn, err := pgx.Connect(ctx, cluster.Postgres.DSN())
	require.NoError(t, err)
	defer conn.Close(ctx)
	for _, statement := range []string{
		"DELETE FROM observation WHERE run_id = 'past-0000001'",
		"UPDATE observation SET memory_max = memory_max + 1 WHERE run_id = 'past-0000002'",
		"UPDATE observation SET run_id = 'never sent' WHERE run_id = 'past-0000003'",
		"ALTER TABLE observation DROP CONSTRAINT observation_task_run_id_map_index_try_number_key",
		`INSERT INTO observation (task, at, map_index, lot, try_number, outcome, provisional, run_id, memory_max)
			SELECT task, at, map_index, lot, try_number, outcome, provisional, run_id, memory_max FROM observation WHERE run_id = 'past-0000004'`,
		"UPDATE tally SET observations = 7",
	} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err, statement)
	}
	comparison, err = cluster.Reports.Check(ctx, cluster.Postgres.DSN())
	require.NoError(t, err)
	assert.Equal(t, Comparison{Sent: 60, Acked: 60, Stored: 60, Lost: 2, Duplicate: 1, Changed: 1, Unsent: 1, Miscounted: 1}, comparison)
}

func TestFillErrorNamesTheFailedCall(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	cluster := &Cluster{Replicas: []*Replica{{URL: server.URL}}, Reports: NewReportLog()}
	_, err := cluster.Fill(t.Context(), History{Runs: 1})
	assert.EqualError(t, err, "report runs of task_00000: status 404: 404 page not found\n")
	server.Close()
	_, err = cluster.Fill(t.Context(), History{Runs: 1})
	assert.ErrorContains(t, err, "report runs of task_00000: Post ")
}

func TestCallToReplicaWithoutProcessFails(t *testing.T) {
	cluster := &Cluster{Dir: t.TempDir()}
	replica, err := newReplica(cluster, "none")
	require.NoError(t, err)
	status, _, err := replica.Call(t.Context(), http.MethodGet, "/readyz", nil)
	require.Error(t, err)
	assert.Zero(t, status)
	assert.Zero(t, replica.PID())
	require.NoError(t, replica.Terminate(), "without a process, Terminate must do nothing")
}
