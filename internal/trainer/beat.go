package trainer

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// beats is whose search was how long ago. It is kept in memory only: after a start
// every task is due again, and replicas search on their own; what they publish is
// still compared and swapped.
type beats struct {
	one   sync.Mutex // one search at a time
	made  int
	turns map[sizing.TaskKey]int // the beat of the last search; 0: none
}

// beat searches now and then until ctx ends.
func (t *Trainer) beat(ctx context.Context) {
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

// SearchOnce searches for better parameters of one heavy task, the one that was
// searched longest ago, and reports false where there is none. What was found and
// beats the champion is published. The search runs at the lowest priority, and
// trainings of the task go on meanwhile.
func (t *Trainer) SearchOnce(ctx context.Context) (bool, error) {
	t.beats.one.Lock()
	defer t.beats.one.Unlock()
	task, ok, err := t.searchNext(ctx)
	if err != nil || !ok {
		return false, err
	}
	t.beats.made++
	t.beats.turns[task] = t.beats.made // a failure too: the others have their turns
	report, err := t.timed(ctx, true, func() (Report, error) { return t.search(ctx, task) })
	if sizing.KindOf(err) == sizing.NotFound {
		return true, nil // deleted meanwhile
	}
	if err != nil {
		return true, fmt.Errorf("search %s: %w", task, err)
	}
	t.log.Info("searched", "task", task.String(), "published", report.Published, "version", report.Version, "reason", report.Reason)
	return true, nil
}

const searchPage = 500 // profiles read at once

// searchNext is the heavy task with a champion that was searched longest ago, the
// first by name of equals. Tasks that are gone are forgotten.
func (t *Trainer) searchNext(ctx context.Context) (next sizing.TaskKey, ok bool, err error) {
	turns, longest := map[sizing.TaskKey]int{}, math.MaxInt
	var after sizing.TaskKey
	for {
		profiles, err := t.store.Tasks(ctx, "", after, searchPage)
		if err != nil {
			return next, false, fmt.Errorf("list tasks: %w", err)
		}
		for i := range profiles {
			p := &profiles[i]
			if p.Champion == nil || sizing.GroupOf(p.Memory) != sizing.Heavy {
				continue
			}
			turns[p.Task] = t.beats.turns[p.Task]
			if turns[p.Task] < longest {
				next, longest = p.Task, turns[p.Task]
			}
		}
		if len(profiles) < searchPage {
			t.beats.turns = turns
			return next, longest < math.MaxInt, nil
		}
		after = profiles[len(profiles)-1].Task
	}
}

// search looks, and publishes what passed on top of what is active by then.
func (t *Trainer) search(ctx context.Context, task sizing.TaskKey) (Report, error) {
	active, err := t.active(ctx, task)
	if err != nil {
		return Report{}, err
	}
	champion := t.open(ctx, &active)
	if champion == nil {
		return Report{Version: active.Version, Reason: "there is no champion to beat"}, nil
	}
	history, err := t.store.History(ctx, task, t.cfg.Keep)
	if err != nil {
		return Report{}, err
	}
	var found fitting.SearchResult
	niced(func() { found, err = fitting.Search(ctx, &history, champion) })
	if err != nil || !found.Evaluation.Passed {
		return Report{Version: active.Version, Reason: found.Evaluation.Reason}, err
	}
	return t.inTurn(ctx, task, found.Fit)
}

// niced runs f at the lowest priority and waits for it. The thread is left locked,
// and so ends with f: a priority that was given up cannot be taken back.
func niced(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		yield()
		f()
	}()
	<-done
}
