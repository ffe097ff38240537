package service

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/insight/placement"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
)

// placements holds the effects of node types and load of the namespaces that were asked about last.
type placements struct {
	mu          sync.Mutex // held while effects are fitted, so that requests do not fit at the same time
	byNamespace map[string]fittedEffects
}

type fittedEffects struct {
	*placement.Effects
	at time.Time
}

// Bounds of the runs from which effects are fitted, and the time for which they are used.
const (
	placementRowsPerTask = 200
	placementRows        = 20_000
	placementTTL         = time.Minute
	placementNamespaces  = 50
)

// RunTimeWhatIf is what the model expects of the run times of a task after a change.
type RunTimeWhatIf struct {
	placement.Expectation
	NodeTypes []string // that the namespace knows
}

// RunTimeWhatIf compares the run times of tries like the newest runs of a task before and after a
// change. It returns NotFound if the task has no run time yet, and Invalid if the namespace has no run
// on a node type of the change, or none with a load.
func (s *Service) RunTimeWhatIf(ctx context.Context, task sizing.TaskKey, change *placement.Change) (*RunTimeWhatIf, error) {
	if bad := change.Validate(); len(bad) > 0 {
		return nil, invalid(bad)
	}
	effects, err := s.effectsOf(ctx, task.Namespace)
	if err != nil {
		return nil, fmt.Errorf("what if the run times of %s: %w", task, err)
	}
	if bad := unknownPlacement(effects, change); len(bad) > 0 {
		return nil, invalid(bad)
	}
	rows, err := s.store.RecentContext(ctx, task, runTimeRows)
	if err != nil {
		return nil, err
	}
	cached := s.models.Get(ctx, task)
	expected, ok, isDecoded := readExpectation(cached, effects, placedRunsOf(rows), change)
	switch {
	case ok:
		return &RunTimeWhatIf{expected, effects.NodeTypes()}, nil
	case !isDecoded:
		return nil, sizing.Errorf(sizing.Unavailable, "run times of %s: its model is not loaded yet; repeat the request", task)
	}
	return nil, sizing.Errorf(sizing.NotFound, "run times of %s: no prediction has been followed by a run with a duration yet; report duration_seconds with two successes", task)
}

// readExpectation holds the lock of the task for the predictions.
func readExpectation(task *modelcache.Task, effects *placement.Effects, runs []placement.Run, change *placement.Change) (x placement.Expectation, ok, isDecoded bool) {
	task.RLockUpdated()
	defer task.RUnlock()
	x, ok = effects.Expect(task.Model(), runs, change)
	return x, ok, task.IsDecoded()
}

// unknownPlacement returns an error for each field of a change whose effect is unknown.
func unknownPlacement(e *placement.Effects, c *placement.Change) (bad []sizing.FieldError) {
	known := map[string]bool{"": true}
	for _, node := range e.NodeTypes() {
		known[node] = true
	}
	check := func(field, node string) {
		if !known[node] {
			bad = append(bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf("%.60q is unknown: no run of the namespace was reported with it; known: %s", node, namesOr(e.NodeTypes(), "none"))})
		}
	}
	check("node_type", c.To.NodeType)
	check("from_node_type", c.From)
	if c.To.ClusterLoad != nil && !e.HasLoad() {
		bad = append(bad, sizing.FieldError{Field: "cluster_load", Detail: "has no known effect: no run of the namespace was reported with a cluster_load"})
	}
	return bad
}

// namesOr joins names, or returns none if there are none.
func namesOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}

// effectsOf fits the effects of a namespace, unless they were fitted less than placementTTL ago.
func (s *Service) effectsOf(ctx context.Context, namespace string) (*placement.Effects, error) {
	p := &s.placements
	p.mu.Lock()
	defer p.mu.Unlock()
	now := s.cfg.Now()
	if known, ok := p.byNamespace[namespace]; ok && now.Sub(known.at) < placementTTL {
		return known.Effects, nil
	}
	rows, err := s.store.ContextRows(ctx, namespace, placementRowsPerTask, placementRows)
	if err != nil {
		return nil, err
	}
	effects := placement.Fit(placedRunsOf(rows))
	if p.byNamespace == nil || len(p.byNamespace) >= placementNamespaces {
		p.byNamespace = map[string]fittedEffects{}
	}
	p.byNamespace[namespace] = fittedEffects{effects, now}
	return effects, nil
}

// placedRunsOf returns the successes with a duration.
func placedRunsOf(rows []sizing.ContextRow) []placement.Run {
	var runs []placement.Run
	for i := range rows {
		if r := &rows[i]; r.Outcome == sizing.Success && r.Duration > 0 {
			runs = append(runs, placement.Run{Task: r.Task, Features: r.Features, Placement: r.Placement, Seconds: r.Duration.Seconds()})
		}
	}
	return runs
}
