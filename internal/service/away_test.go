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

func TestWithoutItsDatabaseItAnswersAndLifts(t *testing.T) {
	r := newReplica(t).start()
	r.taught("load", 40)
	before := r.answer(ask("load", ""))
	r.store.Close()
	same(t, before, r.answer(ask("load", "")), "as before")

	question := ask("load", "r")
	unwritten := r.answer(question).PredictionID
	_, err := r.Observe(t.Context(), []sizing.Observation{success("load", 99, 100)})
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err), "nothing is acknowledged that is not stored")
	assert.Equal(t, 40, r.told("load"), "or learned")

	for number, at := range []sizing.Bytes{gib, 2 * gib, 3 * gib} {
		lift := r.lift(later(question, number+1), at)
		assert.Equal(t, number+2, lift.Attempt, "kills are counted in memory")
		assert.Greater(t, lift.Memory.Limit, at)
		assert.Equal(t, lift.Memory, r.answer(later(question, number+2)).Memory)
	}
	assert.Equal(t, sizing.VerdictExhausted, r.lift(later(question, 4), 5*gib).Verdict)

	_, err = r.Receipt(t.Context(), unwritten)
	require.NoError(t, err, "it was not written, and is kept")
	r.until(func() bool { return r.Readiness().Observe == "unavailable" }, "readiness says so")
	assert.True(t, r.Readiness().Ready, "predictions go on")
}

// A database on a full disk, or a standby, answers but stores nothing.
func TestReadinessTellsOfADatabaseThatAnswersButStoresNothing(t *testing.T) {
	r := newReplica(t)
	tell := func(run int) sizing.Kind {
		_, err := r.Observe(t.Context(), []sizing.Observation{success("load", run, 100)})
		return sizing.KindOf(err)
	}
	takesWrites := func(so string) {
		r.sql(`BEGIN READ WRITE;
			DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ` + so + `', current_database()); END $$;
			COMMIT`)
		r.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	r.taught("load", 1)
	takesWrites("on")
	require.Equal(t, sizing.Unavailable, tell(2))
	assert.Equal(t, "unavailable", r.Readiness().Observe)
	r.ahead += 11 * time.Second
	assert.Equal(t, "ok", r.Readiness().Observe, "what was refused long ago tells nothing")

	require.Equal(t, sizing.Unavailable, tell(2))
	takesWrites("off")
	r.until(func() bool { return tell(2) != sizing.Unavailable }, "reports are taken again")
	assert.Equal(t, "ok", r.Readiness().Observe, "what was stored tells more")
}

// A lock on every table is a database that never answers.
func TestAFirstTryNeverTouchesTheDatabase(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	patient := join(t, r.dsn, service.Config{LaterTryRead: time.Hour}).start()
	patient.answer(ask("load", "r")) // the first question of a task may open its model
	patient.stop()
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK task, tally, lease, observation, receipt, model IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	within(t, func() {
		for range 100 {
			assert.Equal(t, sizing.FromModel, patient.answer(ask("load", "r")).Source)
			assert.Equal(t, sizing.FromRequested, patient.answer(ask("unknown", "r")).Source)
		}
	})
	waits := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
		return n
	}
	assert.Zero(t, waits())

	// A later try does one read, so that this test could tell.
	answered := make(chan error, 1)
	question := later(ask("load", "r"), 2)
	go func() { _, err := patient.Predict(t.Context(), &question); answered <- err }()
	patient.until(func() bool { return waits() == 1 }, "waits")
	require.NoError(t, locked.Rollback(t.Context()))
	require.NoError(t, <-answered)
}

func TestALaterTryDoesNotWaitLongForADatabaseThatIsStuck(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	hasty := join(t, r.dsn, service.Config{LaterTryRead: 50 * time.Millisecond}).start()
	hasty.answer(ask("load", "r")) // the first question of a task opens its model
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK task, tally, observation IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	// The lock is never given back.
	within(t, func() {
		assert.Equal(t, sizing.FromModel, hasty.answer(later(ask("load", "r"), 2)).Source)
		lift := hasty.lift(ask("load", "s"), 2*gib)
		assert.True(t, lift.Retry)
		assert.Equal(t, lift.Memory, hasty.answer(later(ask("load", "s"), 2)).Memory)
	})
}

func TestEveryAnswerHasAReceiptAtOnceAndAfterTheEnd(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	first := r.answer(ask("load", "r"))
	lift := r.lift(ask("load", "r"), 2*gib)
	pending, err := r.Receipt(t.Context(), first.PredictionID)
	require.NoError(t, err, "before it is written")
	same(t, first, &pending.Allocation, "as it was answered")
	_, err = r.store.Receipt(t.Context(), first.PredictionID)
	require.Equal(t, sizing.NotFound, sizing.KindOf(err), "nothing writes yet")

	r.start()
	last := make([]string, 0, 5000) // more than one write takes
	for range cap(last) {
		last = append(last, r.answer(ask("load", "")).PredictionID)
	}
	r.stop() // writes what is queued
	for _, id := range append(last[:1:1], last[len(last)-1], first.PredictionID, lift.PredictionID) {
		stored, err := r.store.Receipt(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, id, stored.Allocation.PredictionID)
	}
	stored, err := r.store.Receipt(t.Context(), lift.PredictionID)
	require.NoError(t, err)
	assert.Equal(t, 2, stored.Ask.Try.Number, "a lift answers for the next try")
	assert.Equal(t, lift.Memory, stored.Allocation.Memory)
	_, err = r.Receipt(t.Context(), "no such answer")
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
}

func TestAReceiptThatCannotBeStoredTakesNoOtherAlong(t *testing.T) {
	r := newReplica(t)
	good := r.answer(ask("load", "r"))
	refused := ask("load", "r")
	refused.Features = sizing.Features{"region": sizing.TextValue("emea")}
	r.sql(`ALTER TABLE receipt ADD CHECK (body::text NOT LIKE '%region%')`)
	bad := r.answer(refused)
	after := r.answer(ask("load", "r"))
	r.start()
	r.stop()
	for id, want := range map[string]bool{good.PredictionID: true, after.PredictionID: true, bad.PredictionID: false} {
		_, err := r.store.Receipt(t.Context(), id)
		assert.Equal(t, want, err == nil, "%v", err)
	}
}

func TestADeletedTaskLeavesNoReceiptBehind(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 5)
	queued := r.answer(ask("load", "r"))
	r.lift(ask("load", "r"), 2*gib)
	require.NoError(t, r.DeleteTask(t.Context(), task("load")))
	_, err := r.Receipt(t.Context(), queued.PredictionID)
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
	assert.Equal(t, sizing.FromRequested, r.answer(later(ask("load", "r"), 2)).Source, "nor a kill")

	r.taught("old", 5)
	queued = r.answer(ask("old", "r"))
	require.NoError(t, r.Rename(t.Context(), task("old"), task("new")))
	moved, err := r.Receipt(t.Context(), queued.PredictionID)
	require.NoError(t, err)
	assert.Equal(t, task("new"), moved.Ask.Try.TaskKey)
}
