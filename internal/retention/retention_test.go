package retention_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/retention"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/trainer"
)

const (
	day  = 24 * time.Hour
	runs = 400 // of a task of withHistory
)

// smallLimits are limits that a few hundred rows exceed.
var smallLimits = store.HistoryLimits{Total: 150, Recent: 60, High: 20}

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: name}
}

type env struct {
	*postgres.Store
	t       *testing.T
	dsn     string
	removed map[string]int
}

func newEnv(t *testing.T) *env {
	dsn := pgtest.Migrated(t)
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return &env{st, t, dsn, map[string]int{}}
}

// historyEnd is the end of the histories of all stores, so that the times of their runs are equal.
var historyEnd = time.Now().Truncate(time.Second)

// withHistory records one run of a task per day of the last 400 days, with a peak of 1 GiB plus 1 MiB
// times the feature "rows". It trains the task after each of the numbers of runs in `trainings`, and at the end.
func (e *env) withHistory(name string, trainings ...int) *env {
	next := 0
	for _, upTo := range append(trainings, runs) {
		var obs []sizing.Observation
		for ; next < upTo; next++ {
			n := next * 37 % 101
			obs = append(obs, sizing.Observation{
				Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(next), MapIndex: sizing.NoMap, Number: 1},
				Outcome: sizing.Success, MemoryMax: sizing.GiB + sizing.Bytes(n)*sizing.MiB, Duration: time.Minute,
				EndedAt:  historyEnd.Add(-time.Duration(runs-next) * day),
				Features: sizing.Features{"rows": sizing.NumberValue(float64(n))},
			})
		}
		recorded, err := e.Record(e.t.Context(), obs)
		require.NoError(e.t, err)
		for i := range recorded {
			require.NoError(e.t, recorded[i].Err)
		}
		e.train(name)
	}
	return e
}

func (e *env) train(name string) {
	tr := trainer.New(e, trainer.Config{Keep: smallLimits}, slog.New(slog.DiscardHandler))
	_, err := tr.TrainNow(e.t.Context(), task(name))
	require.NoError(e.t, err)
}

func (e *env) worker(cfg retention.Config) *retention.Worker {
	cfg.Limits = smallLimits
	cfg.Removed = func(kind string, rows int) { e.removed[kind] += rows }
	worker, err := retention.New(e, cfg, slog.New(slog.DiscardHandler))
	require.NoError(e.t, err)
	return worker
}

// refitted returns the answers of a model that is fitted without a champion.
func (e *env) refitted(name string) []taskmodel.Answer {
	h, err := e.History(e.t.Context(), task(name), smallLimits)
	require.NoError(e.t, err)
	model, _, err := taskmodel.Fit(&h, nil)
	require.NoError(e.t, err)
	return answersOf(model)
}

func (e *env) answers(name string) []taskmodel.Answer {
	stored, err := e.ActiveModel(e.t.Context(), task(name))
	require.NoError(e.t, err)
	model, err := taskmodel.Open(stored.Blob)
	require.NoError(e.t, err)
	return answersOf(model)
}

func answersOf(model *taskmodel.Model) (all []taskmodel.Answer) {
	for n := range 120 {
		all = append(all, model.Size(taskmodel.Question{
			Features: sizing.Features{"rows": sizing.NumberValue(float64(n))}, RiskTarget: 0.05,
			Requested: sizing.Resources{Memory: 8 * sizing.GiB},
		}))
	}
	return all
}

// Two stores record the same runs, and one of them removes old rows. Their models must be equal after
// another training from the champion, and after a training without a champion.
func TestModelsAreEqualAfterRemoval(t *testing.T) {
	intact, pruned := newEnv(t).withHistory("a", 200), newEnv(t).withHistory("a", 200)
	require.Equal(t, intact.answers("a"), pruned.answers("a"))
	require.NoError(t, pruned.worker(retention.Config{Observations: 90 * day}).RunOnce(t.Context()))
	require.Greater(t, pruned.removed[retention.Observations], 100)
	intact.train("a")
	pruned.train("a")
	assert.Equal(t, intact.answers("a"), pruned.answers("a"), "the answers must be equal after another training")
	assert.Equal(t, intact.refitted("a"), pruned.refitted("a"), "the answers must be equal after a training without a champion")

	// This shows that the comparison can fail: the removal of a row that trainings read changes the answers.
	require.NoError(t, pruned.Void(t.Context(), sizing.TryKey{TaskKey: task("a"), RunID: fmt.Sprint(runs - 2), MapIndex: sizing.NoMap, Number: 1}))
	pruned.train("a")
	assert.NotEqual(t, intact.answers("a"), pruned.answers("a"))
}

func TestZeroAgesRemoveNothing(t *testing.T) {
	e := newEnv(t).withHistory("a")
	e.saveReceipt(1000 * day)
	require.NoError(t, e.worker(retention.Config{}).RunOnce(t.Context()))
	assert.Empty(t, e.removed)
}

// saveReceipt stores a receipt of the given age, with an id of that time.
func (e *env) saveReceipt(ago time.Duration) (id string) {
	at := time.Now().Add(-ago)
	predictionID, err := uuid.NewV7()
	require.NoError(e.t, err)
	ms := at.UnixMilli()
	for i := range 6 {
		predictionID[i] = byte(ms >> (8 * (5 - i)))
	}
	require.NoError(e.t, e.SaveReceipts(e.t.Context(), []sizing.Receipt{{
		At: at, Ask: sizing.Ask{Try: sizing.TryKey{TaskKey: task("predicted")}},
		Allocation: sizing.Allocation{PredictionID: predictionID.String(), Task: task("predicted")},
	}}))
	return predictionID.String()
}

func TestReceiptsAreRemovedAtTheirAge(t *testing.T) {
	e := newEnv(t)
	old, recent := e.saveReceipt(8*day+time.Second), e.saveReceipt(8*day-time.Minute)
	require.NoError(t, e.worker(retention.Config{Receipts: 8 * day}).RunOnce(t.Context()))
	assert.Equal(t, map[string]int{retention.Receipts: 1}, e.removed)
	_, err := e.Receipt(t.Context(), old)
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
	_, err = e.Receipt(t.Context(), recent)
	assert.NoError(t, err)
}

func TestPartitionsAreCreatedAhead(t *testing.T) {
	e := newEnv(t)
	later := time.Until(time.Date(2040, 1, 4, 12, 0, 0, 0, time.UTC)) // a Wednesday without a partition in a new database
	require.NoError(t, e.worker(retention.Config{Now: func() time.Time { return time.Now().Add(later) }}).RunOnce(t.Context()))
	e.saveReceipt(-later)
	e.saveReceipt(-later - 4*7*day)
	// A receipt in a weekly partition is removed only when the whole week is before the cut-off. A receipt outside the
	// weekly partitions is removed when the receipt itself is before the cut-off.
	removed := func(ahead time.Duration) (n int) {
		id := store.FirstID(time.Now().Add(ahead))
		require.NoError(t, e.RemoveReceipts(t.Context(), id, func(rows int) error { n += rows; return nil }))
		return n
	}
	assert.Zero(t, removed(later+time.Minute))
	assert.Equal(t, 1, removed(later+4*7*day+time.Minute), "the receipt of the last week must stay")
	e.saveReceipt(-later - 6*7*day)
	assert.Equal(t, 2, removed(later+6*7*day+time.Minute), "the last receipt must be removed, too, because it is in no weekly partition")
}

// inTwoWeeks is the time of a pass that must create a partition.
func inTwoWeeks() time.Time { return time.Now().Add(14 * day) }

// blockPartitions opens a transaction that keeps passes from creating partitions.
func (e *env) blockPartitions() {
	reader, err := pgx.Connect(e.t.Context(), e.dsn)
	require.NoError(e.t, err)
	e.t.Cleanup(func() { reader.Close(context.Background()) })
	_, err = reader.Exec(e.t.Context(), "BEGIN; SELECT FROM receipt")
	require.NoError(e.t, err)
}

func TestRemovalContinuesIfPartitionsCannotBeCreated(t *testing.T) {
	e := newEnv(t)
	e.saveReceipt(9 * day)
	e.blockPartitions()
	require.ErrorContains(t, e.worker(retention.Config{Receipts: 8 * day, Now: inTwoWeeks}).RunOnce(t.Context()), "a lock was not acquired")
	assert.Equal(t, 1, e.removed[retention.Receipts])
}

func TestAPartitionErrorIsReportedIfTheLeaseIsLost(t *testing.T) {
	e := newEnv(t)
	e.saveReceipt(9 * day)
	e.blockPartitions()
	var ended []error
	loseLease := func(string, int) {
		conn, err := pgx.Connect(t.Context(), e.dsn)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), "UPDATE duty SET owner = 'another replica'")
		require.NoError(t, err)
	}
	cfg := retention.Config{Receipts: 8 * day, Now: inTwoWeeks, Removed: loseLease, Ended: func(err error) { ended = append(ended, err) }}
	worker, err := retention.New(e, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	err = worker.RunOnce(t.Context())
	require.ErrorContains(t, err, "a lock was not acquired")
	assert.Equal(t, []error{err}, ended)
}

func TestOneReplicaWorksAtATime(t *testing.T) {
	e := newEnv(t)
	first, second := e.worker(retention.Config{Receipts: 8 * day}), e.worker(retention.Config{Receipts: 8 * day})
	require.NoError(t, first.RunOnce(t.Context()))
	e.saveReceipt(9 * day)
	require.NoError(t, second.RunOnce(t.Context()))
	assert.Empty(t, e.removed, "the second replica must remove nothing, because the first one holds the lease")
	require.NoError(t, first.RunOnce(t.Context()))
	assert.Equal(t, 1, e.removed[retention.Receipts])
}

func TestEndedIsCalledWithTheResultOfEachPass(t *testing.T) {
	e := newEnv(t)
	var ended []error
	cfg := retention.Config{Receipts: 8 * day, Ended: func(err error) { ended = append(ended, err) }}
	first, second := e.worker(cfg), e.worker(cfg)
	require.NoError(t, first.RunOnce(t.Context()))
	require.NoError(t, second.RunOnce(t.Context()))
	assert.Equal(t, []error{nil}, ended, "Ended must not be called for the second replica, which made no pass")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.Error(t, first.RunOnce(stopped))
	assert.Len(t, ended, 1, "Ended must not be called for a cancelled pass")
	e.Close()
	require.Error(t, first.RunOnce(t.Context()))
	require.Len(t, ended, 2)
	assert.Error(t, ended[1], "the pass must fail, because the store is closed")
}

func TestPassEndsWithItsContext(t *testing.T) {
	e := newEnv(t).withHistory("a").withHistory("b")
	ctx, stop := context.WithCancel(t.Context())
	cfg := retention.Config{Observations: 90 * day, Limits: smallLimits, Removed: func(string, int) { stop() }}
	stopping, err := retention.New(e, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.ErrorIs(t, stopping.RunOnce(ctx), context.Canceled)
	require.NoError(t, stopping.RunOnce(t.Context()), "the next pass must continue")
}

func TestNewRejectsShortAges(t *testing.T) {
	for _, cfg := range []retention.Config{{Observations: time.Hour}, {Receipts: retention.MinAge - 1}, {Experiments: -time.Hour}} {
		_, err := retention.New(nil, cfg, slog.New(slog.DiscardHandler))
		assert.True(t, errors.Is(err, retention.ErrTooShort), "%v", err)
	}
}

func TestRunMakesAPassAndEndsWithItsContext(t *testing.T) {
	e := newEnv(t)
	e.saveReceipt(9 * day)
	ctx, stop := context.WithCancel(t.Context())
	worker, err := retention.New(e, retention.Config{Receipts: 8 * day, Every: time.Millisecond, Removed: func(string, int) { stop() }}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	worker.Run(ctx)
	assert.Error(t, ctx.Err())
}
