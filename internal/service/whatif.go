package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const maxTasksOfDAG = 200

// Histories reads the histories, of at most `rows` rows each, and the policies of a task or, if key.Task is empty, of at most
// maxTasksOfDAG tasks of its DAG. A row without a static request gets the request of its time (store.Baseline.RequestAt).
// Histories returns NotFound if there is no such task.
func (s *Service) Histories(ctx context.Context, key sizing.TaskKey, rows int) ([]sizing.History, map[sizing.TaskKey]sizing.Policy, error) {
	keys, err := s.TasksOf(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	policies := map[sizing.TaskKey]sizing.Policy{}
	var histories []sizing.History
	for _, task := range keys {
		h, err := s.store.History(ctx, task, store.HistoryLimits{Total: rows})
		if err != nil {
			return nil, nil, err
		}
		policy, err := s.store.Policy(ctx, task)
		if err != nil {
			return nil, nil, err
		}
		histories, policies[task] = append(histories, h), policy
	}
	return histories, policies, s.fillRequests(ctx, key, histories)
}

func (s *Service) fillRequests(ctx context.Context, key sizing.TaskKey, histories []sizing.History) error {
	baselines, err := s.store.Baselines(ctx, store.SavingsFilter{Scopes: []store.Scope{{}}, Namespace: key.Namespace, DAG: key.DAG, Task: key.Task})
	if err != nil {
		return err
	}
	byTask := map[sizing.TaskKey]*store.Baseline{}
	for i := range baselines {
		byTask[baselines[i].Task] = &baselines[i]
	}
	for i := range histories {
		b, known := byTask[histories[i].Task]
		if !known {
			continue
		}
		for j := range histories[i].Rows {
			r := &histories[i].Rows[j]
			request := b.RequestAt(r.At)
			r.Requested.Memory, r.Requested.CPU = cmp.Or(r.Requested.Memory, request.Memory), cmp.Or(r.Requested.CPU, request.CPU)
		}
	}
	return nil
}

// TasksOf returns the key of a task, or the keys of at most maxTasksOfDAG tasks of its DAG if key.Task is empty. It
// returns NotFound if there is no such task.
func (s *Service) TasksOf(ctx context.Context, key sizing.TaskKey) ([]sizing.TaskKey, error) {
	if key.Task == "" {
		return s.tasksOfDAG(ctx, key)
	}
	_, err := s.store.Task(ctx, key)
	return []sizing.TaskKey{key}, err
}

func (s *Service) tasksOfDAG(ctx context.Context, key sizing.TaskKey) (keys []sizing.TaskKey, err error) {
	after := sizing.TaskKey{Namespace: key.Namespace, DAG: key.DAG}
	for len(keys) < maxTasksOfDAG {
		page, err := s.store.Tasks(ctx, key.Namespace, after, 100)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if after = page[i].Task; after.DAG == key.DAG {
				keys = append(keys, after)
			}
		}
		if len(page) == 0 || after.DAG != key.DAG {
			break
		}
	}
	if len(keys) == 0 {
		return nil, sizing.Errorf(sizing.NotFound, "what if: no task of DAG %q is known; list the known tasks with GET /tasks", key.DAG)
	}
	return keys, nil
}

const maxListedNames = 30

// CheckFeatureNames returns an error that lists the names of `set` that are not features of the task, such
// as misspelled names. `prefix` precedes the names in the fields of the error.
func (s *Service) CheckFeatureNames(ctx context.Context, key sizing.TaskKey, prefix string, set sizing.Features) error {
	if len(set) == 0 {
		return nil
	}
	recent, err := s.store.RecentTries(ctx, key, 1) // its schema has the features of all runs
	if err != nil {
		return err
	}
	var known []string
	for i := range recent.Schema.Fields {
		known = append(known, recent.Schema.Fields[i].Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	list := "the task has no features"
	switch n := len(known); {
	case n > maxListedNames:
		list = fmt.Sprintf("known features: %s and %d more", strings.Join(known[:maxListedNames], ", "), n-maxListedNames)
	case n > 0:
		list = "known features: " + strings.Join(known, ", ")
	}
	var bad []sizing.FieldError
	for _, name := range set.Names() {
		if !slices.Contains(known, name) {
			bad = append(bad, sizing.FieldError{Field: prefix + name, Detail: "is not a feature of this task; " + list})
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &sizing.Error{Kind: sizing.Invalid, Detail: bad[0].Field + " " + bad[0].Detail, Fields: bad}
}

// GrantsWith returns the grants that the newest tries of a task would get now: `before` with their own features, and
// `after` with the features of `set` in place of their own features of the same names.
func (s *Service) GrantsWith(ctx context.Context, key sizing.TaskKey, set sizing.Features) (before, after []sizing.Bytes, err error) {
	recent, err := s.store.RecentTries(ctx, key, comparedTries)
	if err != nil {
		return nil, nil, err
	}
	task := s.models.Get(ctx, key)
	task.RLockUpdated()
	defer task.RUnlock()
	alloc := s.allocatorOf(task, key.Namespace, s.cfg.Now())
	for i := range recent.Rows {
		row := &recent.Rows[i]
		ask := sizing.Ask{Try: sizing.TryKey{TaskKey: key, MapIndex: sizing.NoMap, Number: 1}, Features: recent.Schema.Features(row.Features), Requested: row.Requested}
		before = append(before, alloc.model.Size(alloc.question(&ask, 0, 0)).Limit)
		changed := sizing.Features{}
		for name, v := range ask.Features {
			changed[name] = v
		}
		for name, v := range set {
			changed[name] = v
		}
		ask.Features = changed
		after = append(after, alloc.model.Size(alloc.question(&ask, 0, 0)).Limit)
	}
	return before, after, nil
}
