// Package service is the use cases: predict, observe, lift, train, and the rest
// of what a caller can ask for.
//
// It knows the words of sizing, the store's contract and opened models, and
// nothing of HTTP or SQL. A first-try Predict never touches the database, once
// somebody asked about its task: opened models live in memory and are swapped whole.
//
//	Predict ──▶ task (memory) ──▶ model.Size          ┌─▶ receipts, written behind
//	Observe ──▶ store.Record ── acked ──▶ model.Learn ┘
//	Lift    ──▶ store.Record (provisional) ──▶ sizing.LiftState.Decide
//	changes ──▶ follow: reload what another replica published
package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/outbox"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Config has usable zero values.
type Config struct {
	LaterTryRead time.Duration    // bound on the one read that a later try may do; 50 ms if zero
	OpenWait     time.Duration    // for which a question waits until its task's model is open; 500 ms if zero
	Poll         time.Duration    // between looks for missed changes; 30 s if zero
	UnfitFor     time.Duration    // how long an unschedulable report lowers the ceiling; 1 h if zero
	MinMemory    sizing.Bytes     // least that a model grants; none if zero
	Now          func() time.Time // time.Now if nil
}

func (c Config) withDefaults() Config {
	c.LaterTryRead = cmp.Or(c.LaterTryRead, 50*time.Millisecond)
	c.OpenWait = cmp.Or(c.OpenWait, 500*time.Millisecond)
	c.Poll = cmp.Or(c.Poll, 30*time.Second)
	c.UnfitFor = cmp.Or(c.UnfitFor, time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Trainer trains what is due until the context of Run ends, and whatever it is told to:
// in this process (trainer.Trainer), or in one of its own (apart.Process).
type Trainer interface {
	Run(ctx context.Context)
	TrainNow(ctx context.Context, task sizing.TaskKey) (trainer.Report, error)
}

// Service answers. Its methods may be called at once from many goroutines.
type Service struct {
	cfg     Config
	store   store.Store
	trainer Trainer
	log     *slog.Logger
	tasks   tasks
	unknown *task // stands for every task that was never heard of
	tries   inflight.Tries
	memo    fitting.Memo
	outbox  *outbox.Outbox
	loading sync.Mutex    // held while policies are read and put in place, or tasks taken away
	opening chan struct{} // has room for as many models as are opened at once
	loaded  atomic.Bool   // every active version was listed once
	storeOK atomic.Bool   // the last call to the store was answered
	refused atomic.Int64  // when a report was last refused for want of the store, in Unix nanoseconds; zero once one was stored
	news    news          // when the store was last heard of
	counts  counts
}

// New makes a Service; Run starts its background work.
func New(st store.Store, tr Trainer, cfg Config, log *slog.Logger) *Service {
	s := &Service{cfg: cfg.withDefaults(), store: st, trainer: tr, log: log}
	s.tasks.unfitFor = s.cfg.UnfitFor
	s.unknown = &task{model: untaught, pool: &pool{}}
	s.opening = make(chan struct{}, openAtOnce)
	s.outbox = outbox.New(st, log)
	s.storeOK.Store(true)
	return s
}

// Run lists the models, follows changes, trains what is due and writes receipts
// until ctx ends, then writes the receipts that are queued.
func (s *Service) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	loops.Go(func() { s.follow(ctx) })
	loops.Go(func() { s.poll(ctx) })
	loops.Go(func() { s.warm(ctx) })
	loops.Go(func() { s.outbox.Run(ctx) })
	loops.Go(func() { s.trainer.Run(ctx) })
	loops.Go(func() { s.watch(ctx) })
	loops.Go(func() { s.look(ctx) })
	loops.Wait()
	return ctx.Err()
}

// watch asks the store for a sign of life, so that readiness tells the truth
// even when nobody reports.
func (s *Service) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			probe, cancel := context.WithTimeout(ctx, time.Second)
			ok := s.store.Ping(probe) == nil
			cancel()
			s.storeOK.Store(ok)
			if ok {
				s.news.ping()
			}
		}
	}
}

// Readiness says whether predictions can be answered (Ready), and whether reports
// can be stored ("ok" or "unavailable").
type Readiness struct {
	Ready   bool
	Observe string
	Models  int
	// Stale is for how long the models in memory may already be others than those in
	// the store: the time since the store was last heard of.
	Stale time.Duration
}

// Readiness never blocks.
func (s *Service) Readiness() Readiness {
	r := Readiness{Ready: s.loaded.Load(), Observe: "ok", Models: s.tasks.models(), Stale: s.news.since()}
	if !s.storeOK.Load() || s.refusing() {
		r.Observe = "unavailable"
	}
	return r
}

// Void takes a report back.
func (s *Service) Void(ctx context.Context, try sizing.TryKey) error {
	if err := s.store.Void(ctx, try); err != nil {
		return err
	}
	s.tries.Void(&try)
	s.withdrawn(ctx, &try)
	return s.store.MarkDue(ctx, try.TaskKey, s.cfg.Now())
}

// Series is what a try used over time.
func (s *Service) Series(ctx context.Context, try sizing.TryKey) (sizing.Series, error) {
	return s.store.Series(ctx, try)
}

// Train trains now, and returns when what it published answers here.
func (s *Service) Train(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	report, err := s.trainer.TrainNow(ctx, task)
	if err != nil {
		return report, err
	}
	return report, s.reload(ctx, task) // published, or rolled back
}

// Models lists the stored versions, newest first.
func (s *Service) Models(ctx context.Context, task sizing.TaskKey) ([]store.Model, error) {
	return s.store.ModelVersions(ctx, task)
}

// Activate makes a stored version answer again, and pins it. A version that cannot be
// opened is refused before anything changes: nobody could answer by it.
func (s *Service) Activate(ctx context.Context, task sizing.TaskKey, version int) error {
	stored, err := s.store.Model(ctx, task, version)
	if err != nil {
		return err
	}
	if _, err := fitting.Open(stored.Blob); err != nil {
		return sizing.Errorf(sizing.Conflict, "version %d cannot be opened, and what is active stays so: activate another: %w", version, err)
	}
	if err := s.store.Activate(ctx, task, version); err != nil {
		return err
	}
	return s.reload(ctx, task)
}

// Unpin lets trainings publish over what was activated.
func (s *Service) Unpin(ctx context.Context, task sizing.TaskKey) error {
	return s.store.Unpin(ctx, task)
}

// Audit lists changes, newest first.
func (s *Service) Audit(ctx context.Context, f store.AuditFilter, limit int) ([]store.AuditEntry, error) {
	return s.store.Audit(ctx, f, limit)
}

// Policy reads what people decided of a task; the zero Policy if nothing.
func (s *Service) Policy(ctx context.Context, task sizing.TaskKey) (sizing.Policy, error) {
	return s.store.Policy(ctx, task)
}

// SetPolicy replaces the policy of a task.
func (s *Service) SetPolicy(ctx context.Context, task sizing.TaskKey, p sizing.Policy) error {
	if bad := p.Validate(); len(bad) > 0 {
		return invalid(bad)
	}
	if p.IsZero() { // the defaults of a task that is not known create none
		if _, err := s.store.Task(ctx, task); isKind(err, sizing.NotFound) {
			return nil
		}
	}
	if err := s.store.SetPolicy(ctx, task, p); err != nil {
		return err
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	s.tasks.get(task).setPolicy(p)
	return nil
}

// Receipt finds a stored answer; those not yet written are found too.
func (s *Service) Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error) {
	if r, ok := s.outbox.Find(predictionID); ok {
		return r, nil
	}
	return s.store.Receipt(ctx, predictionID)
}

// DeleteTask removes all that is stored of a task.
func (s *Service) DeleteTask(ctx context.Context, task sizing.TaskKey) error {
	s.outbox.Flush(ctx) // what is queued must be deleted with the rest
	if err := s.store.DeleteTask(ctx, task); err != nil {
		return err
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	s.tasks.drop(task)
	s.tries.RemoveTask(task)
	return nil
}

// Rename moves all that is stored of a task to another name.
func (s *Service) Rename(ctx context.Context, from, to sizing.TaskKey) error {
	if bad := to.Validate(); len(bad) > 0 {
		return invalid(bad)
	}
	s.outbox.Flush(ctx) // what is queued must be renamed with the rest
	if err := s.store.Rename(ctx, from, to); err != nil {
		return err
	}
	s.catchUp(ctx, from)
	s.catchUp(ctx, to)
	return nil
}

// invalid joins bad fields to one error.
func invalid(bad []sizing.FieldError) error {
	return &sizing.Error{Kind: sizing.Invalid, Detail: "some fields cannot be right", Fields: bad}
}

// isKind reports whether err is of a kind.
func isKind(err error, kind sizing.Kind) bool {
	var e *sizing.Error
	return errors.As(err, &e) && e.Kind == kind
}
