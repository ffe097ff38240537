package service_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// oneModel is a memory limit that allows only one decoded model: a prediction for another task evicts this model.
const oneModel = sizing.Bytes(1)

func startBounded(t *testing.T, dsn string, cfg service.Config) *replica {
	t.Helper()
	cfg.ModelMemory = oneModel
	r := joinReplica(t, dsn, cfg).start()
	r.waitFor(func() bool { return !r.Counts().NewestModel.IsZero() }, "a model must be preloaded")
	return r
}

// After an eviction and the next decoding, a model answers as before: it learns all reports since its training again,
// including those that arrived while it was not in memory.
func TestAnEvictedModelAnswersAsBefore(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	r.trainTask("other", 40)
	bounded := startBounded(t, r.dsn, service.Config{DecodeWait: time.Minute})
	for i := range 30 {
		if i%3 == 0 { // every third report arrives while the model of "load" is evicted, the other reports while the model is in memory
			bounded.predict(ask("other", ""))
		}
		o := success("load", i, 30)
		o.Try.RunID = fmt.Sprint("later-", i)
		o.MemoryMax = o.MemoryMax.Times(1.5)
		if i%10 == 9 {
			o.Outcome, o.MemoryMax, o.Allocated.Memory = sizing.OOMKilled, 0, gib
		}
		bounded.report(o)
		want := bounded.predict(ask("load", ""))
		require.Equal(t, sizing.FromModel, want.Source)
		require.EqualValues(t, 61+i, want.Guard.Version, "the model must have learned all reports")

		evictions := bounded.Counts().ModelMemory.Evictions
		bounded.predict(ask("other", ""))
		require.Greater(t, bounded.Counts().ModelMemory.Evictions, evictions)
		assertSame(t, want, bounded.predict(ask("load", "")), fmt.Sprint("after the eviction ", i))
	}
	counts := bounded.Counts().ModelMemory
	assert.Positive(t, counts.Hits)
	assert.GreaterOrEqual(t, counts.Misses, int64(60))
	assert.Positive(t, counts.Bytes)
}

// A lock on table model simulates a slow database.
func TestAnEvictedModelThatCannotBeReadInTimeAnswersFromItsOutline(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	r.trainTask("other", 40)
	bounded := startBounded(t, r.dsn, service.Config{DecodeWait: 500 * time.Millisecond})
	bounded.waitFor(func() bool { return bounded.predict(ask("load", "")).Source == sizing.FromModel }, "the model must be decoded")
	bounded.waitFor(func() bool { return bounded.predict(ask("other", "")).Source == sizing.FromModel }, "the model must be decoded")

	conn, err := pgx.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `LOCK model IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	a := bounded.predict(ask("load", ""))
	assert.Equal(t, sizing.FromRequested, a.Source)
	assert.Contains(t, a.Reason, "not loaded yet")
	withoutRequest := ask("load", "")
	withoutRequest.Requested = sizing.Resources{}
	a = bounded.predict(withoutRequest)
	assert.Equal(t, sizing.FromProfile, a.Source)
	assert.Contains(t, a.Reason, "not loaded yet")
	assert.Greater(t, a.Memory.Limit, 7*gib/5, "the grant must exceed the largest peak, 1.39 GiB")
	assert.Nil(t, a.Model)
	assert.Equal(t, sizing.FromModel, bounded.predict(ask("other", "")).Source, "the model of the other task is in memory")

	require.NoError(t, locked.Rollback(t.Context()))
	bounded.waitFor(func() bool { return bounded.predict(ask("load", "")).Source == sizing.FromModel }, "the model must be decoded")
}

// A training of another replica must not evict the models in use.
func TestANewModelOfAnotherReplicaDoesNotEvict(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	r.trainTask("other", 40)
	bounded := startBounded(t, r.dsn, service.Config{DecodeWait: time.Minute})
	bounded.predict(ask("other", ""))
	bounded.predict(ask("load", ""))
	before := bounded.Counts().ModelMemory.Evictions
	for i := range 10 {
		o := success("other", i, 10)
		o.Try.RunID = fmt.Sprint("later-", i)
		r.report(o)
	}
	_, err := r.Train(t.Context(), task("other"))
	require.NoError(t, err)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Cap: gib})) // the notification of the policy comes after the notification of the training
	bounded.waitFor(func() bool { return bounded.predict(ask("load", "")).Memory.Limit <= gib }, "the replica must receive the policy")
	assert.Equal(t, before, bounded.Counts().ModelMemory.Evictions)
	assert.Equal(t, 2, bounded.predict(ask("other", "")).Model.Version)
}

func TestTheTasksPredictedLastArePreloadedFirst(t *testing.T) {
	r := newReplica(t).start()
	for _, name := range []string{"a", "b", "c"} {
		r.trainTask(name, 40)
	}
	r.predict(ask("c", ""))
	r.predict(ask("b", ""))
	r.stop() // stores the receipts
	other := startBounded(t, r.dsn, service.Config{DecodeWait: time.Nanosecond})
	assert.Equal(t, sizing.FromModel, other.predict(ask("b", "")).Source)
	assert.Zero(t, other.Counts().ModelMemory.Evictions, "the model of no other task may be loaded")
}

// Concurrent predictions, reports and evictions lose no report and make no prediction fail, and the
// counted bytes match the models in memory.
func TestEvictionsDuringPredictionsAndReports(t *testing.T) {
	r := newReplica(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		r.trainTask(name, 40)
	}
	bounded := startBounded(t, r.dsn, service.Config{})
	const rounds = 15
	var callers sync.WaitGroup
	for i, name := range names {
		callers.Go(func() {
			for n := range rounds {
				o := success(name, n, rounds)
				o.Try.RunID = fmt.Sprint("concurrent-", n)
				_, err := bounded.Observe(context.Background(), []sizing.Observation{o})
				assert.NoError(t, err)
			}
		})
		callers.Go(func() {
			for n := range 2 * rounds {
				question := ask(names[(i+n)%len(names)], "")
				question.Requested = sizing.Resources{}
				_, err := bounded.Predict(context.Background(), &question)
				assert.NoError(t, err)
			}
		})
	}
	callers.Wait()
	for _, name := range names {
		bounded.waitFor(func() bool { return bounded.learnedRows(name) == 40+rounds }, "every report must be learned")
	}
	counts := bounded.Counts().ModelMemory
	assert.Positive(t, counts.Evictions)
	last := bounded.predict(ask("a", ""))
	require.Equal(t, sizing.FromModel, last.Source)
	alone := startBounded(t, r.dsn, service.Config{})
	assertSame(t, last, alone.predict(ask("a", "")), "like a new replica that reads the store")
	// A preloaded model answers before its bytes are counted.
	alone.waitFor(func() bool { return alone.Counts().ModelMemory.Bytes > 0 }, "the bytes of the model must be counted")
	assert.InEpsilon(t, alone.Counts().ModelMemory.Bytes, bounded.Counts().ModelMemory.Bytes, 0.2, "both replicas have one model in memory")
}
