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
	"github.com/loadaware/loadaware/migrations"
)

const (
	day  = 24 * time.Hour
	runs = 400
)

// smallLimits are limits that a few hundred rows exceed.
var smallLimits = store.HistoryLimits{Total: 150, Recent: 60, High: 20}

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: name}
}

// env is a migrated store with a count of removed rows by kind.
type env struct {
	*postgres.Store
	t       *testing.T
	dsn     string
	removed map[string]int
}

func newEnv(t *testing.T) *env {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return &env{st, t, dsn, map[string]int{}}
}

// filled records runs of a task that ended in the last 400 days, one per day, with a peak of
// 1 GiB plus 1 MiB per input row. It trains the task after each number of runs.
func (w *env) filled(name string, trainings ...int) *env {
	next := 0
	for _, upTo := range append(trainings, runs) {
		var obs []sizing.Observation
		for ; next < upTo; next++ {
			n := next * 37 % 101
			obs = append(obs, sizing.Observation{
				Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(next), MapIndex: sizing.NoMap, Number: 1},
				Outcome: sizing.Success, MemoryMax: sizing.GiB + sizing.Bytes(n)*sizing.MiB, Duration: time.Minute,
				EndedAt:  time.Now().Add(-time.Duration(runs-next) * day).Truncate(time.Second),
				Features: sizing.Features{"rows": sizing.NumberValue(float64(n))},
			})
		}
		recorded, err := w.Record(w.t.Context(), obs)
		require.NoError(w.t, err)
		for i := range recorded {
			require.NoError(w.t, recorded[i].Err)
		}
		w.train(name)
	}
	return w
}

func (w *env) train(name string) {
	tr := trainer.New(w, trainer.Config{Keep: smallLimits}, slog.New(slog.DiscardHandler))
	_, err := tr.TrainNow(w.t.Context(), task(name))
	require.NoError(w.t, err)
}

func (w *env) worker(cfg retention.Config) *retention.Worker {
	cfg.Limits = smallLimits
	cfg.Removed = func(kind string, rows int) { w.removed[kind] += rows }
	worker, err := retention.New(w, cfg, slog.New(slog.DiscardHandler))
	require.NoError(w.t, err)
	return worker
}

// refitted returns the answers of a model fitted to the history without a champion.
func (w *env) refitted(name string) []taskmodel.Answer {
	h, err := w.History(w.t.Context(), task(name), smallLimits)
	require.NoError(w.t, err)
	model, _, err := taskmodel.Fit(&h, nil)
	require.NoError(w.t, err)
	return answersOf(model)
}

// answers returns the complete answers of the active model to many inputs.
func (w *env) answers(name string) []taskmodel.Answer {
	stored, err := w.ActiveModel(w.t.Context(), task(name))
	require.NoError(w.t, err)
	model, err := taskmodel.Open(stored.Blob)
	require.NoError(w.t, err)
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

// Two stores record the same runs, and one of them removes old rows. Their models must be equal
// after further training and after a refit.
func TestModelsAreEqualAfterRemoval(t *testing.T) {
	intact, thinned := newEnv(t).filled("a", 200), newEnv(t).filled("a", 200)
	require.Equal(t, intact.answers("a"), thinned.answers("a"))
	require.NoError(t, thinned.worker(retention.Config{Observations: 90 * day}).RunOnce(t.Context()))
	require.Greater(t, thinned.removed[retention.Observations], 100)
	intact.train("a")
	thinned.train("a")
	assert.Equal(t, intact.answers("a"), thinned.answers("a"), "trained again")
	assert.Equal(t, intact.refitted("a"), thinned.refitted("a"), "refitted")

	// The comparison can fail: removing a needed row changes the answers.
	require.NoError(t, thinned.Void(t.Context(), sizing.TryKey{TaskKey: task("a"), RunID: fmt.Sprint(runs - 2), MapIndex: sizing.NoMap, Number: 1}))
	thinned.train("a")
	assert.NotEqual(t, intact.answers("a"), thinned.answers("a"))
}

func TestZeroAgesRemoveNothing(t *testing.T) {
	w := newEnv(t).filled("a")
	w.saveReceipt(1000 * day)
	require.NoError(t, w.worker(retention.Config{}).RunOnce(t.Context()))
	assert.Empty(t, w.removed)
}

// saveReceipt stores a receipt of the given age, with an id of that time.
func (w *env) saveReceipt(ago time.Duration) (id string) {
	at := time.Now().Add(-ago)
	predictionID, err := uuid.NewV7()
	require.NoError(w.t, err)
	ms := at.UnixMilli()
	for i := range 6 {
		predictionID[i] = byte(ms >> (8 * (5 - i)))
	}
	require.NoError(w.t, w.SaveReceipts(w.t.Context(), []sizing.Receipt{{
		At: at, Ask: sizing.Ask{Try: sizing.TryKey{TaskKey: task("answered")}},
		Allocation: sizing.Allocation{PredictionID: predictionID.String(), Task: task("answered")},
	}}))
	return predictionID.String()
}

func TestReceiptsAreRemovedAtTheirAge(t *testing.T) {
	w := newEnv(t)
	old, recent := w.saveReceipt(8*day+time.Second), w.saveReceipt(8*day-time.Minute)
	require.NoError(t, w.worker(retention.Config{Receipts: 8 * day}).RunOnce(t.Context()))
	assert.Equal(t, map[string]int{retention.Receipts: 1}, w.removed)
	_, err := w.Receipt(t.Context(), old)
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
	_, err = w.Receipt(t.Context(), recent)
	assert.NoError(t, err)
}

func TestPartitionsAreCreatedAhead(t *testing.T) {
	w := newEnv(t)
	later := time.Until(time.Date(2040, 1, 4, 12, 0, 0, 0, time.UTC)) // a Wednesday without a partition in a new database
	require.NoError(t, w.worker(retention.Config{Now: func() time.Time { return time.Now().Add(later) }}).RunOnce(t.Context()))
	w.saveReceipt(-later)
	w.saveReceipt(-later - 4*7*day)
	// Receipts of a partly old week stay; those outside the weekly partitions do not.
	removed := func(before time.Duration) (n int) {
		id := store.FirstID(time.Now().Add(before))
		require.NoError(t, w.RemoveReceipts(t.Context(), id, func(rows int) error { n += rows; return nil }))
		return n
	}
	assert.Zero(t, removed(later+time.Minute))
	assert.Equal(t, 1, removed(later+4*7*day+time.Minute), "except those of the last week")
	w.saveReceipt(-later - 6*7*day)
	assert.Equal(t, 2, removed(later+6*7*day+time.Minute), "it had no weekly partition")
}

func TestRemovalContinuesIfPartitionsCannotBeCreated(t *testing.T) {
	w := newEnv(t)
	w.saveReceipt(9 * day)
	reader, err := pgx.Connect(t.Context(), w.dsn)
	require.NoError(t, err)
	defer reader.Close(t.Context())
	_, err = reader.Exec(t.Context(), "BEGIN; SELECT FROM receipt") // blocks a new partition
	require.NoError(t, err)
	fortnight := func() time.Time { return time.Now().Add(14 * day) } // the pass must create a partition
	require.ErrorContains(t, w.worker(retention.Config{Receipts: 8 * day, Now: fortnight}).RunOnce(t.Context()), "a lock was not acquired")
	assert.Equal(t, 1, w.removed[retention.Receipts])
}

func TestOneReplicaWorks(t *testing.T) {
	w := newEnv(t)
	first, second := w.worker(retention.Config{Receipts: 8 * day}), w.worker(retention.Config{Receipts: 8 * day})
	require.NoError(t, first.RunOnce(t.Context()))
	w.saveReceipt(9 * day)
	require.NoError(t, second.RunOnce(t.Context()))
	assert.Empty(t, w.removed, "the first replica holds the lease")
	require.NoError(t, first.RunOnce(t.Context()))
	assert.Equal(t, 1, w.removed[retention.Receipts])
}

func TestEndedReportsThePasses(t *testing.T) {
	w := newEnv(t)
	var ended []error
	cfg := retention.Config{Receipts: 8 * day, Ended: func(err error) { ended = append(ended, err) }}
	first, second := w.worker(cfg), w.worker(cfg)
	require.NoError(t, first.RunOnce(t.Context()))
	require.NoError(t, second.RunOnce(t.Context()))
	assert.Equal(t, []error{nil}, ended, "the second replica made no pass")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.Error(t, first.RunOnce(stopped))
	assert.Len(t, ended, 1, "a cancelled pass is not a failure")
	w.Close()
	require.Error(t, first.RunOnce(t.Context()))
	require.Len(t, ended, 2)
	assert.Error(t, ended[1], "the database is closed")
}

func TestPassEndsWithItsContext(t *testing.T) {
	w := newEnv(t).filled("a").filled("b")
	ctx, stop := context.WithCancel(t.Context())
	cfg := retention.Config{Observations: 90 * day, Limits: smallLimits, Removed: func(string, int) { stop() }}
	stopping, err := retention.New(w, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.ErrorIs(t, stopping.RunOnce(ctx), context.Canceled)
	require.NoError(t, stopping.RunOnce(t.Context()), "the next pass continues")
}

func TestNewRejectsShortAges(t *testing.T) {
	for _, cfg := range []retention.Config{{Observations: time.Hour}, {Receipts: retention.MinAge - 1}, {Experiments: -time.Hour}} {
		_, err := retention.New(nil, cfg, slog.New(slog.DiscardHandler))
		assert.True(t, errors.Is(err, retention.ErrTooShort), "%v", err)
	}
}

func TestRunRepeatsUntilItsContextEnds(t *testing.T) {
	w := newEnv(t)
	w.saveReceipt(9 * day)
	ctx, stop := context.WithCancel(t.Context())
	worker, err := retention.New(w, retention.Config{Receipts: 8 * day, Every: time.Millisecond, Removed: func(string, int) { stop() }}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	worker.Run(ctx)
	assert.Error(t, ctx.Err())
}
