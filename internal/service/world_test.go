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

// eventually bounds waits for what happens in the background.
const eventually = 20 * time.Second

// interposed is the real store, with what else happens at a moment that a test is
// about.
type interposed struct {
	*postgres.Store
	recorded, read, listed moment
	saves                  atomic.Int64 // writes of receipts
}

// moment is what happens when it comes next; nothing unless a test says so.
type moment struct{ do atomic.Pointer[func()] }

func (m *moment) next(do func()) { m.do.Store(&do) }

func (m *moment) comes() {
	if do := m.do.Swap(nil); do != nil {
		(*do)()
	}
}

func (s *interposed) Record(ctx context.Context, obs []sizing.Observation) ([]sizing.RecordResult, error) {
	recorded, err := s.Store.Record(ctx, obs)
	s.recorded.comes()
	return recorded, err
}

func (s *interposed) Since(ctx context.Context, task sizing.TaskKey, seq int64, limit int) (sizing.History, error) {
	h, err := s.Store.Since(ctx, task, seq, limit)
	s.read.comes()
	return h, err
}

func (s *interposed) ActiveVersions(ctx context.Context) (map[sizing.TaskKey]int, error) {
	versions, err := s.Store.ActiveVersions(ctx)
	s.listed.comes()
	return versions, err
}

func (s *interposed) SaveReceipts(ctx context.Context, receipts []sizing.Receipt) error {
	s.saves.Add(1)
	return s.Store.SaveReceipts(ctx, receipts)
}

// replica is one process: a service, its own connections, and a clock that can be
// put forward. Its background work runs only after start.
type replica struct {
	*service.Service
	t     *testing.T
	dsn   string
	store *interposed
	ahead time.Duration
	stop  func() // ends the background work and waits for it
}

// newReplica is the first process on a new database.
func newReplica(t *testing.T) *replica {
	t.Helper()
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	return join(t, dsn, service.Config{})
}

// join is another process on the same database.
func join(t *testing.T, dsn string, cfg service.Config) *replica {
	t.Helper()
	// Tests train when they say so.
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	r := &replica{t: t, dsn: dsn, store: &interposed{Store: st}, stop: func() {}}
	if cfg.Poll == 0 {
		cfg.Poll = time.Hour // what is tested must not be healed by it
	}
	if cfg.OpenWait == 0 {
		cfg.OpenWait = eventually
	}
	if cfg.LaterTryRead == 0 {
		cfg.LaterTryRead = eventually // a busy machine must not change what is answered
	}
	cfg.Now = func() time.Time { return time.Now().Add(r.ahead) }
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
	r.until(func() bool { return r.Readiness().Ready }, "ready")
	return r
}

func (r *replica) until(so func() bool, msg string) {
	r.t.Helper()
	require.Eventually(r.t, so, eventually, 5*time.Millisecond, msg)
}

// within fails the test where do does not return, instead of hanging it.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(eventually):
		require.Fail(t, "still waiting")
	}
}

// sql runs statements as the owner of the database might.
func (r *replica) sql(statement string, args ...any) {
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

// success is a run whose peak is a GiB for every eight rows, and up to a half more:
// run i of n has 1+7i/n of them.
func success(name string, i, n int) sizing.Observation {
	x := 1 + 7*float64(i)/float64(n)
	return sizing.Observation{
		Try: try(name, fmt.Sprintf("run-%d", i), 1), Outcome: sizing.Success, MemoryMax: gib.Times(x / 8 * (1 + float64(i*7%10)/20)), Duration: 5 * time.Minute,
		Allocated: sizing.Resources{Memory: 64 * gib}, Requested: sizing.Resources{Memory: 64 * gib}, Features: rows(x),
	}
}

// tell reports, and demands that each was recorded.
func (r *replica) tell(obs ...sizing.Observation) []sizing.RecordResult {
	r.t.Helper()
	recorded, err := r.Observe(r.t.Context(), obs)
	require.NoError(r.t, err)
	for i := range recorded {
		require.NoError(r.t, recorded[i].Err)
	}
	return recorded
}

func (r *replica) teach(name string, n int) {
	r.t.Helper()
	obs := make([]sizing.Observation, n)
	for i := range obs {
		obs[i] = success(name, i, n)
	}
	r.tell(obs...)
}

// taught is a task with n runs and a published model.
func (r *replica) taught(name string, n int) {
	r.t.Helper()
	r.teach(name, n)
	report, err := r.Train(r.t.Context(), task(name))
	require.NoError(r.t, err)
	require.True(r.t, report.Published, report.Reason)
}

// ask is a question of a first try with 4 rows (half a GiB), 64 GiB requested.
func ask(name, run string) sizing.Ask {
	return sizing.Ask{Try: try(name, run, 1), Features: rows(4), Requested: sizing.Resources{Memory: 64 * gib}}
}

func (r *replica) answer(a sizing.Ask) *sizing.Allocation {
	r.t.Helper()
	answer, err := r.Predict(r.t.Context(), &a)
	require.NoError(r.t, err)
	return answer
}

// lift asks for more after the try was killed at an amount.
func (r *replica) lift(a sizing.Ask, at sizing.Bytes) sizing.Lift {
	r.t.Helper()
	lift, err := r.Lift(r.t.Context(), &sizing.LiftAsk{Ask: a, Reason: sizing.OOMKilled, Failed: at})
	require.NoError(r.t, err)
	return lift
}

// told counts the tries that the model in memory was told.
func (r *replica) told(name string) int {
	r.t.Helper()
	return int(r.answer(ask(name, "")).Guard.Version)
}

// later is the same question for another try of the same run.
func later(a sizing.Ask, number int) sizing.Ask {
	a.Try.Number = number
	return a
}

// history is what is stored of a task.
func (r *replica) history(name string) sizing.History {
	r.t.Helper()
	h, err := r.store.History(r.t.Context(), task(name), store.HistoryLimits{})
	require.NoError(r.t, err)
	return h
}
