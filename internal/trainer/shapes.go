package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// maxShapeTasks bounds the tasks of a namespace whose run times are read for its shapes.
const maxShapeTasks = 2000

// shapesDelay is the time from the start of a replica until it first learns shapes.
const shapesDelay = time.Minute

// runShapes learns the shapes of run times every Config.ShapesEvery until ctx ends.
func (t *Trainer) runShapes(ctx context.Context) {
	if t.cfg.ShapesEvery <= 0 {
		return
	}
	for wait := min(shapesDelay, t.cfg.ShapesEvery); ; wait = t.cfg.ShapesEvery / 4 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if err := t.LearnShapes(ctx, time.Now()); err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "failed to learn the shapes of run times", "err", err)
		}
	}
}

// LearnShapes learns the shapes of every namespace whose shapes are older than Config.ShapesEvery,
// from the stored models of its tasks, at the lowest priority.
func (t *Trainer) LearnShapes(ctx context.Context, now time.Time) error {
	versions, err := t.store.ActiveVersions(ctx)
	if err != nil {
		return fmt.Errorf("list models: %w", err)
	}
	tasks := map[string][]sizing.TaskKey{}
	for task := range versions {
		tasks[task.Namespace] = append(tasks[task.Namespace], task)
	}
	var failed []error // an error in one namespace must not stop the others
	for namespace, list := range tasks {
		slices.SortFunc(list, func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) })
		err := t.learnShapes(ctx, namespace, list, now)
		if err != nil && sizing.KindOf(err) != sizing.Conflict { // another replica was faster
			failed = append(failed, fmt.Errorf("learn the shapes of namespace %s: %w", namespace, err))
		}
	}
	return errors.Join(failed...)
}

// learnShapes learns the shapes of one namespace if they are older than Config.ShapesEvery.
func (t *Trainer) learnShapes(ctx context.Context, namespace string, tasks []sizing.TaskKey, now time.Time) error {
	stored, err := t.store.Shapes(ctx, namespace)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return err
	}
	if err == nil && now.Sub(stored.LearnedAt) < t.cfg.ShapesEvery {
		return nil
	}
	ratios, err := t.ratios(ctx, tasks)
	if err != nil {
		return err
	}
	var shapes *taskmodel.Shapes
	err = runAtLowestPriority(func() (err error) {
		shapes, err = taskmodel.LearnShapes(ratios)
		return err
	})
	if err != nil || shapes == nil {
		return err
	}
	content, err := taskmodel.EncodeShapes(shapes)
	if err != nil {
		return err
	}
	version, err := t.store.SaveShapes(ctx, store.Shapes{Namespace: namespace, Version: stored.Version, LearnedAt: now, Content: content})
	if err == nil {
		t.log.Info("learned the shapes of run times", "namespace", namespace, "version", version, "tasks", shapes.Groups, "shapes", len(shapes.Shapes))
	}
	return err
}

// ratios reads the ratios of run times to predictions from the stored models of tasks, in order. Of
// more than maxShapeTasks tasks it reads an even sample.
func (t *Trainer) ratios(ctx context.Context, tasks []sizing.TaskKey) ([][]float64, error) {
	step := max(1, (len(tasks)+maxShapeTasks-1)/maxShapeTasks)
	var ratios [][]float64
	for i := 0; i < len(tasks); i += step {
		active, err := t.active(ctx, tasks[i])
		if err != nil {
			return nil, err
		}
		if active.Version == 0 {
			continue
		}
		r, err := taskmodel.ReadRatios(active.Blob)
		if err != nil {
			continue // the next training replaces a corrupt model
		}
		ratios = append(ratios, r)
	}
	return ratios, nil
}
