package service

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// tailAtMost bounds the rows that are learned on top of a loaded model; older
// ones wait for the next training.
const tailAtMost = 5_000

// follow keeps the models and policies in memory equal to the stored ones: by
// notification, again whole after every reconnect, and by a slow poll.
func (s *Service) follow(ctx context.Context) {
	go s.poll(ctx)
	for ctx.Err() == nil {
		err := s.store.Changes(ctx, func() { s.resync(ctx) }, func(key sizing.TaskKey) {
			if err := s.reload(ctx, key); err != nil {
				s.log.Warn("a changed task could not be read", "task", key.String(), "err", err)
			}
		})
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

// resync reads the active versions and policies, and loads what differs.
func (s *Service) resync(ctx context.Context) {
	versions, err := s.store.ActiveVersions(ctx)
	if err != nil {
		s.log.Warn("models could not be listed", "err", err)
		return
	}
	policies, err := s.store.Policies(ctx)
	if err != nil {
		s.log.Warn("policies could not be listed", "err", err)
		return
	}
	for key, policy := range policies {
		t := s.tasks.get(key)
		t.mu.Lock()
		t.policy = policy
		t.mu.Unlock()
	}
	for key, version := range versions {
		if t := s.tasks.find(key); t != nil && t.version() == version {
			continue
		}
		if err := s.reload(ctx, key); err != nil {
			s.log.Warn("a model could not be loaded; the last good one answers", "task", key.String(), "version", version, "err", err)
		}
	}
	for _, key := range s.tasks.keys() {
		if _, active := versions[key]; !active && s.tasks.get(key).version() > 0 {
			s.tasks.drop(key) // deleted or renamed
		}
	}
	s.loaded.Store(true)
}

func (t *task) version() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ref.Version
}

// reload reads a task's active model and policy, lets the model learn what
// arrived since it was trained, and swaps it in. A model that cannot be opened
// leaves the last good one answering.
func (s *Service) reload(ctx context.Context, key sizing.TaskKey) error {
	policy, err := s.store.Policy(ctx, key)
	if isKind(err, sizing.NotFound) {
		s.tasks.drop(key)
		return nil
	}
	if err != nil {
		return err
	}
	t := s.tasks.get(key)
	t.mu.Lock()
	t.policy = policy
	t.mu.Unlock()
	stored, err := s.store.ActiveModel(ctx, key)
	if isKind(err, sizing.NotFound) {
		return nil // young: it learns in memory, and soon by training
	}
	if err != nil {
		return err
	}
	model, err := fitting.Open(stored.Blob)
	if err != nil {
		return err
	}
	tail, err := s.store.Since(ctx, key, stored.LastSeq, tailAtMost)
	if err != nil {
		return err
	}
	lastSeq := stored.LastSeq
	for i := range tail.Rows {
		row := &tail.Rows[i]
		if row.Seq > lastSeq {
			model.Learn(fitting.ToldOf(&tail.Schema, row))
			lastSeq = row.Seq
		}
	}
	t.swap(model, lastSeq, sizing.ModelRef{
		Version: stored.Version, Family: stored.Family, Observations: stored.Observations, TrainedAt: stored.TrainedAt,
	})
	return nil
}

// swap puts a loaded model in place. What was told while it was being loaded is
// learned again on top of it, so that nothing is forgotten until the next training.
func (t *task) swap(model *fitting.Model, lastSeq int64, ref sizing.ModelRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.model.Pool()
	newer := t.recent[:0]
	for _, told := range t.recent {
		if told.Seq > lastSeq {
			newer = append(newer, told)
			model.Learn(told)
			lastSeq = max(lastSeq, told.Seq)
		}
	}
	clear(t.recent[len(newer):])
	t.recent = newer
	t.model, t.lastSeq, t.ref = model, lastSeq, ref
	together := t.pool.replace(before, model.Pool())
	t.model.Heed(&together)
}

// learn tells the model one ended try, once.
func (t *task) learn(told fitting.Told) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.recent) == tailAtMost {
		t.recent = t.recent[tailAtMost/2:]
	}
	t.recent = append(t.recent, told)
	before := t.model.Pool()
	t.model.Learn(told)
	t.lastSeq = max(t.lastSeq, told.Seq)
	together := t.pool.replace(before, t.model.Pool())
	t.model.Heed(&together)
}
