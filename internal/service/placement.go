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

// placements caches the effects of node types and cluster load on run times.
type placements struct {
	fitting     sync.Mutex // held while effects are fitted, so that requests do not fit at the same time
	mu          sync.Mutex // protects byNamespace
	byNamespace map[string]fittedEffects
}

type fittedEffects struct {
	*placement.Effects
	at time.Time // when the runs were read
}

const (
	placementRowsPerTask = 200              // largest number of runs of a task from which effects are fitted
	placementRows        = 20_000           // largest number of runs of all tasks of a namespace together
	placementTTL         = time.Minute      // age from which on effects are fitted again in the background
	maxPlacementAge      = 10 * time.Minute // age from which on a request waits for a new fit
	maxPlacementFit      = 2 * time.Minute  // timeout of a fit in the background
	placementNamespaces  = 50               // largest number of namespaces with effects in memory; see placements.set
)

// RunTimeWhatIf holds the run times that the model expects before and after a change.
type RunTimeWhatIf struct {
	placement.Expectation
	NodeTypes []string // the node types of the namespace whose effects are known
}

// RunTimeWhatIf compares the run times of tries like the newest runs of a task before and after a change. It returns NotFound
// if the model has too few run times, Unavailable if the model is not loaded yet, and Invalid if the change is not valid, names
// an unknown feature, or needs the effect of a node type or of the cluster load, and this effect is unknown.
func (s *Service) RunTimeWhatIf(ctx context.Context, task sizing.TaskKey, change *placement.Change) (*RunTimeWhatIf, error) {
	if bad := change.Validate(); len(bad) > 0 {
		return nil, invalid(bad)
	}
	effects, err := s.effectsOf(ctx, task.Namespace)
	if err != nil {
		return nil, fmt.Errorf("what-if of the run times of %s: %w", task, err)
	}
	if bad := unknownPlacement(effects, change); len(bad) > 0 {
		return nil, invalid(bad)
	}
	rows, err := s.store.RecentContext(ctx, task, runTimeRows)
	if err != nil {
		return nil, err
	}
	cached := s.models.Get(ctx, task)
	expected, ok, isDecoded := readExpectation(cached, effects, runsWithPlacement(rows), change)
	switch {
	case ok:
		if err := s.CheckFeatureNames(ctx, task, "features.", change.Set); err != nil {
			return nil, err
		}
		return &RunTimeWhatIf{expected, effects.NodeTypes()}, nil
	case !isDecoded:
		return nil, sizing.Errorf(sizing.Unavailable, "run times of %s: its model is not loaded yet; repeat the request", task)
	}
	return nil, sizing.Errorf(sizing.NotFound, "run times of %s: the model has too few runs with a duration and a known memory peak; report duration_seconds and memory_max_bytes or memory_sampled_bytes for at least two successes", task)
}

// readExpectation predicts the run times before and after a change. It holds the lock of the task only for the predictions.
func readExpectation(task *modelcache.Task, effects *placement.Effects, runs []placement.Run, change *placement.Change) (x placement.Expectation, ok, isDecoded bool) {
	task.RLockUpdated()
	defer task.RUnlock()
	x, ok = effects.Expect(task.Model(), runs, change)
	return x, ok, task.IsDecoded()
}

func unknownPlacement(e *placement.Effects, c *placement.Change) (bad []sizing.FieldError) {
	known := map[string]bool{"": true}
	for _, node := range e.NodeTypes() {
		known[node] = true
	}
	check := func(field, node string) {
		if !known[node] {
			bad = append(bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf("%.60q has no known effect on the runs of the namespace; known: %s", node, namesOr(e.NodeTypes(), "none"))})
		}
	}
	check("node_type", c.To.NodeType)
	check("from_node_type", c.From)
	if c.To.ClusterLoad != nil && !e.HasLoad() {
		bad = append(bad, sizing.FieldError{Field: "cluster_load", Detail: "has no known effect: no recent success of the namespace was reported with a cluster_load and a duration"})
	}
	return bad
}

func namesOr(names []string, fallback string) string {
	if len(names) == 0 {
		return fallback
	}
	return strings.Join(names, ", ")
}

// NodeTypes returns the node types of a namespace whose effects are known, without waiting for a fit. If the effects are
// missing or old, NodeTypes starts a fit in the background.
func (s *Service) NodeTypes(ctx context.Context, namespace string) []string {
	s.refitOld(ctx, namespace)
	if known, ok := s.placements.find(namespace); ok {
		return known.NodeTypes()
	}
	return nil
}

// effectsOf returns the effects of the node types and the cluster load in a namespace. It waits for a fit only if no effects
// are known, or if they are older than maxPlacementAge.
func (s *Service) effectsOf(ctx context.Context, namespace string) (*placement.Effects, error) {
	if known, ok := s.placements.find(namespace); ok && s.cfg.Now().Sub(known.at) < maxPlacementAge {
		s.refitOld(ctx, namespace)
		return known.Effects, nil
	}
	p := &s.placements
	p.fitting.Lock()
	defer p.fitting.Unlock()
	if known, ok := p.find(namespace); ok && s.cfg.Now().Sub(known.at) < maxPlacementAge {
		return known.Effects, nil // another request has fitted them
	}
	return s.fitEffects(ctx, namespace)
}

// refitOld fits missing or old effects in the background. It does nothing while a fit of any namespace runs.
func (s *Service) refitOld(ctx context.Context, namespace string) {
	p := &s.placements
	if known, ok := p.find(namespace); ok && s.cfg.Now().Sub(known.at) < placementTTL || !p.fitting.TryLock() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxPlacementFit)
	go func() {
		defer cancel()
		defer p.fitting.Unlock()
		if _, err := s.fitEffects(ctx, namespace); err != nil {
			s.log.DebugContext(ctx, "failed to fit the effects of node types; the next request repeats the fit", "namespace", namespace, "err", err)
		}
	}()
}

// fitEffects fits the effects in a namespace and stores them in memory. The caller holds placements.fitting.
func (s *Service) fitEffects(ctx context.Context, namespace string) (*placement.Effects, error) {
	now := s.cfg.Now()
	rows, err := s.store.ContextRows(ctx, namespace, placementRowsPerTask, placementRows)
	if err != nil {
		return nil, err
	}
	effects := placement.Fit(runsWithPlacement(rows))
	s.placements.set(namespace, fittedEffects{effects, now})
	return effects, nil
}

func (p *placements) find(namespace string) (fittedEffects, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.byNamespace[namespace]
	return known, ok
}

// set stores the effects in a namespace. If the namespace is new and the map is full, it first removes the effects in all
// namespaces.
func (p *placements) set(namespace string, effects fittedEffects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, isKnown := p.byNamespace[namespace]
	if p.byNamespace == nil || !isKnown && len(p.byNamespace) >= placementNamespaces {
		p.byNamespace = map[string]fittedEffects{}
	}
	p.byNamespace[namespace] = effects
}

func runsWithPlacement(rows []sizing.ContextRow) []placement.Run {
	var runs []placement.Run
	for i := range rows {
		if r := &rows[i]; r.Outcome == sizing.Success && r.Duration > 0 {
			runs = append(runs, placement.Run{Task: r.Task, Features: r.Features, Placement: r.Placement, Seconds: r.Duration.Seconds()})
		}
	}
	return runs
}
