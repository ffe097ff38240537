package service

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

const (
	forecastRows   = 200       // largest number of newest tries of each task that are read one by one
	enoughRuns     = 100       // the store summarises the runs of a task if the tries that were read have fewer runs, and more tries exist
	mappedTries    = 250_000   // largest number of tries of one task that the store summarises, in 0.3 to 0.9 s (BenchmarkNewestRuns)
	allMappedTries = 1_000_000 // the same for all tasks of a DAG

	// tasksPerRead bounds the tries in memory: a DAG may have 2,000 tasks.
	tasksPerRead = 100
)

// recentRuns holds the newest runs of a task.
type recentRuns struct {
	sample    sizing.History      // tries of these runs, oldest first
	runs      []store.TaskRun     // oldest first: by their ends if the store summarised them, otherwise by the first try that was read
	instances [][]sizing.Features // by run: the features of its instances that were read
	since     time.Time           // see store.TaskRuns
	differs   map[string]bool     // features that differ between instances of the same run
	isSummary bool                // the store summarised the runs, so `instances` has only the longest instance of each run
	rows      [][]int             // by run: for each of its instances the index in sample.Rows; nil if isSummary is set
}

// learnedTries returns the instances of each run. In a summary the longest instance stands for its run. If no feature differs
// between the instances of a run, the durations of the other instances with the features of the longest one are unknown.
func (r *recentRuns) learnedTries() [][]taskmodel.LearnedTry {
	runs := make([][]taskmodel.LearnedTry, len(r.runs))
	for k, of := range r.instances {
		for n, features := range of {
			t := taskmodel.LearnedTry{Features: features, Seq: math.MaxInt64}
			switch {
			case !r.isSummary:
				row := &r.sample.Rows[r.rows[k][n]]
				t.Seq, t.Duration = row.Seq, row.Duration
			case r.runs[k].Instances == 1 || len(r.differs) > 0:
				t.Duration = r.runs[k].Longest
			}
			runs[k] = append(runs[k], t)
		}
	}
	return runs
}

// pastReader prepares the tasks of a DAG for a simulation, and collects the past runs of the DAG.
type pastReader struct {
	*Service
	namespace, dag string
	features       sizing.Features // of the simulated run
	tasks          []forecast.Task
	past           pastOfDAG
}

// prepareTasks prepares each task for a simulation, and returns the past runs of the DAG. It reads the newest tries of
// each task. If these belong to few runs of the DAG, because the task has many mapped instances, the store summarises more
// tries.
func (s *Service) prepareTasks(ctx context.Context, namespace, dag string, f sizing.Features, tasks []forecast.Task) (*pastOfDAG, error) {
	r := &pastReader{s, namespace, dag, f, tasks, pastOfDAG{
		runs: map[string]*pastRun{}, unknown: map[string]*pastRun{}, known: make([]bool, len(tasks)), isTruncated: make([]bool, len(tasks)), instanceRunTime: make([]taskmodel.RunTime, len(tasks)), inputs: f, now: s.cfg.Now(),
	}}
	for i := range tasks {
		tasks[i].Quantile, tasks[i].Median = fixed(0), fixed(0)
	}
	var mapped []int // indices of tasks
	for part := range slices.Chunk(indices(len(tasks)), tasksPerRead) {
		recent, err := s.store.RecentTriesOf(ctx, namespace, dag, r.ids(part), forecastRows)
		if err != nil {
			return nil, err
		}
		for _, i := range part {
			h, known := recent[tasks[i].ID]
			if !known {
				continue
			}
			if runs := runsOfTries(h); runs.since.IsZero() || len(runs.runs) >= enoughRuns {
				s.prepareTask(ctx, runs, f, &tasks[i], i, &r.past)
			} else {
				mapped = append(mapped, i)
			}
		}
	}
	withoutTries, err := r.prepareMapped(ctx, mapped, r.past.startOfNewest(enoughRuns))
	if err == nil {
		_, err = r.prepareMapped(ctx, withoutTries, time.Time{})
	}
	return &r.past, err
}

// prepareMapped prepares the tasks with the indices `mapped` by their tries since a time. It returns the indices of the
// tasks without such tries.
func (r *pastReader) prepareMapped(ctx context.Context, mapped []int, since time.Time) (withoutTries []int, err error) {
	limits := store.RunLimits{Since: since, Tries: max(forecastRows, min(mappedTries, allMappedTries/max(1, len(mapped)))), Runs: forecastRows, Sample: forecastRows}
	for part := range slices.Chunk(mapped, tasksPerRead) {
		recent, err := r.store.NewestRuns(ctx, r.namespace, r.dag, r.ids(part), limits)
		if err != nil {
			return nil, err
		}
		for _, i := range part {
			if of := recent[r.tasks[i].ID]; len(of.Runs) > 0 {
				r.prepareTask(ctx, runsOfSummary(of), r.features, &r.tasks[i], i, &r.past)
			} else {
				withoutTries = append(withoutTries, i)
			}
		}
	}
	return withoutTries, nil
}

func (r *pastReader) ids(indices []int) []string {
	ids := make([]string, len(indices))
	for k, i := range indices {
		ids[k] = r.tasks[i].ID
	}
	return ids
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func runsOfSummary(of store.TaskRuns) *recentRuns {
	slices.SortStableFunc(of.Runs, func(a, b store.TaskRun) int { return a.End.Compare(b.End) })
	r := &recentRuns{sample: of.Sample, runs: of.Runs, since: of.Since, isSummary: true, instances: make([][]sizing.Features, len(of.Runs))}
	for k := range of.Runs {
		if of.Runs[k].Instances > 0 {
			r.instances[k] = []sizing.Features{of.Sample.Schema.Features(of.Runs[k].Features)}
		}
	}
	r.differs = r.differingFeatures()
	return r
}

// runsOfTries groups the newest tries of a task by run. As the store does in NewestRuns, it leaves out reproduced runs, and
// takes the first success of each instance.
func runsOfTries(h sizing.History) *recentRuns {
	r := &recentRuns{sample: h}
	if len(h.Rows) >= forecastRows {
		r.since = h.Rows[0].At
	}
	index := map[string]int{} // by run id
	type instance struct{ run, mapIndex int }
	counted := map[instance]bool{}
	for i := range h.Rows {
		try := &h.Rows[i]
		if _, isReproduced := sizing.ReproducedAt(try.RunID); isReproduced {
			continue
		}
		k, known := index[try.RunID]
		if !known {
			k = len(r.runs)
			index[try.RunID] = k
			r.runs, r.instances = append(r.runs, store.TaskRun{RunID: try.RunID, Start: try.At}), append(r.instances, nil)
			r.rows = append(r.rows, nil)
		}
		run := &r.runs[k]
		if try.Outcome != sizing.Success {
			run.HasFailed = true
			continue
		}
		if try.Duration <= 0 {
			continue
		}
		of := instance{k, try.MapIndex}
		if counted[of] { // it was cleared and succeeded again, perhaps days after the run had ended
			continue
		}
		counted[of] = true
		run.Instances++
		run.Longest = max(run.Longest, try.Duration)
		if started := try.At.Add(-try.Duration); started.Before(run.Start) {
			run.Start = started
		}
		if try.At.After(run.End) {
			run.End = try.At
		}
		r.instances[k], r.rows[k] = append(r.instances[k], h.Schema.Features(try.Features)), append(r.rows[k], i)
	}
	r.differs = r.differingFeatures()
	return r
}
