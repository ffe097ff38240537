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

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/retention"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

const (
	day  = 24 * time.Hour
	runs = 400
)

// little is what a training reads here.
var little = store.HistoryLimits{Total: 150, Recent: 60, High: 20}

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: name}
}

type world struct {
	*postgres.Store
	t       *testing.T
	dsn     string
	removed map[string]int
}

func newWorld(t *testing.T) *world {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return &world{st, t, dsn, map[string]int{}}
}

// filled has a task of runs that ended in the last 400 days, one a day, and that used
// 1 GiB and 1 MiB more with every row of input.
func (w *world) filled(name string, trainings ...int) *world {
	told := 0
	for _, upTo := range append(trainings, runs) {
		var obs []sizing.Observation
		for ; told < upTo; told++ {
			n := told * 37 % 101
			obs = append(obs, sizing.Observation{
				Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(told), MapIndex: sizing.NoMap, Number: 1},
				Outcome: sizing.Success, MemoryMax: sizing.GiB + sizing.Bytes(n)*sizing.MiB, Duration: time.Minute,
				EndedAt:  time.Now().Add(-time.Duration(runs-told) * day).Truncate(time.Second),
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

func (w *world) train(name string) {
	tr := trainer.New(w, trainer.Config{Keep: little}, slog.New(slog.DiscardHandler))
	_, err := tr.TrainNow(w.t.Context(), task(name))
	require.NoError(w.t, err)
}

func (w *world) worker(cfg retention.Config) *retention.Worker {
	cfg.Keep = little
	cfg.Removed = func(kind string, rows int) { w.removed[kind] += rows }
	worker, err := retention.New(w, cfg, slog.New(slog.DiscardHandler))
	require.NoError(w.t, err)
	return worker
}

// learnedAnew is what a model says that learned the history without a champion.
func (w *world) learnedAnew(name string) []fitting.Answer {
	h, err := w.History(w.t.Context(), task(name), little)
	require.NoError(w.t, err)
	model, _, err := fitting.Fit(&h, nil)
	require.NoError(w.t, err)
	return asked(model)
}

// answers are what the active model says of many inputs, in full.
func (w *world) answers(name string) []fitting.Answer {
	stored, err := w.ActiveModel(w.t.Context(), task(name))
	require.NoError(w.t, err)
	model, err := fitting.Open(stored.Blob)
	require.NoError(w.t, err)
	return asked(model)
}

func asked(model *fitting.Model) (all []fitting.Answer) {
	for n := range 120 {
		all = append(all, model.Size(fitting.Question{
			Features: sizing.Features{"rows": sizing.NumberValue(float64(n))}, RiskTarget: 0.05,
			Requested: sizing.Resources{Memory: 8 * sizing.GiB},
		}))
	}
	return all
}

// Two stores are told the same; what is old is removed from one of them. Both are then
// told more and trained again, also from nothing.
func TestModelsAreTheSameThoughWhatIsOldWasRemoved(t *testing.T) {
	kept, thinned := newWorld(t).filled("a", 200), newWorld(t).filled("a", 200)
	require.Equal(t, kept.answers("a"), thinned.answers("a"))
	require.NoError(t, thinned.worker(retention.Config{Observations: 90 * day}).RunOnce(t.Context()))
	require.Greater(t, thinned.removed[retention.Observations], 100)
	kept.train("a")
	thinned.train("a")
	assert.Equal(t, kept.answers("a"), thinned.answers("a"), "trained again")
	assert.Equal(t, kept.learnedAnew("a"), thinned.learnedAnew("a"), "from nothing")

	// The test of the test: what is removed by hand is missed.
	require.NoError(t, thinned.Void(t.Context(), sizing.TryKey{TaskKey: task("a"), RunID: fmt.Sprint(runs - 2), MapIndex: sizing.NoMap, Number: 1}))
	thinned.train("a")
	assert.NotEqual(t, kept.answers("a"), thinned.answers("a"))
}

func TestWithoutAnAgeNothingIsRemoved(t *testing.T) {
	w := newWorld(t).filled("a")
	w.asked(1000 * day)
	require.NoError(t, w.worker(retention.Config{}).RunOnce(t.Context()))
	assert.Empty(t, w.removed)
}

// asked stores an answer that was given so long ago, under the id that it then got.
func (w *world) asked(ago time.Duration) (id string) {
	at := time.Now().Add(-ago)
	given, err := uuid.NewV7()
	require.NoError(w.t, err)
	ms := at.UnixMilli()
	for i := range 6 {
		given[i] = byte(ms >> (8 * (5 - i)))
	}
	require.NoError(w.t, w.SaveReceipts(w.t.Context(), []sizing.Receipt{{
		At: at, Ask: sizing.Ask{Try: sizing.TryKey{TaskKey: task("asked")}},
		Allocation: sizing.Allocation{PredictionID: given.String(), Task: task("asked")},
	}}))
	return given.String()
}

func TestReceiptsGoAtTheirAge(t *testing.T) {
	w := newWorld(t)
	old, young := w.asked(8*day+time.Second), w.asked(8*day-time.Minute)
	require.NoError(t, w.worker(retention.Config{Receipts: 8 * day}).RunOnce(t.Context()))
	assert.Equal(t, map[string]int{retention.Receipts: 1}, w.removed)
	_, err := w.Receipt(t.Context(), old)
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
	_, err = w.Receipt(t.Context(), young)
	assert.NoError(t, err)
}

func TestWeeksOfReceiptsAreMadeAheadWhateverTheAges(t *testing.T) {
	w := newWorld(t)
	later := time.Until(time.Date(2040, 1, 4, 12, 0, 0, 0, time.UTC)) // a Wednesday that no new database has
	require.NoError(t, w.worker(retention.Config{Now: func() time.Time { return time.Now().Add(later) }}).RunOnce(t.Context()))
	w.asked(-later)
	w.asked(-later - 4*7*day)
	// Receipts of a week that is not wholly old stay; those of no week do not.
	removed := func(before time.Duration) (n int) {
		id := store.FirstID(time.Now().Add(before))
		require.NoError(t, w.RemoveReceipts(t.Context(), id, func(rows int) error { n += rows; return nil }))
		return n
	}
	assert.Zero(t, removed(later+time.Minute))
	assert.Equal(t, 1, removed(later+4*7*day+time.Minute), "but for the last of them")
	w.asked(-later - 6*7*day)
	assert.Equal(t, 2, removed(later+6*7*day+time.Minute), "it had no week")
}

func TestWeeksThatCannotBeMadeKeepNobodyFromRemoving(t *testing.T) {
	w := newWorld(t)
	w.asked(9 * day)
	reader, err := pgx.Connect(t.Context(), w.dsn)
	require.NoError(t, err)
	defer reader.Close(t.Context())
	_, err = reader.Exec(t.Context(), "BEGIN; SELECT FROM receipt") // is in the way of a new week
	require.NoError(t, err)
	fortnight := func() time.Time { return time.Now().Add(14 * day) } // by then one is to be made
	require.ErrorContains(t, w.worker(retention.Config{Receipts: 8 * day, Now: fortnight}).RunOnce(t.Context()), "locked")
	assert.Equal(t, 1, w.removed[retention.Receipts])
}

func TestOneReplicaDoesItForAll(t *testing.T) {
	w := newWorld(t)
	first, second := w.worker(retention.Config{Receipts: 8 * day}), w.worker(retention.Config{Receipts: 8 * day})
	require.NoError(t, first.RunOnce(t.Context()))
	w.asked(9 * day)
	require.NoError(t, second.RunOnce(t.Context()))
	assert.Empty(t, w.removed, "it is the first one's")
	require.NoError(t, first.RunOnce(t.Context()))
	assert.Equal(t, 1, w.removed[retention.Receipts])
}

func TestItIsToldHowPassesEnded(t *testing.T) {
	w := newWorld(t)
	var ended []error
	tell := retention.Config{Receipts: 8 * day, Ended: func(err error) { ended = append(ended, err) }}
	first, second := w.worker(tell), w.worker(tell)
	require.NoError(t, first.RunOnce(t.Context()))
	require.NoError(t, second.RunOnce(t.Context()))
	assert.Equal(t, []error{nil}, ended, "one made none: another replica does it")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.Error(t, first.RunOnce(stopped))
	assert.Len(t, ended, 1, "the end of the server is no failure")
	w.Close()
	require.Error(t, first.RunOnce(t.Context()))
	require.Len(t, ended, 2)
	assert.Error(t, ended[1], "the database is away")
}

func TestAPassEndsWithItsContext(t *testing.T) {
	w := newWorld(t).filled("a").filled("b")
	ctx, stop := context.WithCancel(t.Context())
	cfg := retention.Config{Observations: 90 * day, Keep: little, Removed: func(string, int) { stop() }}
	cut, err := retention.New(w, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.ErrorIs(t, cut.RunOnce(ctx), context.Canceled)
	require.NoError(t, cut.RunOnce(t.Context()), "the next pass goes on")
}

func TestAnAgeThatIsTooShortIsRefused(t *testing.T) {
	for _, cfg := range []retention.Config{{Observations: time.Hour}, {Receipts: retention.Shortest - 1}, {Experiments: -time.Hour}} {
		_, err := retention.New(nil, cfg, slog.New(slog.DiscardHandler))
		assert.True(t, errors.Is(err, retention.ErrTooShort), "%v", err)
	}
}

func TestRunMakesPassesUntilTheEnd(t *testing.T) {
	w := newWorld(t)
	w.asked(9 * day)
	ctx, stop := context.WithCancel(t.Context())
	worker, err := retention.New(w, retention.Config{Receipts: 8 * day, Every: time.Millisecond, Removed: func(string, int) { stop() }}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	worker.Run(ctx)
	assert.Error(t, ctx.Err())
}
