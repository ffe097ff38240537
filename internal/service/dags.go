package service

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// SetStructure stores the dependencies of a DAG, and when they last changed. They must be acyclic.
func (s *Service) SetStructure(ctx context.Context, d sizing.Structure) error {
	if detail := sizing.CheckID(d.DAG); detail != "" {
		return invalid([]sizing.FieldError{{Field: "dag_id", Detail: detail}})
	}
	if bad := invalidTasks(d.Tasks); len(bad) > 0 {
		return invalid(bad)
	}
	if _, err := forecast.CheckStructure(tasksOf(d.Tasks)); err != nil {
		return err
	}
	d.UpdatedAt = s.cfg.Now()
	switch stored, err := s.store.Structure(ctx, d.Namespace, d.DAG); {
	case err == nil && stored.HasSameTasks(&d):
		d.ChangedAt = stored.ChangedAt
	case err == nil:
		d.ChangedAt = d.UpdatedAt
	case sizing.KindOf(err) != sizing.NotFound:
		return err
	}
	return s.store.SetStructure(ctx, d)
}

func invalidTasks(tasks []sizing.StructureTask) (bad []sizing.FieldError) {
	if len(tasks) == 0 {
		return []sizing.FieldError{{Field: "tasks", Detail: "must list the tasks of the DAG"}}
	}
	for i, t := range tasks {
		if detail := sizing.CheckID(t.TaskID); detail != "" {
			bad = append(bad, sizing.FieldError{Field: fmt.Sprintf("tasks[%d].task_id", i), Detail: detail})
		}
		if t.Upstream == nil {
			bad = append(bad, sizing.FieldError{Field: fmt.Sprintf("tasks[%d].upstream", i), Detail: "must be a list of task ids, which may be empty"})
		}
	}
	return bad
}

// Structure returns the dependencies of a DAG, or NotFound if none are stored.
func (s *Service) Structure(ctx context.Context, namespace, dag string) (sizing.Structure, error) {
	return s.store.Structure(ctx, namespace, dag)
}

func tasksOf(stored []sizing.StructureTask) []forecast.Task {
	tasks := make([]forecast.Task, len(stored))
	for i, t := range stored {
		tasks[i] = forecast.Task{ID: t.TaskID, Upstream: t.Upstream}
	}
	return tasks
}

// DAGForecast is the forecast of a run of a DAG.
type DAGForecast struct {
	*forecast.Result
	Median    float64   // of the end in seconds from the start of the run, corrected by past runs if there are enough (forecast.Calibration)
	P95       float64   // 95 % quantile of the end, corrected in the same way
	PastRuns  int       // number of past runs that were compared with forecasts for the correction
	Unknown   []string  // tasks without a known run time, which count as 0 s
	UpdatedAt time.Time // when the dependencies of the DAG were stored
}

const (
	// pastRuns is the largest number of newest runs of the DAG from which a forecast draws, and with whose ends it corrects
	// the quantiles of the end.
	pastRuns    = 40
	tablePoints = 200 // steps of a table of quantiles; more steps are finer and slower
)

// Forecast simulates a run of a DAG with the features `f`. A task whose past runs have none of these features is simulated
// with the features of its newest runs. With the same seed the forecast changes only if models, policies or runs change.
func (s *Service) Forecast(ctx context.Context, namespace, dag string, f sizing.Features, seed uint64) (*DAGForecast, error) {
	structure, err := s.store.Structure(ctx, namespace, dag)
	if err != nil {
		return nil, err
	}
	out := &DAGForecast{UpdatedAt: structure.UpdatedAt}
	tasks := tasksOf(structure.Tasks)
	past, err := s.prepareTasks(ctx, namespace, dag, f, tasks)
	if err != nil {
		return nil, fmt.Errorf("forecast DAG %s: %w", dag, err)
	}
	for i := range tasks {
		if !past.known[i] {
			out.Unknown = append(out.Unknown, tasks[i].ID)
		}
	}
	if len(out.Unknown) == len(tasks) {
		return nil, sizing.Errorf(sizing.NotFound, "forecast DAG %s: the run time of no task can be predicted yet; report duration_seconds and memory_max_bytes or memory_sampled_bytes for at least two successes of a task", dag)
	}
	past.changed = structure.ChangedAt
	calibration, err := past.calibrate(tasks)
	if err != nil {
		return nil, err
	}
	if out.Result, err = forecast.Simulate(tasks, seed, 0); err != nil {
		return nil, err
	}
	expected, err := forecast.SimulateMedians(tasks, seed, 0)
	if err != nil {
		return nil, err
	}
	out.Median, out.P95 = calibration.Quantiles(out.Result, expected)
	out.PastRuns = calibration.Runs()
	for i := range out.Tasks {
		if tasks[i].Ran != nil {
			continue // the quantiles of this task describe only the draws in which it runs
		}
		t := &out.Tasks[i] // no task ends after its run
		t.Start, t.End, t.EndP95 = min(t.Start, out.P95), min(t.End, out.P95), min(t.EndP95, out.P95)
	}
	return out, nil
}

// prepareTask sets the run time and the memory of `t`, the task with index i, from its model and its past runs, and adds these
// runs to `past`. If the run time of the task cannot be predicted, the task stays unknown, and `past` gets only the times of its
// runs. `f` holds the features of the simulated run.
func (s *Service) prepareTask(ctx context.Context, recent *recentRuns, f sizing.Features, t *forecast.Task, i int, past *pastOfDAG) {
	own := knownFeatures(f, &recent.sample.Schema)
	r := s.readForecast(ctx, recent, own)
	if len(r.times) == 0 {
		past.addUnknown(recent)
		return
	}
	t.Quantile, t.Memory = forecast.Interpolate(r.times.Table(tablePoints)), r.memory
	t.Instances = past.addRuns(i, recent, &r)
	past.instanceRunTime[i] = r.times[0]
	medians := r.times.LevelTable(tablePoints, medianOfLongest(t.Instances))
	optimism := recent.optimism(&r)
	for k := range medians {
		medians[k] *= optimism
	}
	t.Median = forecast.Interpolate(medians)
}

func knownFeatures(f sizing.Features, schema *sizing.Schema) (own sizing.Features) {
	for name, v := range f {
		if slices.ContainsFunc(schema.Fields, func(field sizing.Field) bool { return field.Name == name }) {
			if own == nil {
				own = sizing.Features{}
			}
			own[name] = v
		}
	}
	return own
}

// taskForecast holds the values that a forecast reads from the model and the policy of a task.
type taskForecast struct {
	times  taskmodel.RunTimes // predicted for instances of the simulated run
	past   taskmodel.RunTimes // of past instances, predicted by the current model as if it had not learned their run (LearnedRunTimes)
	ratios []float64          // of run times to the predictions before the runs, oldest first
	// grants holds for each past run the mean memory of an instance in a draw from this run (simulatedInputs), in bytes; 0:
	// unknown. If grants is nil, an instance has `memory` in every draw.
	grants []float64
	memory float64 // of a usual instance, in bytes
}

// readForecast predicts the run times and the memory of a task with the features `own` of the simulated run. The
// rows in `recent` were read before, so that it holds the lock of the task only for the predictions.
func (s *Service) readForecast(ctx context.Context, recent *recentRuns, own sizing.Features) (r taskForecast) {
	key, learned := recent.sample.Task, recent.learnedTries()
	byRun, sample := recent.simulatedInputs(own)
	task := s.models.Get(ctx, key)
	task.RLockUpdated()
	defer task.RUnlock()
	alloc := s.allocatorOf(task, key.Namespace, s.cfg.Now())
	r.times, r.past = alloc.model.RunTimes(sample), alloc.model.LearnedRunTimes(learned)
	if len(r.times) == 0 {
		return r
	}
	r.ratios = alloc.model.Ratios()
	if len(own) == 0 {
		recent.moveToPresentLevel(r.times)
	}
	if byRun == nil {
		usual := make([]sizing.Features, min(pastRuns, len(sample)))
		for i := range usual {
			usual[i] = sample[i*len(sample)/len(usual)]
		}
		r.memory = alloc.meanGrant(key, usual)
		return r
	}
	var known []float64
	for _, inputs := range byRun {
		grant := alloc.meanGrant(key, inputs)
		if r.grants = append(r.grants, grant); grant > 0 {
			known = append(known, grant)
		}
	}
	if slices.Sort(known); len(known) > 0 {
		r.memory = known[len(known)/2]
	} else {
		r.memory = alloc.meanGrant(key, sample[len(sample)-1:])
	}
	return r
}

// moveToPresentLevel moves the run times that are predicted for the successes of the sample to the present level of their
// runs (forecast.AtPresentLevel), because inputs that the simulated run omits may grow or fall.
func (r *recentRuns) moveToPresentLevel(times taskmodel.RunTimes) {
	var ids []string
	for i := range r.sample.Rows {
		if row := &r.sample.Rows[i]; row.Outcome == sizing.Success {
			ids = append(ids, row.RunID)
		}
	}
	if len(ids) != len(times) {
		return // there is no success
	}
	index := map[string]int{} // by run id
	var sums, counts []float64
	for i, id := range ids {
		k, isKnown := index[id]
		if !isKnown {
			k = len(sums)
			index[id] = k
			sums, counts = append(sums, 0), append(counts, 0)
		}
		sums[k] += times[i].LogSeconds()
		counts[k]++
	}
	seconds := make([]float64, len(sums))
	for k, sum := range sums {
		seconds[k] = math.Expm1(sum / counts[k])
	}
	moved, factors := forecast.AtPresentLevel(seconds), make([]float64, len(times))
	for i, id := range ids {
		factors[i] = 1
		if k := index[id]; seconds[k] > 0 {
			factors[i] = moved[k] / seconds[k]
		}
	}
	times.Scale(factors)
}

func fixed(seconds float64) func(float64) float64 { return func(float64) float64 { return seconds } }
