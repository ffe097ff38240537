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

// A lock on table model simulates a slow database.
func TestTheFirstPredictionWaitsAtMostDecodeWait(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Cap: 50 * gib}))
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK model IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	other := joinReplica(t, r.dsn, service.Config{DecodeWait: 20 * time.Millisecond}).start()
	assert.Equal(t, 1, other.Readiness().Models, "a model that is not decoded counts, too")
	early := other.predict(ask("load", "r"))
	assert.Equal(t, sizing.FromRequested, early.Source)
	assert.Contains(t, early.Reason, "not loaded yet")
	assert.Equal(t, 50*gib, early.Memory.Limit, "the policy applies although the model is not loaded")
	assert.Nil(t, early.Model)
	withoutRequest := ask("load", "r")
	withoutRequest.Requested = sizing.Resources{}
	_, err = other.Predict(t.Context(), &withoutRequest)
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err), "the task is known, so the error is not NotFound")
	other.report(success("load", 41, 40))
	assert.Zero(t, other.learnedRows("load"), "a report does not create another model")

	require.NoError(t, locked.Rollback(t.Context()))
	other.waitFor(func() bool { return other.modelVersion("load") == 1 }, "the model must be decoded")
	assert.Equal(t, 41, other.learnedRows("load"), "the decoded model learns the report")
	r.report(success("load", 41, 40)) // a duplicate, which r does not learn
	assert.Equal(t, 40, r.learnedRows("load"))
}

func TestModelsArePreloaded(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	want := r.predict(ask("load", ""))
	other := joinReplica(t, r.dsn, service.Config{DecodeWait: time.Nanosecond}).start()
	other.waitFor(func() bool { return !other.Counts().NewestModel.IsZero() }, "the model must be decoded")
	other.store.Close()
	assertSame(t, want, other.predict(ask("load", "")), "the preloaded model must answer without the database")
}
