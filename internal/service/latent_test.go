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

// A lock on the models is a database that takes its time to read them.
func TestAStartOpensNoModelAndTheFirstQuestionDoesNotWaitForEver(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Cap: 50 * gib}))
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK model IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	other := join(t, r.dsn, service.Config{OpenWait: 20 * time.Millisecond}).start()
	assert.Equal(t, 1, other.Readiness().Models, "it is known, though nobody could read it")
	early := other.answer(ask("load", "r"))
	assert.Equal(t, sizing.FromRequested, early.Source)
	assert.Contains(t, early.Reason, "not open yet")
	assert.Equal(t, 50*gib, early.Memory.Limit, "policies bind all the same")
	assert.Nil(t, early.Model)
	unasked := ask("load", "r")
	unasked.Requested = sizing.Resources{}
	_, err = other.Predict(t.Context(), &unasked)
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err), "it is not unknown")
	other.tell(success("load", 41, 40))
	assert.Zero(t, other.told("load"), "what is reported meanwhile makes no model of its own")

	require.NoError(t, locked.Rollback(t.Context()))
	other.until(func() bool { return other.version("load") == 1 }, "opened")
	assert.Equal(t, 41, other.told("load"), "and learned then")
	r.tell(success("load", 41, 40)) // a duplicate: r did not hear of it
	assert.Equal(t, 40, r.told("load"))
}

func TestModelsAreOpenedBeforeAnybodyAsks(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	want := r.answer(ask("load", ""))
	other := join(t, r.dsn, service.Config{OpenWait: time.Nanosecond}).start()
	other.until(func() bool { return !other.Counts().NewestModel.IsZero() }, "open")
	other.store.Close()
	same(t, want, other.answer(ask("load", "")), "without its database")
}
