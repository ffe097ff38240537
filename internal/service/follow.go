package service

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// tailAtMost bounds the rows that are learned on top of a loaded model; older
// ones wait for the next training. The margins remember no more.
const tailAtMost = 2_000

// follow keeps the models and policies in memory equal to the stored ones: by
// notification, and again whole after every reconnect.
func (s *Service) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.store.Changes(ctx, func() { s.news.listen(true); s.resync(ctx) }, func(key sizing.TaskKey) { s.catchUp(ctx, key) })
		s.news.listen(false)
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("following changes was interrupted", "err", err)
		sleep(ctx, time.Second)
	}
}

// poll resyncs now and then, for what a lost notification may have missed.
func (s *Service) poll(ctx context.Context) {
	for sleep(ctx, s.cfg.Poll) {
		s.resync(ctx)
	}
}

// sleep waits, and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// resync reads the active versions and policies, and loads what differs. Of a task
// that was not heard of here, the version is enough until somebody asks.
func (s *Service) resync(ctx context.Context) {
	began := time.Now()
	unpublished, err := s.store.Unpublished(ctx) // before the others: what is published in between is listed there
	if err != nil {
		s.log.Warn("tasks without a model could not be listed", "err", err)
		return
	}
	versions, err := s.store.ActiveVersions(ctx)
	if err != nil {
		s.log.Warn("models could not be listed", "err", err)
		return
	}
	young := make(map[sizing.TaskKey]bool, len(unpublished))
	for _, key := range unpublished {
		young[key] = true
		s.tasks.list(key, 0)
	}
	var changed []sizing.TaskKey
	for key, version := range versions {
		if t := s.tasks.list(key, version); t.version() != version {
			changed = append(changed, key)
		}
	}
	if err := s.readPolicies(ctx); err != nil {
		s.log.Warn("policies could not be listed", "err", err)
		return
	}
	for _, key := range s.tasks.expired() {
		if err := s.readPool(ctx, key, s.tasks.pool(key)); err != nil {
			s.log.Warn("what the tasks of a DAG learned together could not be read", "dag", key.DAG, "err", err)
		}
	}
	for _, key := range changed {
		s.catchUp(ctx, key)
	}
	for _, key := range s.tasks.keys() {
		t := s.tasks.find(key)
		if _, active := versions[key]; active || t == nil {
			continue
		}
		if t.latent.Load() == nil || !young[key] {
			s.catchUp(ctx, key) // deleted, renamed, or published since we listed
		}
	}
	s.loaded.Store(true)
	s.news.read(began)
}

// readPolicies takes over all policies as they are now.
func (s *Service) readPolicies(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	policies, err := s.store.Policies(ctx)
	for key, policy := range policies {
		s.tasks.get(key).setPolicy(policy)
	}
	return err
}

// catchUp is reload where nobody waits for the outcome.
func (s *Service) catchUp(ctx context.Context, key sizing.TaskKey) {
	if err := s.reload(ctx, key); err != nil && ctx.Err() == nil {
		s.log.Warn("a task could not be read; the last good model answers", "task", key.String(), "err", err)
	}
}

// retrainIn is when a task is due whose stored model cannot be opened.
const retrainIn = time.Minute

// replace makes a task due whose active model cannot be opened, since only a training
// from scratch helps it, and returns why it cannot be.
func (s *Service) replace(ctx context.Context, key sizing.TaskKey, broken error) error {
	if err := s.store.MarkDue(ctx, key, s.cfg.Now().Add(retrainIn)); err != nil {
		return errors.Join(broken, err)
	}
	return broken
}

// reload reads a task's policy and active model, lets the model learn what arrived
// since it was trained, and swaps it in. A model that cannot be opened leaves the
// last good one answering; a task that is gone is forgotten.
func (s *Service) reload(ctx context.Context, key sizing.TaskKey) error {
	return s.readTask(ctx, key, false)
}

// readTask is reload; anew: also where the active model answers already, for what it
// learned here since has changed.
func (s *Service) readTask(ctx context.Context, key sizing.TaskKey, anew bool) (err error) {
	defer func() { // one task must not end the process that answers for all
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked, please report this: %v\n%s", r, debug.Stack())
		}
	}()
	t, err := s.readPolicy(ctx, key)
	if err != nil {
		return err
	}
	// One at a time: what was read last must also be what is put in place last. Other
	// tasks need not wait for what this one has to learn.
	t.loading.Lock()
	defer t.loading.Unlock()
	stored, err := s.store.ActiveModel(ctx, key)
	if err != nil && !isKind(err, sizing.NotFound) {
		return err
	}
	model := untaught // of a young task: all of its rows are its tail
	var share *fitting.Pool
	if err == nil {
		if !anew && t.answersBy(&stored) {
			return nil
		}
		if model, err = fitting.Open(stored.Blob); err != nil {
			return s.replace(ctx, key, err)
		}
		published := model.Pool()
		share = &published
	}
	tail, err := s.store.Since(ctx, key, stored.LastSeq, tailAtMost)
	if isKind(err, sizing.NotFound) {
		s.tasks.drop(key)
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.readPool(ctx, key, t.pool); err != nil {
		return err
	}
	for i := range tail.Rows {
		model = taught(model, fitting.NewTrainingRow(&tail.Schema, &tail.Rows[i]))
	}
	heard := t.loaded // written under t.loading only
	t.pool.reading.Lock()
	t.swap(model, tail.LastSeq, refOf(&stored), share)
	t.pool.reading.Unlock()
	return s.endElsewhere(ctx, key, t, heard)
}

// readPolicy takes over the policy of a task.
func (s *Service) readPolicy(ctx context.Context, key sizing.TaskKey) (*task, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	policy, err := s.store.Policy(ctx, key)
	if err != nil {
		return nil, err
	}
	t := s.tasks.get(key)
	t.setPolicy(policy)
	return t, nil
}

// endElsewhere forgets the tries that were asked about here and reported to another
// replica, which a new model is the occasion to hear of: those after row seq. Without
// it they would be remembered until they were too many, and count as open.
func (s *Service) endElsewhere(ctx context.Context, key sizing.TaskKey, t *task, seq int64) error {
	if seq == 0 {
		return s.restore(ctx, t, key) // the first model here
	}
	heard, err := s.store.Since(ctx, key, seq, tailAtMost)
	if err != nil {
		return err
	}
	for i := range heard.Rows {
		r := &heard.Rows[i]
		try := sizing.TryKey{TaskKey: key, RunID: r.RunID, MapIndex: r.MapIndex, Number: r.Try}
		_, asked := s.tries.End(&try)
		t.open.End(&try, r.Outcome)
		if asked && r.Outcome == sizing.Unschedulable {
			t.open.AddUnschedulable(r.Allocated.Memory, r.At)
		}
	}
	return nil
}

// refOf is nil where nothing was published yet.
func refOf(m *store.Model) *sizing.ModelRef {
	if m.Version == 0 {
		return nil
	}
	return &sizing.ModelRef{Version: m.Version, Family: m.Family, Observations: m.Observations, TrainedAt: m.TrainedAt}
}

// version is the one that answers, or would if it were asked.
func (t *task) version() int {
	if l := t.latent.Load(); l != nil {
		return int(l.version.Load())
	}
	if ref := t.ref.Load(); ref != nil {
		return ref.Version
	}
	return 0
}

// answersBy reports whether m is in place. A task that was deleted and made anew
// counts its versions anew, too.
func (t *task) answersBy(m *store.Model) bool {
	ref := t.ref.Load()
	return ref != nil && ref.Version == m.Version && ref.TrainedAt.Equal(m.TrainedAt)
}

func (t *task) setPolicy(p sizing.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.policy = p
}

// swap puts a loaded model in place, which knows every row up to seq, and the share that
// it was published with; nil: it is not published. What was told
// while it was being loaded is learned again on top of it, so that nothing is
// forgotten until the next training.
func (t *task) swap(model *fitting.Model, seq int64, ref *sizing.ModelRef, share *fitting.Pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return // deleted while it was read
	}
	t.pool.set(t.name, share)
	newer := t.recent[:0]
	for _, told := range t.recent {
		if told.Seq > seq {
			newer = append(newer, told)
			model = taught(model, told)
		}
	}
	clear(t.recent[len(newer):])
	t.recent = newer
	t.model, t.loaded = model, seq
	t.ref.Store(ref)
	t.latent.Store(nil)
	t.followPool()
}

// learn tells the model one ended try, once: a model that was loaded between the
// commit of a row and this call knows it already, and one that is not open yet learns
// it then.
func (t *task) learn(told fitting.TrainingRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone || told.Seq <= t.loaded && !told.Amends {
		return
	}
	if len(t.recent) == tailAtMost {
		t.recent = t.recent[tailAtMost/2:]
	}
	t.recent = append(t.recent, told)
	if t.latent.Load() != nil {
		return
	}
	t.model = taught(t.model, told)
	t.followPool()
}

// untaught is the model of all tasks that nothing was told of, and only read: one of its
// own takes 24 kB, and a service may know ten thousand tasks by name.
var untaught = fitting.New()

// taught is m, or a model of its own in place of untaught, that has learned a try.
func taught(m *fitting.Model, told fitting.TrainingRow) *fitting.Model {
	if m == untaught {
		m = fitting.New()
	}
	m.Learn(told)
	return m
}
