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

// The test changes every 16th byte of a small model and truncates the model at every 16th byte.
// The long form of scripts/chaos (trial damaged-model) does the same for every byte.
func TestActivateRejectsACorruptModel(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 1)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	require.Equal(t, 2, r.modelVersion("load"))
	require.NoError(t, r.Activate(t.Context(), task("load"), 1))
	good := r.predict(ask("load", ""))
	whole, err := r.store.Model(t.Context(), task("load"), 2)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())

	const seed = 13
	rng := rand.New(rand.NewPCG(seed, 0))
	rejected := 0
	for at := rng.IntN(16); at < len(whole.Blob); at += 16 {
		flipped := append([]byte(nil), whole.Blob...)
		flipped[at] ^= byte(1 + rng.IntN(255))
		for _, corrupt := range [][]byte{flipped, whole.Blob[:at]} {
			_, err := conn.Exec(t.Context(), `UPDATE model SET blob = $1 WHERE version = 2`, corrupt)
			require.NoError(t, err)
			err = r.Activate(t.Context(), task("load"), 2)
			require.Equal(t, sizing.Conflict, sizing.KindOf(err), "the model that is corrupt at byte %d of %d must be rejected", at, len(whole.Blob))
			rejected++
		}
	}
	t.Logf("seed %d: %d corrupt forms of a model of %d bytes were rejected", seed, rejected, len(whole.Blob))
	assertSame(t, good, r.predict(ask("load", "")), "the active model is unchanged")

	// The intact model can be activated: the corruption caused the rejections.
	_, err = conn.Exec(t.Context(), `UPDATE model SET blob = $1 WHERE version = 2`, whole.Blob)
	require.NoError(t, err)
	require.NoError(t, r.Activate(t.Context(), task("load"), 2))
	assert.Equal(t, 2, r.modelVersion("load"))
}

func TestARejectedActivationChangesNothing(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 10)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.exec(`UPDATE model SET blob = set_byte(blob, 50, get_byte(blob, 50) # 1) WHERE version = 1`)
	require.Error(t, r.Activate(t.Context(), task("load"), 1))
	models, err := r.Models(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []any{2, true, ""}, []any{models[0].Version, models[0].Active, models[0].PinnedBy})
}

func TestReadinessReportsStaleness(t *testing.T) {
	r := newReplica(t)
	assert.Zero(t, r.Readiness().Stale, "staleness is zero before the first resync")
	r.start()
	before := r.Readiness().Stale
	r.waitFor(func() bool { return r.Readiness().Stale < before }, "each ping must reset the staleness")
	r.store.Close()
	atClose := r.Readiness().Stale
	r.waitFor(func() bool { return r.Readiness().Stale.Seconds() > atClose.Seconds()+2.5 }, "the staleness must grow without the store")
}

// A failed decoding makes the task due for a training. Otherwise no training would replace the model before the next
// reports.
func TestATaskWithACorruptModelIsDue(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 10)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.exec(`UPDATE model SET blob = set_byte(blob, 50, get_byte(blob, 50) # 1)`)
	r.exec(`UPDATE tally SET due_at = NULL`)
	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	restarted := joinReplica(t, r.dsn, service.Config{}).start()
	question := ask("load", "")
	_, _ = restarted.Predict(t.Context(), &question)
	r.waitFor(func() bool {
		var due bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT due_at IS NOT NULL FROM tally`).Scan(&due))
		return due
	}, "the task must become due for a training")
}
