package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
)

const gib = sizing.GiB

var noon = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)

// env is a service on a real database with a clock and a source that the test controls.
type env struct {
	t         *testing.T
	store     *postgres.Store
	svc       *service.Service
	now       time.Time
	known     map[sizing.TryKey]sizing.Observation // the tries that the source knows
	sourceErr error                                // the error that the source returns
	lookups   int                                  // calls of the source
	results   map[reconcile.Result]int             // of the last pass
}

func newEnv(t *testing.T) *env {
	dsn := pgtest.Migrated(t)
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	noLog := slog.New(slog.DiscardHandler)
	svc := service.New(st, trainer.New(st, trainer.Config{}, noLog), service.Config{}, noLog)
	return &env{t: t, store: st, svc: svc, now: noon, known: map[sizing.TryKey]sizing.Observation{}, results: map[reconcile.Result]int{}}
}

func (e *env) worker(sources ...reconcile.Source) *reconcile.Worker {
	return reconcile.New(e.store, e.svc.Observe, reconcile.Config{
		Sources: sources, Now: func() time.Time { return e.now }, Count: func(r reconcile.Result) { e.results[r]++ },
	}, slog.New(slog.DiscardHandler))
}

func (e *env) source(_ context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error) {
	e.lookups++
	assert.False(e.t, to.Before(from))
	o, found := e.known[try]
	return o, found, e.sourceErr
}

func (e *env) pass(worker *reconcile.Worker) map[reconcile.Result]int {
	e.t.Helper()
	e.results = map[reconcile.Result]int{}
	require.NoError(e.t, worker.RunOnce(e.t.Context()))
	return e.results
}

func (e *env) observe(o sizing.Observation) {
	e.t.Helper()
	recorded, err := e.svc.Observe(e.t.Context(), []sizing.Observation{o})
	require.NoError(e.t, err)
	require.NoError(e.t, recorded[0].Err)
}

func (e *env) saveReceipt(try sizing.TryKey, at time.Time) {
	e.t.Helper()
	require.NoError(e.t, e.store.SaveReceipts(e.t.Context(), []sizing.Receipt{{
		At: at,
		Ask: sizing.Ask{Try: try, Requested: sizing.Resources{Memory: 32 * gib, CPU: 4},
			Features: sizing.Features{"rows": sizing.NumberValue(7)}},
		Allocation: sizing.Allocation{PredictionID: "p-" + try.RunID, Task: try.TaskKey, CPU: 2,
			Memory: sizing.Grant{Request: 8 * gib, Limit: 8 * gib}, Duration: &sizing.Duration{Median: 5 * time.Minute, P95: 10 * time.Minute}},
	}}))
}

func (e *env) row(task sizing.TaskKey) sizing.HistoryRow {
	e.t.Helper()
	h, err := e.store.History(e.t.Context(), task, store.HistoryLimits{})
	require.NoError(e.t, err)
	require.Len(e.t, h.Rows, 1)
	return h.Rows[0]
}

func try(run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "load"}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

func TestReportGetsItsSampledPeakAfterTheDelay(t *testing.T) {
	e := newEnv(t)
	worker := e.worker(e.source)
	e.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, Duration: time.Minute, EndedAt: noon, CPUMax: 1})
	e.known[try("r")] = sizing.Observation{Outcome: sizing.Success, MemorySampled: 3 * gib, CPUMax: 0.5,
		Duration: 55 * time.Second, Allocated: sizing.Resources{Memory: 8 * gib}, Requested: sizing.Resources{Memory: 8 * gib}}

	e.now = noon.Add(4 * time.Minute)
	assert.Empty(t, e.pass(worker))
	assert.Zero(t, e.lookups, "the first lookup must be five minutes after the end, because a source lags")
	e.now = noon.Add(6 * time.Minute)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, e.pass(worker))
	row := e.row(try("r").TaskKey)
	assert.Equal(t, 3*gib, row.MemorySampled)
	assert.Zero(t, row.MemoryMax, "the peak must not count as measured")
	assert.Equal(t, 8*gib, row.Allocated.Memory, "the source must fill unknown fields")
	assert.Equal(t, time.Minute, row.Duration, "reported fields must stay")
	assert.Equal(t, sizing.Cores(1), row.CPUMax)
	assert.Zero(t, row.Requested.Memory, "the static request must stay unknown, because the request of the pod is the granted amount")
	assert.Empty(t, e.pass(worker))
	assert.Equal(t, 1, e.lookups, "an amended try must not be looked up again")
}

func TestReportWithAMeasuredPeakGetsASampledPeak(t *testing.T) {
	e := newEnv(t)
	e.observe(sizing.Observation{Try: try("r"), Outcome: sizing.OOMKilled, MemoryMax: 4 * gib, EndedAt: noon, Allocated: sizing.Resources{Memory: 4 * gib}})
	e.known[try("r")] = sizing.Observation{Outcome: sizing.Failed, MemorySampled: 3 * gib, MemoryMax: 5 * gib}
	e.now = noon.Add(time.Hour)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, e.pass(e.worker(e.source)))
	row := e.row(try("r").TaskKey)
	assert.Equal(t, 3*gib, row.MemorySampled)
	assert.Equal(t, 4*gib, row.MemoryMax, "reported fields must stay")
	assert.Equal(t, sizing.OOMKilled, row.Outcome)
}

// Airflow often knows only that a try failed, or that a signal killed it. The pod has the cause.
func TestFailureOfAnOOMKilledPodBecomesAnOOMKill(t *testing.T) {
	for _, outcome := range []sizing.Outcome{sizing.Failed, sizing.Killed} {
		for _, sampled := range []sizing.Bytes{0, 3 * gib} {
			e := newEnv(t)
			reported := sizing.Observation{Try: try("r"), Outcome: outcome, StartedAt: noon.Add(-time.Minute), EndedAt: noon, Duration: time.Minute,
				Allocated: sizing.Resources{Memory: 4 * gib}}
			e.observe(reported)
			e.known[try("r")] = sizing.Observation{Outcome: sizing.OOMKilled, MemorySampled: sampled, Duration: 55 * time.Second,
				StartedAt: noon.Add(-58 * time.Second), EndedAt: noon.Add(-3 * time.Second), Allocated: sizing.Resources{Memory: 4 * gib}}
			e.now = noon.Add(time.Hour)
			assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, e.pass(e.worker(e.source)))
			row := e.row(try("r").TaskKey)
			assert.Equal(t, sizing.OOMKilled, row.Outcome)
			assert.Equal(t, sampled, row.MemorySampled)
			assert.Equal(t, time.Minute, row.Duration, "reported fields must stay")
			p, err := e.store.Task(t.Context(), try("r").TaskKey)
			require.NoError(t, err)
			assert.Equal(t, 1, p.Kills)
			assert.Equal(t, 1, e.svc.Counts().Kills[sizing.OOMKilled])
			e.observe(reported) // a repeated report must not contradict the kill
			assert.Equal(t, sizing.OOMKilled, e.row(try("r").TaskKey).Outcome)
		}
	}
}

// The reporter of a try may have been unable to reach the server. Its clock and its measurements differ from those of the
// source.
func TestLateReportReplacesTheReportFromASource(t *testing.T) {
	e := newEnv(t)
	e.saveReceipt(try("r"), noon)
	e.known[try("r")] = sizing.Observation{Outcome: sizing.Success, MemorySampled: 6 * gib, Duration: 40 * time.Second,
		StartedAt: noon.Add(time.Minute), EndedAt: noon.Add(100 * time.Second), Allocated: sizing.Resources{Memory: 8 * gib}}
	e.now = noon.Add(time.Hour)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Reported: 1}, e.pass(e.worker(e.source)))
	e.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, MemoryMax: 7 * gib, Duration: 47 * time.Second,
		StartedAt: noon.Add(57 * time.Second), EndedAt: noon.Add(104 * time.Second), Allocated: sizing.Resources{Memory: 8 * gib}})
	row := e.row(try("r").TaskKey)
	assert.Equal(t, 7*gib, row.MemoryMax)
	assert.Equal(t, 6*gib, row.MemorySampled, "the sampled peak must stay")
	assert.Equal(t, 47*time.Second, row.Duration)
	assert.Equal(t, 32*gib, row.Requested.Memory)
	assert.Equal(t, []float64{7}, row.Features)
}

func TestUnsampledTryHasTheResultMissingAfterADay(t *testing.T) {
	e := newEnv(t)
	worker := e.worker(e.source)
	e.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, EndedAt: noon})
	var results []reconcile.Result
	for e.now = noon; e.now.Before(noon.Add(60 * time.Hour)); e.now = e.now.Add(10 * time.Minute) {
		for result := range e.pass(worker) {
			results = append(results, result)
		}
	}
	require.NotEmpty(t, results)
	assert.Equal(t, reconcile.Missing, results[len(results)-1])
	assert.Less(t, e.lookups, 25, "the lookups within the day must back off exponentially")
	assert.Len(t, results, e.lookups)
}

func TestUnreportedTryIsReportedFromASource(t *testing.T) {
	e := newEnv(t)
	worker := e.worker(e.source)
	e.saveReceipt(try("r"), noon)
	e.known[try("r")] = sizing.Observation{Outcome: sizing.OOMKilled, MemorySampled: 7 * gib, Duration: 8 * time.Minute, EndedAt: noon.Add(9 * time.Minute),
		Allocated: sizing.Resources{Memory: 6 * gib}, Requested: sizing.Resources{Memory: 6 * gib}}

	e.now = noon.Add(24 * time.Minute)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Waiting: 1}, e.pass(worker))
	assert.Zero(t, e.lookups, "the first lookup must wait for twice ten minutes of run time and five minutes of lag")
	e.now = noon.Add(26 * time.Minute)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Reported: 1}, e.pass(worker))
	row := e.row(try("r").TaskKey)
	assert.Equal(t, sizing.OOMKilled, row.Outcome)
	assert.Equal(t, 7*gib, row.MemorySampled)
	assert.Equal(t, sizing.Resources{Memory: 6 * gib, CPU: 2}, row.Allocated, "the allocation must be that of the pod, or else the granted amount")
	assert.Equal(t, sizing.Resources{Memory: 32 * gib, CPU: 4}, row.Requested)
	assert.Equal(t, []float64{7}, row.Features)
	e.now = noon.Add(2 * time.Hour)
	assert.Empty(t, e.pass(worker))
}

func TestUnreportedTryWithoutOutcomeExpires(t *testing.T) {
	for name, sources := range map[string]int{"one source": 1, "no source": 0} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			worker := e.worker([]reconcile.Source{e.source}[:sources]...)
			e.saveReceipt(try("unknown"), noon)
			e.saveReceipt(try("sampled"), noon)
			e.known[try("sampled")] = sizing.Observation{MemorySampled: gib} // without an outcome
			total := map[reconcile.Result]int{}
			for e.now = noon; e.now.Before(noon.Add(100 * time.Hour)); e.now = e.now.Add(20 * time.Minute) {
				for result, n := range e.pass(worker) {
					total[result] += n
				}
			}
			assert.Equal(t, 2, total[reconcile.Expired])
			assert.Positive(t, total[reconcile.Waiting])
			assert.Len(t, total, 2)
			assert.Less(t, e.lookups, 50)
			_, err := e.store.History(t.Context(), try("r").TaskKey, store.HistoryLimits{})
			assert.Equal(t, sizing.NotFound, sizing.KindOf(err), "no report must be stored without an outcome")
		})
	}
}

func TestOneReplicaWorksAtATime(t *testing.T) {
	e := newEnv(t)
	e.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, EndedAt: noon})
	e.now = noon.Add(time.Hour)
	first, second := e.worker(e.source), e.worker(e.source)
	assert.NotEmpty(t, e.pass(first))
	e.now = noon.Add(23 * time.Hour) // the lease still holds, because it follows the clock of the database
	assert.Empty(t, e.pass(second))
	assert.NotEmpty(t, e.pass(first))
}

func TestSourceErrorIsReturnedAndTheTryIsLookedUpAgain(t *testing.T) {
	e := newEnv(t)
	worker := e.worker(e.source)
	e.observe(sizing.Observation{Try: try("r"), Outcome: sizing.Success, EndedAt: noon})
	e.now, e.sourceErr = noon.Add(time.Hour), errors.New("source is down")
	require.ErrorIs(t, worker.RunOnce(t.Context()), e.sourceErr)
	require.ErrorIs(t, worker.RunOnce(t.Context()), e.sourceErr, "the next pass must look up the try again")
	e.sourceErr, e.known[try("r")] = nil, sizing.Observation{MemorySampled: gib}
	assert.Equal(t, map[reconcile.Result]int{reconcile.Amended: 1}, e.pass(worker))
}

// Labels of pods do not name the Airflow deployment. So a source can know several candidates for a try.
func TestAmbiguousTriesAreNotStoredAndLoggedOncePerPass(t *testing.T) {
	e := newEnv(t)
	e.observe(sizing.Observation{Try: try("reported"), Outcome: sizing.Success, EndedAt: noon})
	e.observe(sizing.Observation{Try: try("unique"), Outcome: sizing.Success, EndedAt: noon})
	e.saveReceipt(try("unreported"), noon)
	var log bytes.Buffer
	worker := reconcile.New(e.store, e.svc.Observe, reconcile.Config{
		Now: func() time.Time { return noon.Add(time.Hour) }, Count: func(r reconcile.Result) { e.results[r]++ },
		Sources: []reconcile.Source{func(_ context.Context, key sizing.TryKey, _, _ time.Time) (sizing.Observation, bool, error) {
			o := sizing.Observation{Outcome: sizing.OOMKilled, MemorySampled: gib, Allocated: sizing.Resources{Memory: gib}}
			if key == try("unique") {
				return o, true, nil
			}
			return o, true, fmt.Errorf("%w: name the namespace", reconcile.ErrAmbiguous)
		}},
	}, slog.New(slog.NewTextHandler(&log, nil)))
	assert.Equal(t, map[reconcile.Result]int{reconcile.Waiting: 2, reconcile.Amended: 1}, e.pass(worker))
	assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
	assert.Contains(t, log.String(), "tries=2")
	assert.Contains(t, log.String(), "name the namespace")
	h, err := e.store.History(t.Context(), try("r").TaskKey, store.HistoryLimits{})
	require.NoError(t, err)
	require.Len(t, h.Rows, 2, "no report must be stored for the unreported try")
	for i := range h.Rows {
		assert.Equal(t, h.Rows[i].RunID == "unique", h.Rows[i].MemorySampled > 0, h.Rows[i].RunID)
	}
	log.Reset()
	assert.Empty(t, e.pass(worker), "no lookup is due again")
	assert.Empty(t, log.String())
}

func TestSecondSourceFillsUnknownFields(t *testing.T) {
	e := newEnv(t)
	e.saveReceipt(try("r"), noon)
	e.known[try("r")] = sizing.Observation{MemorySampled: 2 * gib} // a sampled peak without an outcome
	airflow := func(context.Context, sizing.TryKey, time.Time, time.Time) (sizing.Observation, bool, error) {
		return sizing.Observation{Outcome: sizing.Success, Duration: time.Minute}, true, nil
	}
	e.now = noon.Add(time.Hour)
	assert.Equal(t, map[reconcile.Result]int{reconcile.Reported: 1}, e.pass(e.worker(e.source, airflow)))
	row := e.row(try("r").TaskKey)
	assert.Equal(t, sizing.Success, row.Outcome)
	assert.Equal(t, 2*gib, row.MemorySampled)
	assert.Equal(t, time.Minute, row.Duration)
}

func TestPassLooksUpAtMostBatchTries(t *testing.T) {
	e := newEnv(t)
	for i := range 5 {
		e.saveReceipt(try(string(rune('a'+i))), noon)
	}
	worker := reconcile.New(e.store, e.svc.Observe, reconcile.Config{
		Batch: 2, Now: func() time.Time { return noon.Add(48 * time.Hour) }, Count: func(r reconcile.Result) { e.results[r]++ },
	}, slog.New(slog.DiscardHandler))
	for _, want := range []int{2, 2, 1, 0} {
		assert.Equal(t, want, e.pass(worker)[reconcile.Expired])
	}
}
