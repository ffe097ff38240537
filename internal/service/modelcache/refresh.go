package modelcache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

const (
	// maxTail bounds the stored rows that a model learns when it is loaded. It learns the newest rows, and the next
	// training learns the others. More rows would not help the margins: a residual store also has at most 2,000 rows.
	maxTail = 2_000
	// retrainAfter is the delay of the training of a task whose active model cannot be decoded. With a longer delay the
	// last intact model, or the static request, answers for longer. With a shorter one, trainings repeat sooner if their
	// models cannot be decoded either.
	retrainAfter = time.Minute
)

// Subscribe refreshes tasks on notifications of the store, and resyncs after each connect,
// until ctx ends.
func (c *Cache) Subscribe(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.store.Changes(ctx,
			func() { c.freshness.setSubscribed(true); c.resync(ctx) },
			func(key sizing.TaskKey) { c.applyChange(ctx, key) })
		c.freshness.setSubscribed(false)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn("the subscription to changes ended; reconnecting", "err", err)
		sleep(ctx, time.Second)
	}
}

// resync compares the cache with the stored versions and policies. It refreshes decoded tasks that differ or have no
// active model, and removes tasks that are no longer stored. Of other tasks it only sets the version and the policy.
func (c *Cache) resync(ctx context.Context) {
	begun := time.Now()
	start, err := c.store.ChangedSince(ctx, 0) // read before the lists, so that the next poll lists later changes
	if err != nil {
		c.log.Warn("resync: failed to read the watermark of changes", "err", err)
		return
	}
	unpublished, err := c.store.Unpublished(ctx) // before ActiveVersions, which also lists models that become active in between
	if err != nil {
		c.log.Warn("resync: failed to list tasks without a model", "err", err)
		return
	}
	versions, err := c.store.ActiveVersions(ctx)
	if err != nil {
		c.log.Warn("resync: failed to list models", "err", err)
		return
	}
	hasNoModel := make(map[sizing.TaskKey]bool, len(unpublished))
	for _, key := range unpublished {
		hasNoModel[key] = true
		c.setVersion(key, 0)
	}
	var changed []sizing.TaskKey
	for key, version := range versions {
		if t := c.setVersion(key, version); t.version() != version {
			changed = append(changed, key)
		}
	}
	policies, err := c.loadPolicies(ctx)
	if err != nil {
		c.log.Warn("resync: failed to list policies", "err", err)
		return
	}
	c.reloadPools(ctx)
	c.reloadNamespaces(ctx)
	c.reloadShapes(ctx)
	for _, key := range changed {
		c.RefreshOrLog(ctx, key)
	}
	for _, key := range c.keys() {
		t := c.Find(key)
		if _, isActive := versions[key]; isActive || t == nil {
			continue
		}
		_, hasPolicy := policies[key]
		if t.IsDecoded() || !hasNoModel[key] && !hasPolicy {
			c.RefreshOrLog(ctx, key) // decoded; or deleted, renamed, or with a model that became active since the lists were read
		}
	}
	c.watermark.Store(start.Watermark)
	c.isLoaded.Store(true)
	c.freshness.markSynced(begun)
}

func (c *Cache) loadPolicies(ctx context.Context) (map[sizing.TaskKey]sizing.Policy, error) {
	c.policyMu.Lock()
	defer c.policyMu.Unlock()
	policies, err := c.store.Policies(ctx)
	for key, policy := range policies {
		c.getOrAdd(key).setPolicy(policy)
	}
	return policies, err
}

// RefreshOrLog refreshes a task. It logs an error instead of returning it.
func (c *Cache) RefreshOrLog(ctx context.Context, key sizing.TaskKey) {
	if err := c.Refresh(ctx, key); err != nil && ctx.Err() == nil {
		c.log.Warn("failed to refresh a task; its last intact model remains in use", "task", key.String(), "err", err)
	}
}

// Refresh reads a task's policy and active model, lets the model learn the rows that arrived
// since its training, and installs the model. A model that is in use already stays as it is. If the model cannot
// be decoded, the last intact model remains in use. Refresh removes a task that is no longer stored.
func (c *Cache) Refresh(ctx context.Context, key sizing.TaskKey) error {
	return c.refresh(ctx, key, false)
}

// refresh implements Refresh. If `force` is true, it also reloads an active model that is in use already.
func (c *Cache) refresh(ctx context.Context, key sizing.TaskKey, force bool) (err error) {
	defer func() { // one task must not end the process that answers for all tasks
		if r := recover(); r != nil {
			err = fmt.Errorf("refresh panicked; report this error: %v\n%s", r, debug.Stack())
		}
	}()
	t, err := c.loadPolicy(ctx, key)
	if err != nil {
		return err
	}
	// Only one refresh of a task runs at a time, so that the state that was read last is installed last.
	t.loadMu.Lock()
	defer t.loadMu.Unlock()
	t.beginLoading()
	defer t.endLoading()
	stored, err := c.store.ActiveModel(ctx, key)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return err
	}
	var model *taskmodel.Model // nil without an active model: then the tail begins with the first row
	var share *taskmodel.Pool
	if err == nil {
		if !force && t.uses(&stored) {
			return nil
		}
		if model, err = taskmodel.Open(stored.Blob); err != nil {
			return c.scheduleRetraining(ctx, key, err)
		}
		published := model.Pool()
		share = &published
	}
	tail, err := c.readTail(ctx, key, stored.LastSeq, t.lastSeq > 0)
	if sizing.KindOf(err) == sizing.NotFound {
		c.remove(key)
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.loadPool(ctx, key, t.pool); err != nil {
		return err
	}
	if err := c.loadNamespace(ctx, key.Namespace, time.Time{}); err != nil {
		return err
	}
	for i := range tail.Rows {
		model = c.learnStored(key.String(), model, taskmodel.NewTrainingRow(&tail.Schema, &tail.Rows[i]))
	}
	previousSeq := t.lastSeq // only install writes it, under t.loadMu
	if previousSeq == 0 {    // before install, because no answer may miss the open tries
		if err := c.restoreTries(ctx, t, key); err != nil {
			return err
		}
	}
	t.pool.loadMu.Lock()
	t.install(model, &tail, refOf(&stored), share)
	t.pool.loadMu.Unlock()
	t.usedAt.Store(c.memory.clock.Add(1))
	c.account(t)
	return c.updateTries(ctx, t, key, tail.Rows, stored.LastSeq, previousSeq)
}

// readTail reads the rows of a task after row `seq`, at most maxTail, the newest ones. If the model has been in use, it may
// have answered, and the promises of the rows may be in queued receipts. Then readTail notes the newest stored row,
// stores the queued receipts, and reads only up to the noted row: the receipt of a later row may still be queued. If
// this replica received the later row, Task.learn adds that row.
func (c *Cache) readTail(ctx context.Context, key sizing.TaskKey, seq int64, isInUse bool) (sizing.History, error) {
	last := int64(math.MaxInt64)
	if isInUse {
		newest, err := c.store.NewestSince(ctx, key, seq, last, 1)
		if err != nil {
			return newest, err
		}
		last = newest.LastSeq
		c.cfg.Flush(ctx)
	}
	return c.store.NewestSince(ctx, key, seq, last, maxTail)
}

// applyChange handles a notification of the store. If the model of a known task is not in memory and
// would exceed the memory limit, applyChange reads only the policy and the version: a training of
// many tasks must not evict the models that are in use.
func (c *Cache) applyChange(ctx context.Context, key sizing.TaskKey) {
	t := c.Find(key)
	if t == nil || t.IsDecoded() || !c.memory.isFull() {
		c.RefreshOrLog(ctx, key)
		return
	}
	versions, err := c.store.ModelVersions(ctx, key)
	active := slices.IndexFunc(versions, func(m store.Model) bool { return m.Active })
	if err != nil || active < 0 { // deleted, renamed, or without a model
		c.RefreshOrLog(ctx, key)
		return
	}
	c.setVersion(key, versions[active].Version)
	if _, err := c.loadPolicy(ctx, key); err != nil && ctx.Err() == nil {
		c.log.Warn("failed to refresh a policy; the last policy remains in use", "task", key.String(), "err", err)
	}
}

func (c *Cache) loadPolicy(ctx context.Context, key sizing.TaskKey) (*Task, error) {
	c.policyMu.Lock()
	defer c.policyMu.Unlock()
	policy, err := c.store.Policy(ctx, key)
	if err != nil {
		return nil, err
	}
	t := c.GetOrCreate(key)
	t.setPolicy(policy)
	return t, nil
}

// scheduleRetraining schedules a training after a decoding error, because only a new model helps. It returns the decoding
// error.
func (c *Cache) scheduleRetraining(ctx context.Context, key sizing.TaskKey, decodeErr error) error {
	if err := c.store.MarkDue(ctx, key, c.cfg.Now().Add(retrainAfter)); err != nil {
		return errors.Join(decodeErr, err)
	}
	return decodeErr
}

func refOf(m *store.Model) *sizing.ModelRef {
	if m.Version == 0 {
		return nil
	}
	return &sizing.ModelRef{Version: m.Version, Family: m.Family, Observations: m.Observations, TrainedAt: m.TrainedAt}
}

// Void removes a voided report from a decoded task and reloads the task. The caller first flushes the outbox, because
// Void reads the stored receipts of the task.
func (c *Cache) Void(ctx context.Context, try *sizing.TryKey) {
	t := c.Find(try.TaskKey)
	if t == nil || !t.IsDecoded() {
		return
	}
	t.void(try)
	t.Open.Forget(try)
	err := c.refresh(ctx, try.TaskKey, true)
	if err == nil {
		t.void(try) // the active model may contain the report
		err = c.restoreTries(ctx, t, try.TaskKey)
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("void a report: failed to reload the task; the next training corrects it", "task", try.TaskKey.String(), "err", err)
	}
}
