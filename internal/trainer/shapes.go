package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// maxShapeTasks bounds the tasks of a namespace whose run times are read for its shapes.
const maxShapeTasks = 2000

// firstPassDelay is the time from the start of the trainer to the first pass of shapes, usage profiles and plans, if the
// interval of the job is not shorter. A longer delay would postpone the jobs after each restart.
const firstPassDelay = time.Minute

func (t *Trainer) runShapes(ctx context.Context) {
	if t.cfg.ShapesEvery <= 0 {
		return
	}
	for wait := min(firstPassDelay, t.cfg.ShapesEvery); ; wait = t.cfg.ShapesEvery / 4 {
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

// LearnShapes learns the shapes of every namespace that has none, or whose shapes are at least Config.ShapesEvery old, from
// the stored models of the tasks, at a lower priority. A shape is a distribution of the ratio of run time to prediction
// that several tasks share.
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
		if err != nil && sizing.KindOf(err) != sizing.Conflict { // a conflict means that another replica was faster
			failed = append(failed, fmt.Errorf("learn the shapes of namespace %s: %w", namespace, err))
		}
	}
	return errors.Join(failed...)
}

func (t *Trainer) learnShapes(ctx context.Context, namespace string, tasks []sizing.TaskKey, now time.Time) error {
	stored, err := t.store.Shapes(ctx, namespace)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return err
	}
	if err == nil && now.Sub(stored.LearnedAt) < t.cfg.ShapesEvery {
		return nil
	}
	sampled, ratios, err := t.ratios(ctx, tasks)
	if err != nil {
		return err
	}
	var shapes *taskmodel.Shapes
	err = RunAtLowerPriority(func() (err error) {
		shapes, err = taskmodel.LearnShapes(ratios)
		return err
	})
	if err != nil || shapes == nil {
		return err
	}
	labels := map[sizing.TaskKey]int{}
	for i, task := range sampled {
		if label, ok := taskmodel.ShapeOf(shapes, ratios[i]); ok {
			labels[task] = label
		}
	}
	classifier, err := t.classifyShapes(ctx, namespace, labels)
	if err != nil {
		return err
	}
	content, err := t.encodeShapes(namespace, shapes, classifier)
	if err != nil {
		return err
	}
	version, err := t.store.SaveShapes(ctx, store.Shapes{Namespace: namespace, Version: stored.Version, LearnedAt: now, Content: content})
	if err == nil {
		t.log.Info("learned the shapes of run times", "namespace", namespace, "version", version, "tasks", shapes.Groups, "shapes", len(shapes.Shapes),
			"classifier", classifier != nil, "bytes", len(content))
	}
	return err
}

// classifyShapes learns how facts, node types and cluster loads predict the shape; `labels` maps a task to its shape. It
// returns nil if they do not predict the shape, or if there are too few tasks or shapes.
func (t *Trainer) classifyShapes(ctx context.Context, namespace string, labels map[sizing.TaskKey]int) (*cohort.Shapes, error) {
	stored, err := t.store.ContextRows(ctx, namespace, cohort.RowsPerTask, cohort.MaxRows)
	if err != nil {
		return nil, err
	}
	rows := make([]cohort.Row, 0, len(stored))
	for i := range stored {
		if row, ok := cohort.RowOf(&stored[i]); ok {
			row.Placement = stored[i].Placement
			rows = append(rows, row)
		}
	}
	var classifier *cohort.Shapes
	err = RunAtLowerPriority(func() error {
		classifier = cohort.FitShapes(rows, labels)
		return nil
	})
	return classifier, err
}

func (t *Trainer) encodeShapes(namespace string, shapes *taskmodel.Shapes, classifier *cohort.Shapes) ([]byte, error) {
	encoded, err := classifier.MarshalBinary()
	if err != nil {
		return nil, err
	}
	content, err := taskmodel.EncodeShapes(shapes, encoded)
	if err == nil && len(content) > store.MaxShapes {
		t.log.Warn("the shapes of run times and their classifier are too large together; the classifier is not stored", "namespace", namespace, "bytes", len(content), "limit", store.MaxShapes)
		return taskmodel.EncodeShapes(shapes, nil)
	}
	return content, err
}

// ratios returns the tasks with a readable model, and by the same index their ratios of run time to prediction. Of more than
// maxShapeTasks tasks it reads every n-th, at most maxShapeTasks in all.
func (t *Trainer) ratios(ctx context.Context, tasks []sizing.TaskKey) (sampled []sizing.TaskKey, ratios [][]float64, err error) {
	step := max(1, (len(tasks)+maxShapeTasks-1)/maxShapeTasks)
	for i := 0; i < len(tasks); i += step {
		active, err := t.active(ctx, tasks[i])
		if err != nil {
			return nil, nil, err
		}
		if active.Version == 0 {
			continue
		}
		r, err := taskmodel.ReadRatios(active.Blob)
		if err != nil {
			continue // the next training replaces a corrupt model
		}
		sampled, ratios = append(sampled, tasks[i]), append(ratios, r)
	}
	return sampled, ratios, nil
}
