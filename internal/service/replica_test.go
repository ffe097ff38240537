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
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

const gib = sizing.GiB

type hookedStore struct {
	*postgres.Store
	afterRecord, afterSince, afterListing hook
	beforeGrantedTries, beforeNewestSince hook
	receiptWrites, listings               atomic.Int64 // calls of SaveReceipts and ActiveVersions
	losesNotifications                    atomic.Bool
}

// hook holds a function. The next call of hook.fire runs the function and removes it.
type hook struct{ do atomic.Pointer[func()] }

func (h *hook) setNext(do func()) { h.do.Store(&do) }

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

func (s *hookedStore) NewestSince(ctx context.Context, task sizing.TaskKey, seq, last int64, limit int) (sizing.History, error) {
	s.beforeNewestSince.fire()
	h, err := s.Store.NewestSince(ctx, task, seq, last, limit)
	s.afterSince.fire()
	return h, err
}

func (s *hookedStore) GrantedTries(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.GrantedTry, error) {
	s.beforeGrantedTries.fire()
	return s.Store.GrantedTries(ctx, task, since, limit)
}

func (s *hookedStore) ActiveVersions(ctx context.Context) (map[sizing.TaskKey]int, error) {
	versions, err := s.Store.ActiveVersions(ctx)
	s.listings.Add(1)
	s.afterListing.fire()
	return versions, err
}

func (s *hookedStore) ChangedSince(ctx context.Context, since int64) (store.ChangedTasks, error) {
	changed, err := s.Store.ChangedSince(ctx, since)
	if since > 0 {
		s.afterListing.fire()
	}
	return changed, err
}

func (s *hookedStore) Changes(ctx context.Context, ready func(), changed func(sizing.TaskKey)) error {
	return s.Store.Changes(ctx, ready, func(key sizing.TaskKey) {
		if !s.losesNotifications.Load() {
			changed(key)
		}
	})
}

func (s *hookedStore) SaveReceipts(ctx context.Context, receipts []sizing.Receipt) error {
	s.receiptWrites.Add(1)
	return s.Store.SaveReceipts(ctx, receipts)
}

// replica is like a separate process. Its background work runs only after start.
type replica struct {
	*service.Service
	t           *testing.T
	dsn         string
	store       *hookedStore
	clockOffset time.Duration // added to the current time
	stop        func()        // ends the background work and waits for its end
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	dsn := pgtest.Migrated(t)
	return joinReplica(t, dsn, service.Config{})
}

func joinReplica(t *testing.T, dsn string, cfg service.Config) *replica {
	t.Helper()
	// Tests train explicitly. A long debounce keeps tasks from becoming due, except after kills.
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return joinStore(t, dsn, st, cfg)
}

// joinStore does not close `st`.
func joinStore(t *testing.T, dsn string, st *postgres.Store, cfg service.Config) *replica {
	t.Helper()
	r := &replica{t: t, dsn: dsn, store: &hookedStore{Store: st}, stop: func() {}}
	if cfg.PollInterval == 0 {
		cfg.PollInterval = time.Hour // without polls, a replica receives changes only by the mechanism under test
	}
	if cfg.DecodeWait == 0 {
		cfg.DecodeWait = testwait.Limit
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = testwait.Limit // a slow machine must not change answers
	}
	if cfg.PingTimeout == 0 {
		cfg.PingTimeout = testwait.Limit // after a failed ping, a replica decodes no model
	}
	cfg.Now = func() time.Time { return time.Now().Add(r.clockOffset) }
	noLog := slog.New(slog.DiscardHandler)
	r.Service = service.New(r.store, trainer.New(st, trainer.Config{OnlyRequested: true}, noLog), cfg, noLog)
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *replica) start() *replica {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		_ = r.Run(ctx) // ends with ctx
		close(ended)
	}()
	r.stop = sync.OnceFunc(func() { cancel(); <-ended })
	r.waitFor(func() bool { return r.Readiness().Ready }, "the replica must become ready")
	return r
}

func (r *replica) waitFor(condition func() bool, msg string) {
	r.t.Helper()
	require.Eventually(r.t, condition, testwait.Limit, 5*time.Millisecond, msg)
}

func inTime(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(testwait.Limit):
		require.Fail(t, "the function must return within testwait.Limit")
	}
}

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

// success returns the report of run i of n with 1 + 7i/n rows and a peak of 1/8 GiB per row plus 0 to 45 %.
func success(name string, i, n int) sizing.Observation {
	x := 1 + 7*float64(i)/float64(n)
	return sizing.Observation{
		Try: try(name, fmt.Sprintf("run-%d", i), 1), Outcome: sizing.Success, MemoryMax: gib.Times(x / 8 * (1 + float64(i*7%10)/20)), Duration: 5 * time.Minute,
		Allocated: sizing.Resources{Memory: 64 * gib}, Requested: sizing.Resources{Memory: 64 * gib}, Features: rows(x),
	}
}

func (r *replica) report(obs ...sizing.Observation) []sizing.RecordResult {
	r.t.Helper()
	recorded, err := r.Observe(r.t.Context(), obs)
	require.NoError(r.t, err)
	for i := range recorded {
		require.NoError(r.t, recorded[i].Err)
	}
	return recorded
}

func (r *replica) reportRuns(name string, n int) {
	r.t.Helper()
	obs := make([]sizing.Observation, n)
	for i := range obs {
		obs[i] = success(name, i, n)
	}
	r.report(obs...)
}

func (r *replica) trainTask(name string, n int) {
	r.t.Helper()
	r.reportRuns(name, n)
	report, err := r.Train(r.t.Context(), task(name))
	require.NoError(r.t, err)
	require.True(r.t, report.Published, report.Reason)
}

func ask(name, run string) sizing.Ask {
	return sizing.Ask{Try: try(name, run, 1), Features: rows(4), Requested: sizing.Resources{Memory: 64 * gib}}
}

func (r *replica) predict(a sizing.Ask) *sizing.Allocation {
	r.t.Helper()
	allocation, err := r.Predict(r.t.Context(), &a)
	require.NoError(r.t, err)
	return allocation
}

func (r *replica) lift(a sizing.Ask, killed sizing.Bytes) sizing.Lift {
	r.t.Helper()
	lift, err := r.Lift(r.t.Context(), &sizing.LiftAsk{Ask: a, Reason: sizing.OOMKilled, Failed: killed})
	require.NoError(r.t, err)
	return lift
}

func (r *replica) learnedRows(name string) int {
	r.t.Helper()
	return int(r.predict(ask(name, "")).Guard.Version)
}

func nthTry(a sizing.Ask, number int) sizing.Ask {
	a.Try.Number = number
	return a
}

func (r *replica) history(name string) sizing.History {
	r.t.Helper()
	h, err := r.store.History(r.t.Context(), task(name), store.HistoryLimits{})
	require.NoError(r.t, err)
	return h
}
