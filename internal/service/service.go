// Package service implements the use cases: predict, observe, lift, train, and the
// administration of tasks, models and policies.
//
// It uses the types of package sizing, the interfaces of package store and decoded models. It is
// independent of HTTP and SQL. Once the model of a task is in the cache, the prediction for a first try
// does not read the database, except for a plan if the policy asks for plans.
//
//	Predict ──▶ modelcache ──▶ allocator ──▶ inflight, outbox (stored asynchronously)
//	Observe ──▶ store.Record ── acknowledged ──▶ inflight, modelcache (the model learns)
//	Lift    ──▶ Observe (provisional) ──▶ sizing.LiftState.Decide ──▶ inflight, outbox
package service

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/service/outbox"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Config configures a Service. Its zero value is usable.
type Config struct {
	ReadTimeout      time.Duration    // the timeout of the reads that a prediction, a lift or a report can do without; 50 ms if zero
	DecodeWait       time.Duration    // the longest time that a prediction waits for its model to be decoded; 500 ms if zero
	PollInterval     time.Duration    // the time between polls for missed notifications; 30 s if zero
	PingTimeout      time.Duration    // the time that the store may take to answer a health check; 1 s if zero
	UnschedulableFor time.Duration    // the time for which an unschedulable report lowers the ceiling; 1 h if zero
	MinMemory        sizing.Bytes     // smallest amount that a model grants; none if zero
	ModelMemory      sizing.Bytes     // largest amount of memory for decoded models; unlimited if zero
	NoCohorts        bool             // whether a task without history gets its static request
	Now              func() time.Time // time.Now if nil
}

func (c Config) withDefaults() Config {
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 50*time.Millisecond)
	c.DecodeWait = cmp.Or(c.DecodeWait, 500*time.Millisecond)
	c.PollInterval = cmp.Or(c.PollInterval, 30*time.Second)
	c.PingTimeout = cmp.Or(c.PingTimeout, time.Second)
	c.UnschedulableFor = cmp.Or(c.UnschedulableFor, time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Trainer trains models: trainer.Trainer in this process, or a supervised subprocess.
type Trainer interface {
	// Run trains tasks until ctx ends, each when the store marks it as due, for example after reports.
	Run(ctx context.Context)
	// TrainNow trains one task, due or not.
	TrainNow(ctx context.Context, task sizing.TaskKey) (trainer.Report, error)
}

// Service implements the use cases. It is safe for concurrent use.
type Service struct {
	cfg        Config
	store      store.Store
	trainer    Trainer
	log        *slog.Logger
	models     *modelcache.Cache
	memo       taskmodel.Memo
	tries      inflight.Tries
	runs       taskmodel.RunErrors
	outbox     *outbox.Outbox
	rejection  rejection
	counts     counts
	taskGroups taskGroups
	cohorts    cohorts

	predictions atomic.Uint64 // see Predictions
	profileSets profileSets
	placements  placements
	planners    planners
}

// New returns a Service. Run starts its background work.
func New(st store.Store, tr Trainer, cfg Config, log *slog.Logger) *Service {
	s := &Service{cfg: cfg.withDefaults(), store: st, trainer: tr, log: log, outbox: outbox.New(st, log)}
	s.models = modelcache.New(st, &s.tries, modelcache.Config{
		DecodeWait: s.cfg.DecodeWait, PollInterval: s.cfg.PollInterval, PingTimeout: s.cfg.PingTimeout, UnschedulableFor: s.cfg.UnschedulableFor,
		Now: s.cfg.Now, Memory: int64(s.cfg.ModelMemory), Flush: s.outbox.Flush,
		RunErrors: &s.runs,
	}, log)
	return s
}

// Run runs the background loops until ctx ends. It returns after all of them have returned.
func (s *Service) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){
		s.models.Subscribe,
		s.models.Poll,
		s.models.Preload,
		s.models.CheckHealth,
		s.outbox.Run,
		s.trainer.Run,
		s.pollBacklog,
		s.pollCohorts,
	} {
		loops.Go(func() { loop(ctx) })
	}
	loops.Wait()
	return ctx.Err()
}

// Readiness reports whether the service can answer predictions (Ready) and store reports (Observe).
type Readiness struct {
	Ready   bool
	Observe string // "ok" or "unavailable": whether reports can be stored
	Models  int    // number of tasks with an active model
	// Stale is the time since the models in memory were last known to equal the stored ones.
	Stale time.Duration
}

// Readiness returns the current readiness. It does not read the store.
func (s *Service) Readiness() Readiness {
	r := Readiness{Ready: s.models.IsLoaded() && s.cohorts.isLoaded.Load(), Observe: "ok", Models: s.models.Models(), Stale: s.models.Staleness()}
	if !s.models.IsStoreUp() || s.rejection.isRecent(s.cfg.Now()) {
		r.Observe = "unavailable"
	}
	return r
}

func invalid(fields []sizing.FieldError) error {
	return &sizing.Error{Kind: sizing.Invalid, Detail: "some fields are invalid", Fields: fields}
}
