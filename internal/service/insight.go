package service

import (
	"context"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/insight/groups"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// groupsTTL is short compared with the days in which groups change.
const groupsTTL = 15 * time.Second

type taskGroups struct {
	mu      sync.Mutex
	groups  groups.Groups
	expires time.Time
}

func (s *Service) groups(ctx context.Context) groups.Groups {
	s.taskGroups.mu.Lock()
	defer s.taskGroups.mu.Unlock()
	now := s.cfg.Now()
	if now.Before(s.taskGroups.expires) {
		return s.taskGroups.groups
	}
	usage, err := s.store.TaskUsage(ctx, "")
	if err != nil {
		s.log.WarnContext(ctx, "failed to group tasks by usage; the previous groups stay in use", "err", err)
		return s.taskGroups.groups
	}
	s.taskGroups.groups, s.taskGroups.expires = groups.Cluster(usage), now.Add(groupsTTL)
	return s.taskGroups.groups
}

// SavingsSums adds up the savings ledger over the tasks and days of a filter, one sum per value of the key `by`. It first
// stores the queued receipts, which may contain the first static request of a task.
func (s *Service) SavingsSums(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) ([]store.SavingsSum, error) {
	s.outbox.Flush(ctx)
	return s.store.SavingsSums(ctx, f, by)
}

// tasksPerTransaction is small because reports of these tasks wait some milliseconds for the locks of the transaction.
const tasksPerTransaction = 10

// SumSavings updates the monthly sums of the savings ledger with the days before today (UTC). Monthly sums make a sum over
// many days faster. A task that a report is changing now waits for the next call.
func (s *Service) SumSavings(ctx context.Context) error {
	today := s.cfg.Now().UTC().Truncate(24 * time.Hour)
	for {
		tasks, err := s.store.SumMonths(ctx, today, tasksPerTransaction)
		if err != nil || tasks == 0 {
			return err
		}
	}
}

// Baselines lists the static requests against which savings are counted.
func (s *Service) Baselines(ctx context.Context, f store.SavingsFilter) ([]store.Baseline, error) {
	return s.store.Baselines(ctx, f)
}

// PeakSample returns the peaks and durations of the runs in a uniform sample of at most `limit` tries of a task.
func (s *Service) PeakSample(ctx context.Context, task sizing.TaskKey, limit int) ([]store.PeakRow, error) {
	return s.store.PeakSample(ctx, task, limit)
}

// Realised compares the promised risks of a task's first tries with their outcomes; see store.Receipts.Realised.
func (s *Service) Realised(ctx context.Context, task sizing.TaskKey, limit int) (sizing.RealisedRisk, error) {
	return s.store.Realised(ctx, task, limit)
}
