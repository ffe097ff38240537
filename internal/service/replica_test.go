package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

const gib = sizing.GiB

// waitTimeout bounds waits for background work.
const waitTimeout = 20 * time.Second

// hookedStore is the real store with hooks that run after some of its methods.
type hookedStore struct {
	*postgres.Store
	afterRecord, afterSince, afterListing hook
	receiptWrites                         atomic.Int64
}

// hook runs a function once.
type hook struct{ do atomic.Pointer[func()] }

func (h *hook) once(do func()) { h.do.Store(&do) }

func (h *hook) fire() {
	if do := h.do.Swap(nil); do != nil {
		(*do)()
	}
}

func (s *hookedStore) Record(ctx context.Context, obs []sizing.Observation) ([]sizing.RecordResult, error) {
	recorded, err := s.Store.Record(ctx, obs)
	s.afterRecord.fire()
	return recorded, err
}

func (s *hookedStore) Since(ctx context.Context, task sizing.TaskKey, seq int64, limit int) (sizing.History, error) {
	h, err := s.Store.Since(ctx, task, seq, limit)
	s.afterSince.fire()
	return h, err
}

func (s *hookedStore) ActiveVersions(ctx context.Context) (map[sizing.TaskKey]int, error) {
	versions, err := s.Store.ActiveVersions(ctx)
	s.afterListing.fire()
	return versions, err
}

func (s *hookedStore) SaveReceipts(ctx context.Context, receipts []sizing.Receipt) error {
	s.receiptWrites.Add(1)
	return s.Store.SaveReceipts(ctx, receipts)
}

// replica is one process: a service, its own connections, and a clock with an offset. Its
// background work runs only after start.
type replica struct {
	*service.Service
	t           *testing.T
	dsn         string
	store       *hookedStore
	clockOffset time.Duration
	stop        func() // ends the background work and waits for its end
}

// newReplica returns the first process on a new database.
func newReplica(t *testing.T) *replica {
	t.Helper()
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	return joinReplica(t, dsn, service.Config{})
}

// joinReplica returns another process on the same database.
func joinReplica(t *testing.T, dsn string, cfg service.Config) *replica {
	t.Helper()
	// Tests train explicitly: the debounce delays automatic training.
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	r := &replica{t: t, dsn: dsn, store: &hookedStore{Store: st}, stop: func() {}}
	if cfg.PollInterval == 0 {
		cfg.PollInterval = time.Hour // polls must not hide what is tested
	}
	if cfg.DecodeWait == 0 {
		cfg.DecodeWait = waitTimeout
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = waitTimeout // a slow machine must not change answers
	}
	cfg.Now = func() time.Time { return time.Now().Add(r.clockOffset) }
	quiet := slog.New(slog.DiscardHandler)
	r.Service = service.New(r.store, trainer.New(st, trainer.Config{Every: time.Hour}, quiet), cfg, quiet)
	t.Cleanup(func() { r.stop(); st.Close() })
	return r
}

// start runs the background work until the replica is ready.
func (r *replica) start() *replica {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		_ = r.Run(ctx) // ends with ctx
		close(ended)
	}()
	r.stop = sync.OnceFunc(func() { cancel(); <-ended })
	r.waitFor(func() bool { return r.Readiness().Ready }, "ready")
	return r
}

func (r *replica) waitFor(condition func() bool, msg string) {
	r.t.Helper()
	require.Eventually(r.t, condition, waitTimeout, 5*time.Millisecond, msg)
}

// inTime fails the test if do does not return.
func inTime(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(waitTimeout):
		require.Fail(t, "timeout")
	}
}

// exec runs statements as the owner of the database.
func (r *replica) exec(statement string, args ...any) {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), r.dsn)
	require.NoError(r.t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(r.t.Context(), statement, args...)
	require.NoError(r.t, err)
}

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: name}
}

func try(name, run string, number int) sizing.TryKey {
	return sizing.TryKey{TaskKey: task(name), RunID: run, MapIndex: sizing.NoMap, Number: number}
}

func rows(n float64) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(n)} }

// success returns run i of n. It has 1+7i/n rows, and its peak is 1/8 GiB per row, plus up
// to 45 %.
func success(name string, i, n int) sizing.Observation {
	x := 1 + 7*float64(i)/float64(n)
	return sizing.Observation{
		Try: try(name, fmt.Sprintf("run-%d", i), 1), Outcome: sizing.Success, MemoryMax: gib.Times(x / 8 * (1 + float64(i*7%10)/20)), Duration: 5 * time.Minute,
		Allocated: sizing.Resources{Memory: 64 * gib}, Requested: sizing.Resources{Memory: 64 * gib}, Features: rows(x),
	}
}

// report reports observations, and requires that all are recorded.
func (r *replica) report(obs ...sizing.Observation) []sizing.RecordResult {
	r.t.Helper()
	recorded, err := r.Observe(r.t.Context(), obs)
	require.NoError(r.t, err)
	for i := range recorded {
		require.NoError(r.t, recorded[i].Err)
	}
	return recorded
}

// reportRuns reports n successful runs of a task.
func (r *replica) reportRuns(name string, n int) {
	r.t.Helper()
	obs := make([]sizing.Observation, n)
	for i := range obs {
		obs[i] = success(name, i, n)
	}
	r.report(obs...)
}

// trainTask reports n runs of a task and publishes its model.
func (r *replica) trainTask(name string, n int) {
	r.t.Helper()
	r.reportRuns(name, n)
	report, err := r.Train(r.t.Context(), task(name))
	require.NoError(r.t, err)
	require.True(r.t, report.Published, report.Reason)
}

// ask returns the ask of a first try with 4 rows (half a GiB) and a request of 64 GiB.
func ask(name, run string) sizing.Ask {
	return sizing.Ask{Try: try(name, run, 1), Features: rows(4), Requested: sizing.Resources{Memory: 64 * gib}}
}

func (r *replica) predict(a sizing.Ask) *sizing.Allocation {
	r.t.Helper()
	allocation, err := r.Predict(r.t.Context(), &a)
	require.NoError(r.t, err)
	return allocation
}

// lift reports that the try was killed at an allocation, and asks for more.
func (r *replica) lift(a sizing.Ask, at sizing.Bytes) sizing.Lift {
	r.t.Helper()
	lift, err := r.Lift(r.t.Context(), &sizing.LiftAsk{Ask: a, Reason: sizing.OOMKilled, Failed: at})
	require.NoError(r.t, err)
	return lift
}

// learnedRows counts the rows that the model in memory has learned.
func (r *replica) learnedRows(name string) int {
	r.t.Helper()
	return int(r.predict(ask(name, "")).Guard.Version)
}

// nthTry returns the same ask for another try of the run.
func nthTry(a sizing.Ask, number int) sizing.Ask {
	a.Try.Number = number
	return a
}

// history returns the stored history of a task.
func (r *replica) history(name string) sizing.History {
	r.t.Helper()
	h, err := r.store.History(r.t.Context(), task(name), store.HistoryLimits{})
	require.NoError(r.t, err)
	return h
}
