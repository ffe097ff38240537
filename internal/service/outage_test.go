package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestPredictAndLiftWorkWithoutTheDatabase(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 40)
	before := r.predict(ask("load", ""))
	r.store.Close()
	assertSame(t, before, r.predict(ask("load", "")), "the answer must stay the same")

	a := ask("load", "r")
	queued := r.predict(a).PredictionID
	_, err := r.Observe(t.Context(), []sizing.Observation{success("load", 99, 100)})
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err), "only stored reports are acknowledged")
	assert.Equal(t, 40, r.learnedRows("load"), "the report is not learned")

	for number, killed := range []sizing.Bytes{gib, 2 * gib, 3 * gib} {
		lift := r.lift(nthTry(a, number+1), killed)
		assert.Equal(t, number+2, lift.Attempt, "kills are counted in memory")
		assert.Greater(t, lift.Memory.Limit, killed)
		assert.Equal(t, lift.Memory, r.predict(nthTry(a, number+2)).Memory)
	}
	assert.Equal(t, sizing.VerdictExhausted, r.lift(nthTry(a, 4), 5*gib).Verdict)

	_, err = r.Receipt(t.Context(), queued)
	require.NoError(t, err, "queued receipts stay in the outbox")
	r.waitFor(func() bool { return r.Readiness().Observe == "unavailable" }, "the readiness must report the outage")
	assert.True(t, r.Readiness().Ready, "the replica must stay ready, because predictions continue")
}

// A database on a full disk, or a standby, answers reads and rejects writes.
func TestReadinessReportsADatabaseThatRejectsWrites(t *testing.T) {
	r := newReplica(t)
	observe := func(run int) sizing.Kind {
		_, err := r.Observe(t.Context(), []sizing.Observation{success("load", run, 100)})
		return sizing.KindOf(err)
	}
	setReadOnly := func(value string) {
		r.exec(`BEGIN READ WRITE;
			DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ` + value + `', current_database()); END $$;
			COMMIT`)
		r.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	r.trainTask("load", 1)
	setReadOnly("on")
	require.Equal(t, sizing.Unavailable, observe(2))
	assert.Equal(t, "unavailable", r.Readiness().Observe)
	r.clockOffset += 11 * time.Second
	assert.Equal(t, "ok", r.Readiness().Observe, "an old rejection no longer counts")

	require.Equal(t, sizing.Unavailable, observe(2))
	setReadOnly("off")
	r.waitFor(func() bool { return observe(2) != sizing.Unavailable }, "reports must be accepted again")
	assert.Equal(t, "ok", r.Readiness().Observe, "a stored report clears the rejection")
}

// Locks on the tables of tasks, reports, receipts and models simulate a database that never answers. The policies ask
// for no plans, for which a prediction would read the database.
func TestPredictionsOfFirstTriesDoNotReadTheDatabase(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	other := joinReplica(t, r.dsn, service.Config{ReadTimeout: time.Hour}).start()
	other.predict(ask("load", "r")) // the first prediction of a task decodes its model
	other.stop()
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK task, tally, lease, observation, receipt, model IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	inTime(t, func() {
		for range 100 {
			assert.Equal(t, sizing.FromModel, other.predict(ask("load", "r")).Source)
			assert.Equal(t, sizing.FromRequested, other.predict(ask("unknown", "r")).Source)
		}
	})
	waits := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
		return n
	}
	assert.Zero(t, waits())

	// The prediction for a later try reads the database. This shows that the test detects reads.
	answered := make(chan error, 1)
	a := nthTry(ask("load", "r"), 2)
	go func() { _, err := other.Predict(t.Context(), &a); answered <- err }()
	other.waitFor(func() bool { return waits() == 1 }, "the read must wait for the lock")
	require.NoError(t, locked.Rollback(t.Context()))
	require.NoError(t, <-answered)
}

func TestALaterTryWaitsAtMostReadTimeout(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	waiting := joinReplica(t, r.dsn, service.Config{ReadTimeout: 50 * time.Millisecond}).start()
	waiting.predict(ask("load", "r")) // decodes the model
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK task, tally, observation IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	inTime(t, func() { // while another transaction holds the locks
		assert.Equal(t, sizing.FromModel, waiting.predict(nthTry(ask("load", "r"), 2)).Source)
		lift := waiting.lift(ask("load", "s"), 2*gib)
		assert.True(t, lift.Retry)
		assert.Equal(t, lift.Memory, waiting.predict(nthTry(ask("load", "s"), 2)).Memory)
	})
}
