package trainer

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/insight/groups"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// searches records in which order the parameters of tasks were searched. It is in memory only: after a restart no task counts
// as searched, and each replica searches independently. This is safe, because a new model replaces the active version by
// compare-and-swap.
type searches struct {
	mu    sync.Mutex             // one search at a time
	count int                    // number of searches so far
	last  map[sizing.TaskKey]int // value of count after the task's last search; 0 if there was none
}

func (t *Trainer) runSearches(ctx context.Context) {
	if t.cfg.SearchEvery <= 0 {
		return
	}
	tick := time.NewTicker(t.cfg.SearchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, err := t.SearchOnce(ctx); err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "search failed", "err", err)
		}
	}
}

// SearchOnce searches for better tree parameters of the heavy task whose last search is the oldest. If the parameters found
// beat the champion, it trains the task with them. It returns false if no heavy task has a model. The search runs at a
// lower priority, concurrently with trainings; the training runs at the normal priority.
func (t *Trainer) SearchOnce(ctx context.Context) (bool, error) {
	t.searches.mu.Lock()
	defer t.searches.mu.Unlock()
	task, ok, err := t.searchNext(ctx)
	if err != nil || !ok {
		return false, err
	}
	t.searches.count++
	t.searches.last[task] = t.searches.count // also after a failure, so that other tasks get their turn
	report, err := t.runJob(ctx, true, func() (Report, error) { return t.search(ctx, task) })
	if sizing.KindOf(err) == sizing.NotFound {
		return true, nil // the task was deleted in the meantime
	}
	if err != nil {
		return true, fmt.Errorf("search %s: %w", task, err)
	}
	t.log.Info("searched", "task", task.String(), "published", report.Published, "version", report.Version, "reason", report.Reason)
	return true, nil
}

const searchPage = 500 // largest number of tasks per query

// searchNext returns the heavy task with a champion whose last search is the oldest; among equals, the first by name. It
// removes from t.searches all tasks that are not heavy or have no champion.
func (t *Trainer) searchNext(ctx context.Context) (next sizing.TaskKey, ok bool, err error) {
	usage, err := t.store.TaskUsage(ctx, "")
	if err != nil {
		return next, false, fmt.Errorf("read the usage of tasks: %w", err)
	}
	grouped := groups.Cluster(usage)
	last, oldest := map[sizing.TaskKey]int{}, math.MaxInt
	var after sizing.TaskKey
	for {
		profiles, err := t.store.Tasks(ctx, "", after, searchPage)
		if err != nil {
			return next, false, fmt.Errorf("list tasks: %w", err)
		}
		for i := range profiles {
			p := &profiles[i]
			if p.Champion == nil || grouped.Of(p.Task, p.Memory) != sizing.Heavy {
				continue
			}
			last[p.Task] = t.searches.last[p.Task]
			if last[p.Task] < oldest {
				next, oldest = p.Task, last[p.Task]
			}
		}
		if len(profiles) < searchPage {
			t.searches.last = last
			return next, oldest < math.MaxInt, nil
		}
		after = profiles[len(profiles)-1].Task
	}
}

// search trains one task with the best parameters, if they pass the evaluation, under the rules of `train`: the watchdog may
// roll back instead, and nothing is published if a person has pinned a version.
func (t *Trainer) search(ctx context.Context, task sizing.TaskKey) (Report, error) {
	active, err := t.active(ctx, task)
	if err != nil {
		return Report{}, err
	}
	champion := t.open(ctx, &active)
	if champion == nil {
		return Report{Version: active.Version, Reason: "there is no champion to compare with"}, nil
	}
	history, err := t.store.History(ctx, task, t.cfg.Keep)
	if err != nil {
		return Report{}, err
	}
	var found taskmodel.SearchResult
	err = RunAtLowerPriority(func() (err error) {
		found, err = taskmodel.Search(ctx, &history, champion)
		return err
	})
	if err != nil || !found.Evaluation.Passed {
		return Report{Version: active.Version, Reason: found.Evaluation.Reason}, err
	}
	return t.trainExclusively(ctx, task, found.Fit)
}

// RunAtLowerPriority runs `f` and waits for its end; only Linux lowers the priority. The thread of `f` stays locked and
// ends with f, because a thread cannot raise its priority again. A process that f starts inherits the priority.
func RunAtLowerPriority(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		lowerThreadPriority()
		done <- recovering(f)
	}()
	return <-done
}

// recovering turns a panic of `f` into an error, because it must not end the process that trains all tasks.
func recovering(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the job panicked; report this error: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
