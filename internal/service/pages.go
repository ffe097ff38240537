package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// RecentTries returns the newest tries of a task, at most `limit`, oldest first.
func (s *Service) RecentTries(ctx context.Context, task sizing.TaskKey, limit int) (sizing.History, error) {
	return s.store.RecentTries(ctx, task, limit)
}

// TriesOfRun returns the ended tries of one (run, map index), oldest first; at most the newest store.MaxTriesOfRun.
func (s *Service) TriesOfRun(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) (sizing.History, error) {
	return s.store.TriesOfRun(ctx, task, runID, mapIndex)
}

// ReceiptOfTry returns the stored receipt in force when a try ran, or NotFound if there is none; see store.Receipts.
func (s *Service) ReceiptOfTry(ctx context.Context, try sizing.TryKey) (sizing.Receipt, error) {
	return s.store.ReceiptOfTry(ctx, try)
}

// GrantedTries returns the newest answers of the last year to tries of a task, at most `limit`, oldest first; see
// store.Receipts.GrantedTries.
func (s *Service) GrantedTries(ctx context.Context, task sizing.TaskKey, limit int) ([]store.GrantedTry, error) {
	return s.store.GrantedTries(ctx, task, s.cfg.Now().AddDate(-1, 0, 0), limit)
}

// Promises returns the promised risks of a task's ended first tries with their outcomes; see store.Receipts.Promises.
func (s *Service) Promises(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.Promise, error) {
	return s.store.Promises(ctx, task, limit)
}

// TryFactors are the factors of the grant that a past try would get now.
type TryFactors struct {
	Features sizing.Features
	Terms    []taskmodel.Term
}

// RecentFactors explains the grants that at most `limit` recent tries of a task, spread evenly over the newest comparedTries,
// would get now.
func (s *Service) RecentFactors(ctx context.Context, key sizing.TaskKey, limit int) ([]TryFactors, error) {
	recent, err := s.store.RecentTries(ctx, key, comparedTries)
	if err != nil {
		return nil, err
	}
	task := s.models.Get(ctx, key)
	step := max(1, (len(recent.Rows)+limit-1)/max(limit, 1))
	var all []TryFactors
	known := map[string][]taskmodel.Term{} // by features and request, which many runs share
	for tries := range slices.Chunk(recent.Rows, step) {
		row := &tries[len(tries)-1]
		ask := sizing.Ask{Try: sizing.TryKey{TaskKey: key, MapIndex: sizing.NoMap, Number: 1}, Features: recent.Schema.Features(row.Features), Requested: row.Requested}
		input := fmt.Sprintf("%#v %#v", ask.Features, ask.Requested)
		terms, isKnown := known[input]
		if !isKnown {
			terms = s.factorsOf(task, &ask)
			known[input] = terms
		}
		all = append(all, TryFactors{Features: ask.Features, Terms: terms})
	}
	return all, nil
}

// factorsOf returns the factors of the present grant for an ask. It locks the task for one explanation, so that a prediction
// waits for at most one.
func (s *Service) factorsOf(task *modelcache.Task, ask *sizing.Ask) []taskmodel.Term {
	task.RLockUpdated()
	defer task.RUnlock()
	alloc := s.allocatorOf(task, ask.Try.Namespace, s.cfg.Now())
	return alloc.model.Explain(alloc.question(ask, 0, 0)).Terms
}
