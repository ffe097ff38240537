package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/reconcile"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

const gib = sizing.GiB

var noon = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)

// env is a service on a real database, with a clock and a source under control of the test.
type env struct {
	t         *testing.T
	store     *postgres.Store
	svc       *service.Service
	now       time.Time
	known     map[sizing.TryKey]sizing.Observation
	sourceErr error
	lookups   int
	results   map[reconcile.Result]int
}

func newEnv(t *testing.T) *env {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	quiet := slog.New(slog.DiscardHandler)
	svc := service.New(st, trainer.New(st, trainer.Config{}, quiet), service.Config{}, quiet)
	return &env{t: t, store: st, svc: svc, now: noon, known: map[sizing.TryKey]sizing.Observation{}, results: map[reconcile.Result]int{}}
}

func (w *env) worker(sources ...reconcile.Source) *reconcile.Worker {
	return reconcile.New(w.store, w.svc.Observe, reconcile.Config{
		Sources: sources, Now: func() time.Time { return w.now }, Count: func(r reconcile.Result) { w.results[r]++ },
	}, slog.New(slog.DiscardHandler))
}

func (w *env) source(_ context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error) {
	w.lookups++
	assert.False(w.t, to.Before(from))
	o, found := w.known[try]
	return o, found, w.sourceErr
}

// pass runs one pass and returns its results.
func (w *env) pass(worker *reconcile.Worker) map[reconcile.Result]int {
	w.t.Helper()
	w.results = map[reconcile.Result]int{}
	require.NoError(w.t, worker.RunOnce(w.t.Context()))
	return w.results
}

func (w *env) observe(o sizing.Observation) {
	w.t.Helper()
	recorded, err := w.svc.Observe(w.t.Context(), []sizing.Observation{o})
	require.NoError(w.t, err)
	require.NoError(w.t, recorded[0].Err)
}

// answered stores a receipt of 8 GiB with a predicted duration of 10 minutes.
func (w *env) answered(try sizing.TryKey, at time.Time) {
	w.t.Helper()
	require.NoError(w.t, w.store.SaveReceipts(w.t.Context(), []sizing.Receipt{{
		At: at,
		Ask: sizing.Ask{Try: try, Requested: sizing.Resources{Memory: 32 * gib, CPU: 4},
			Features: sizing.Features{"rows": sizing.NumberValue(7)}},
		Allocation: sizing.Allocation{PredictionID: "p-" + try.RunID, Task: try.TaskKey, CPU: 2,
			Memory: sizing.Grant{Request: 8 * gib, Limit: 8 * gib}, Duration: &sizing.Duration{Median: 5 * time.Minute, P95: 10 * time.Minute}},
	}}))
}

func (w *env) row(task sizing.TaskKey) sizing.HistoryRow {
	w.t.Helper()
	h, err := w.store.History(w.t.Context(), task, store.HistoryLimits{})
	require.NoError(w.t, err)
	require.Len(w.t, h.Rows, 1)
	return h.Rows[0]
}

func try(run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "load"}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

func TestReportGetsItsSampledPeakAfterTheDelay(t *testing.T) {
	w := newEnv(t)
	worker := w.worker(w.source)
	w.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, Duration: time.Minute, EndedAt: noon, CPUMax: 1})
	w.known[try("r")] = sizing.Observation{Outcome: sizing.Success, MemorySampled: 3 * gib, CPUMax: 0.5,
		Duration: 55 * time.Second, Allocated: sizing.Resources{Memory: 8 * gib}, Requested: sizing.Resources{Memory: 8 * gib}}

	w.now = noon.Add(4 * time.Minute)
	assert.Empty(t, w.pass(worker))
	assert.Zero(t, w.lookups, "scrapes lag")
	w.now = noon.Add(6 * time.Minute)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, w.pass(worker))
	row := w.row(try("r").TaskKey)
	assert.Equal(t, 3*gib, row.MemorySampled)
	assert.Zero(t, row.MemoryMax, "no measured peak")
	assert.Equal(t, 8*gib, row.Allocated.Memory, "unknown fields are filled")
	assert.Equal(t, time.Minute, row.Duration, "reported fields stay")
	assert.Equal(t, sizing.Cores(1), row.CPUMax)
	assert.Zero(t, row.Requested.Memory, "the request of the pod is the granted amount, not the static request")
	assert.Empty(t, w.pass(worker))
	assert.Equal(t, 1, w.lookups, "the lookup is settled")
}

func TestMeasuredPeakGetsASampledOne(t *testing.T) {
	w := newEnv(t)
	w.observe(sizing.Observation{Try: try("r"), Outcome: sizing.OOMKilled, MemoryMax: 4 * gib, EndedAt: noon, Allocated: sizing.Resources{Memory: 4 * gib}})
	w.known[try("r")] = sizing.Observation{Outcome: sizing.Failed, MemorySampled: 3 * gib, MemoryMax: 5 * gib}
	w.now = noon.Add(time.Hour)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, w.pass(w.worker(w.source)))
	row := w.row(try("r").TaskKey)
	assert.Equal(t, 3*gib, row.MemorySampled)
	assert.Equal(t, 4*gib, row.MemoryMax, "reported fields stay")
	assert.Equal(t, sizing.OOMKilled, row.Outcome)
}

func TestUnsampledTryIsMissingAfterADay(t *testing.T) {
	w := newEnv(t)
	worker := w.worker(w.source)
	w.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, EndedAt: noon})
	var results []reconcile.Result
	for w.now = noon; w.now.Before(noon.Add(60 * time.Hour)); w.now = w.now.Add(10 * time.Minute) {
		for result := range w.pass(worker) {
			results = append(results, result)
		}
	}
	require.NotEmpty(t, results)
	assert.Equal(t, reconcile.Missing, results[len(results)-1])
	assert.Less(t, w.lookups, 25, "exponential backoff within the day")
	assert.Len(t, results, w.lookups)
}

func TestUnreportedTryIsReportedFromASource(t *testing.T) {
	w := newEnv(t)
	worker := w.worker(w.source)
	w.answered(try("r"), noon)
	w.known[try("r")] = sizing.Observation{Outcome: sizing.OOMKilled, MemorySampled: 7 * gib, Duration: 8 * time.Minute, EndedAt: noon.Add(9 * time.Minute),
		Allocated: sizing.Resources{Memory: 6 * gib}, Requested: sizing.Resources{Memory: 6 * gib}}

	w.now = noon.Add(24 * time.Minute)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Waiting: 1}, w.pass(worker))
	assert.Zero(t, w.lookups, "the try may run for twice ten minutes, and scrapes lag by five")
	w.now = noon.Add(26 * time.Minute)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Reported: 1}, w.pass(worker))
	row := w.row(try("r").TaskKey)
	assert.Equal(t, sizing.OOMKilled, row.Outcome)
	assert.Equal(t, 7*gib, row.MemorySampled)
	assert.Equal(t, sizing.Resources{Memory: 6 * gib, CPU: 2}, row.Allocated, "the allocation of the pod, or else the granted amount")
	assert.Equal(t, sizing.Resources{Memory: 32 * gib, CPU: 4}, row.Requested)
	assert.Equal(t, []float64{7}, row.Features)
	w.now = noon.Add(2 * time.Hour)
	assert.Empty(t, w.pass(worker))
}

func TestUnreportedTryWithoutOutcomeExpires(t *testing.T) {
	for name, sources := range map[string]int{"one source": 1, "no source": 0} {
		t.Run(name, func(t *testing.T) {
			w := newEnv(t)
			worker := w.worker([]reconcile.Source{w.source}[:sources]...)
			w.answered(try("ended"), noon)
			w.answered(try("runs"), noon)
			w.known[try("runs")] = sizing.Observation{MemorySampled: gib} // without an outcome
			total := map[reconcile.Result]int{}
			for w.now = noon; w.now.Before(noon.Add(100 * time.Hour)); w.now = w.now.Add(20 * time.Minute) {
				for result, n := range w.pass(worker) {
					total[result] += n
				}
			}
			assert.Equal(t, 2, total[reconcile.Expired])
			assert.Positive(t, total[reconcile.Waiting])
			assert.Len(t, total, 2)
			assert.Less(t, w.lookups, 50)
			_, err := w.store.History(t.Context(), try("r").TaskKey, store.HistoryLimits{})
			assert.Equal(t, sizing.NotFound, sizing.KindOf(err), "no report is invented")
		})
	}
}

func TestOneReplicaWorks(t *testing.T) {
	w := newEnv(t)
	w.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, EndedAt: noon})
	w.now = noon.Add(time.Hour)
	first, second := w.worker(w.source), w.worker(w.source)
	assert.NotEmpty(t, w.pass(first))
	w.now = noon.Add(23 * time.Hour)
	assert.Empty(t, w.pass(second))
	assert.NotEmpty(t, w.pass(first))
}

func TestSourceErrorEndsThePassAndIsRetried(t *testing.T) {
	w := newEnv(t)
	worker := w.worker(w.source)
	w.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, EndedAt: noon})
	w.now, w.sourceErr = noon.Add(time.Hour), errors.New("source is down")
	require.ErrorIs(t, worker.RunOnce(t.Context()), w.sourceErr)
	require.ErrorIs(t, worker.RunOnce(t.Context()), w.sourceErr, "the next pass looks it up again")
	w.sourceErr, w.known[try("r")] = nil, sizing.Observation{MemorySampled: gib}
	assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, w.pass(worker))
}

func TestSecondSourceFillsUnknownFields(t *testing.T) {
	w := newEnv(t)
	w.answered(try("r"), noon)
	w.known[try("r")] = sizing.Observation{MemorySampled: 2 * gib} // a sampled peak without an outcome
	airflow := func(context.Context, sizing.TryKey, time.Time, time.Time) (sizing.Observation, bool, error) {
		return sizing.Observation{Outcome: sizing.Success, Duration: time.Minute}, true, nil
	}
	w.now = noon.Add(time.Hour)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Reported: 1}, w.pass(w.worker(w.source, airflow)))
	row := w.row(try("r").TaskKey)
	assert.Equal(t, sizing.Success, row.Outcome)
	assert.Equal(t, 2*gib, row.MemorySampled)
	assert.Equal(t, time.Minute, row.Duration)
}

func TestPassIsBounded(t *testing.T) {
	w := newEnv(t)
	for i := range 5 {
		w.answered(try(string(rune('a'+i))), noon)
	}
	worker := reconcile.New(w.store, w.svc.Observe, reconcile.Config{
		Batch: 2, Now: func() time.Time { return noon.Add(48 * time.Hour) }, Count: func(r reconcile.Result) { w.results[r]++ },
	}, slog.New(slog.DiscardHandler))
	for _, want := range []int{2, 2, 1, 0} {
		assert.Equal(t, want, w.pass(worker)[reconcile.Expired])
	}
}
