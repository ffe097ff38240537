package service

import (
	"context"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// LearnedTask compares what two models of a task predict for archived runs of a campaign: the last one from before the
// campaign was created, and the active one.
type LearnedTask struct {
	Task   string
	Before *ModelPredictions // nil: there was no model, or its version is no longer stored or cannot be decoded
	After  *ModelPredictions // of the active model; CampaignLearned omits tasks where it would be nil
}

// ModelPredictions summarises what a version of a model predicts for archived runs.
type ModelPredictions struct {
	Version      int
	Observations int          // number of reports of the task at the training
	Grant        sizing.Bytes // mean grant
	Width        float64      // median of grant / expected peak (of the explanation) over the runs with an expected peak; 0 if there are none
	Unstated     int          // number of runs for which no risk can be stated, such as those outside the known range
	Runs         int          // number of archived runs, at most maxLearnedRuns
}

const (
	maxLearnedTasks = 50
	maxLearnedRuns  = 50
)

// CampaignLearned looks at the first maxLearnedTasks tasks of a campaign's DAG. It returns a LearnedTask for each of them
// whose active model can be decoded.
func (s *Service) CampaignLearned(ctx context.Context, id int64) ([]LearnedTask, error) {
	c, err := s.store.Campaign(ctx, id)
	if err != nil {
		return nil, err
	}
	runs, err := s.store.CampaignRuns(ctx, id, nil, 0, maxLearnedRuns)
	if err != nil {
		return nil, err
	}
	inputs := make([]sizing.Features, len(runs))
	for i := range runs {
		inputs[i] = runs[i].Archived.Features()
	}
	keys, err := s.tasksOfDAG(ctx, c.Key())
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return nil, err
	}
	var learned []LearnedTask
	for _, key := range keys[:min(len(keys), maxLearnedTasks)] {
		versions, err := s.store.ModelVersions(ctx, key)
		if err != nil {
			return nil, err
		}
		task := LearnedTask{Task: key.Task}
		before := slices.IndexFunc(versions, func(m store.Model) bool { return m.TrainedAt.Before(c.CreatedAt) })
		after := slices.IndexFunc(versions, func(m store.Model) bool { return m.Active })
		if task.Before, err = s.predictionsOf(ctx, versions, before, inputs); err != nil {
			return nil, err
		}
		if task.After, err = s.predictionsOf(ctx, versions, after, inputs); err != nil {
			return nil, err
		}
		if task.After != nil {
			learned = append(learned, task)
		}
	}
	return learned, nil
}

func (s *Service) predictionsOf(ctx context.Context, versions []store.Model, i int, inputs []sizing.Features) (*ModelPredictions, error) {
	if i < 0 {
		return nil, nil
	}
	stored, err := s.store.Model(ctx, versions[i].Task, versions[i].Version)
	if sizing.KindOf(err) == sizing.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	model, err := taskmodel.Open(stored.Blob)
	if err != nil {
		s.log.WarnContext(ctx, "failed to decode a stored model; the page of its campaign omits it", "task", stored.Task.String(), "version", stored.Version, "err", err)
		return nil, nil
	}
	return summarise(&stored, model, inputs), nil
}

func summarise(stored *store.Model, model *taskmodel.Model, inputs []sizing.Features) *ModelPredictions {
	p := &ModelPredictions{Version: stored.Version, Observations: stored.Observations, Runs: len(inputs)}
	var widths []float64
	for _, features := range inputs {
		question := taskmodel.Question{Features: features, RiskTarget: sizing.DefaultRiskTarget}
		granted := model.Size(question)
		if granted.Promised == nil {
			p.Unstated++
		}
		p.Grant += granted.Limit / sizing.Bytes(len(inputs))
		// The divisor is the expected peak. A grant at a risk target of one half would be larger, because the price of a kill
		// limits its risk, too.
		if expected := model.Explain(question).Expected; expected > 0 {
			widths = append(widths, float64(granted.Limit)/float64(expected))
		}
	}
	if len(widths) > 0 {
		slices.Sort(widths)
		p.Width = widths[len(widths)/2]
	}
	return p
}
