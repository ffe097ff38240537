package service

import (
	"context"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskplan"
)

// TaskPlanner computes plans, which are limits that grow during a run, from the learned runs of a task.
type TaskPlanner struct {
	*taskplan.Planner
	Version   int // of the stored planner, from 1 on
	LearnedAt time.Time
}

// maxPlanners bounds the planners in memory. A planner has at most 0.7 MB.
const maxPlanners = 256

// plannerRetry is the time after a failed read until the next one. A shorter Config.PollInterval replaces it.
const plannerRetry = 2 * time.Second

type planners struct {
	mu           sync.Mutex
	recentlyUsed []*plannerEntry // the least recently used first
}

// plannerEntry is the planner of one task, or the fact that there is none.
type plannerEntry struct {
	task         sizing.TaskKey
	planner      *TaskPlanner // nil if nothing was learned
	poolVersion  int          // of the store.PlanPool that planner uses: the outcomes of the plans of all tasks of the namespace
	checkedAt    time.Time    // of the last read of the store; after a failed read an earlier time, so that the next read follows plannerRetry later
	isRefreshing bool         // whether a caller is reading the store
}

// find returns a copy of the entry of a task. If mustRefresh is true, the caller must read the store and call update.
func (p *planners) find(task sizing.TaskKey, now time.Time, maxAge time.Duration) (found plannerEntry, mustRefresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var entry *plannerEntry
	for i, e := range p.recentlyUsed {
		if e.task == task {
			entry = e
			copy(p.recentlyUsed[i:], p.recentlyUsed[i+1:])
			p.recentlyUsed[len(p.recentlyUsed)-1] = e
			break
		}
	}
	if entry == nil {
		entry = &plannerEntry{task: task}
		if len(p.recentlyUsed) >= maxPlanners {
			p.recentlyUsed = append(p.recentlyUsed[:0], p.recentlyUsed[1:]...)
		}
		p.recentlyUsed = append(p.recentlyUsed, entry)
	}
	if !entry.isRefreshing && now.Sub(entry.checkedAt) >= maxAge {
		entry.isRefreshing, mustRefresh = true, true
	}
	return *entry, mustRefresh
}

func (p *planners) update(next plannerEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.recentlyUsed {
		if e.task == next.task {
			*e = next
			e.isRefreshing = false
			return
		}
	}
}

// planner returns the planner of a task, or nil if nothing was learned about the runs of the task. The first
// call for a task, and one call per Config.PollInterval, compare the planner with the store, and wait for the
// store for at most Config.ReadTimeout. Calls during the wait, or after a failed read, get the planner in memory.
func (s *Service) planner(ctx context.Context, task sizing.TaskKey) *TaskPlanner {
	now := s.cfg.Now()
	entry, mustRefresh := s.planners.find(task, now, s.cfg.PollInterval)
	if !mustRefresh {
		return entry.planner
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	next, err := s.readPlanner(ctx, entry)
	next.checkedAt = now
	if err != nil {
		s.log.WarnContext(ctx, "failed to read a planner; the planner in memory stays in use", "task", task.String(), "err", err)
		next = entry
		next.checkedAt = now.Add(min(0, plannerRetry-s.cfg.PollInterval))
	}
	s.planners.update(next)
	return next.planner
}

// readPlanner returns `entry` with the newest stored planner and the newest store.PlanPool of the namespace. The planner is nil
// if none is stored, or if its format is unknown. The store returns the contents of a planner only if its version changed.
func (s *Service) readPlanner(ctx context.Context, entry plannerEntry) (plannerEntry, error) {
	known := 0
	if entry.planner != nil {
		known = entry.planner.Version
	}
	stored, err := s.store.TaskPlan(ctx, entry.task, known)
	if sizing.KindOf(err) == sizing.NotFound || err == nil && stored.Version != known && stored.Format != taskplan.Format {
		entry.planner = nil
		return entry, nil
	}
	if err != nil {
		return entry, err
	}
	pool, err := s.store.PlanPool(ctx, entry.task.Namespace, 0)
	if err != nil || stored.Version == known && pool.Version == entry.poolVersion {
		return entry, err
	}
	shared, err := taskplan.DecodePool(pool.Format, pool.Content)
	if err != nil {
		return entry, err
	}
	var state *taskplan.State
	if stored.Version == known {
		state = entry.planner.State
	} else if state, err = taskplan.Decode(stored.Format, stored.Content); err != nil {
		return entry, err
	}
	entry.planner = &TaskPlanner{taskplan.NewPlanner(state, shared), stored.Version, stored.LearnedAt}
	entry.poolVersion = pool.Version
	return entry, nil
}
