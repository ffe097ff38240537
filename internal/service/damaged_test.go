package service_test

import (
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The row of a small model, with every 16th byte flipped and cut at every 16th length;
// scripts/chaos does it at every one.
func TestADamagedModelIsRefusedAndTheLastGoodOneAnswers(t *testing.T) {
	r := newReplica(t).start()
	r.taught("load", 1)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	require.Equal(t, 2, r.version("load"))
	require.NoError(t, r.Activate(t.Context(), task("load"), 1))
	good := r.answer(ask("load", ""))
	whole, err := r.store.Model(t.Context(), task("load"), 2)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())

	const seed = 13
	rng := rand.New(rand.NewPCG(seed, 0))
	tried := 0
	for at := rng.IntN(16); at < len(whole.Blob); at += 16 {
		flipped := append([]byte(nil), whole.Blob...)
		flipped[at] ^= byte(1 + rng.IntN(255))
		for _, damaged := range [][]byte{flipped, whole.Blob[:at]} {
			_, err := conn.Exec(t.Context(), `UPDATE model SET blob = $1 WHERE version = 2`, damaged)
			require.NoError(t, err)
			err = r.Activate(t.Context(), task("load"), 2)
			require.Equal(t, sizing.Conflict, sizing.KindOf(err), "at %d of %d", at, len(whole.Blob))
			tried++
		}
	}
	t.Logf("seed %d: %d damaged rows of a model of %d bytes refused", seed, tried, len(whole.Blob))
	same(t, good, r.answer(ask("load", "")), "throughout")

	// The test of the test.
	_, err = conn.Exec(t.Context(), `UPDATE model SET blob = $1 WHERE version = 2`, whole.Blob)
	require.NoError(t, err)
	require.NoError(t, r.Activate(t.Context(), task("load"), 2))
	assert.Equal(t, 2, r.version("load"))
}

// What nobody can answer by leaves no trace in the trail, either.
func TestARefusedActivationChangesNothing(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 10)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.sql(`UPDATE model SET blob = set_byte(blob, 50, get_byte(blob, 50) # 1) WHERE version = 1`)
	require.Error(t, r.Activate(t.Context(), task("load"), 1))
	models, err := r.Models(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []any{2, true, ""}, []any{models[0].Version, models[0].Active, models[0].PinnedBy})
}

func TestAReplicaSaysHowStaleItMayBe(t *testing.T) {
	r := newReplica(t)
	assert.Zero(t, r.Readiness().Stale, "nothing answers yet")
	r.start()
	before := r.Readiness().Stale
	r.until(func() bool { return r.Readiness().Stale < before }, "it hears of the store every second")
	r.store.Close()
	gone := r.Readiness().Stale
	r.until(func() bool { return r.Readiness().Stale.Seconds() > gone.Seconds()+2.5 }, "and no longer")
}

// Only a training helps a task whose model cannot be opened, and no run may end for days.
func TestATaskWhoseModelCannotBeOpenedIsDue(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 10)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.sql(`UPDATE model SET blob = set_byte(blob, 50, get_byte(blob, 50) # 1)`)
	r.sql(`UPDATE tally SET due_at = NULL`)
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	again := join(t, r.dsn, service.Config{}).start()
	question := ask("load", "")
	_, _ = again.Predict(t.Context(), &question)
	r.until(func() bool {
		var due bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT due_at IS NOT NULL FROM tally`).Scan(&due))
		return due
	}, "it is due")
}
