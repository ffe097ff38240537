package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// traffic plays the lives of tries against the replicas in turn, at a fixed rate:
// each request has its moment, and waits for it.
type traffic struct {
	replicas []*testcluster.Replica
	tasks    []testcluster.Task
	seed     uint64
	callers  int     // at once
	rate     float64 // requests a second; as fast as they are answered if zero

	started time.Time
	moments atomic.Int64 // given out
	tally   tally
}

// run plays until ctx ends, and returns the requests a second that were answered.
// What is under way then is brought to its end, since a call cut off by its caller
// says nothing of the server.
func (t *traffic) run(ctx context.Context) float64 {
	t.started = time.Now()
	var all sync.WaitGroup
	for c := range t.callers {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(t.seed, uint64(c)))
			for n := 0; ctx.Err() == nil; n++ {
				t.life(ctx, dice, fmt.Sprintf("run-%d-%d-%d", t.seed, c, n))
			}
		})
	}
	all.Wait()
	return float64(t.tally.answered()) / time.Since(t.started).Seconds()
}

// life is one run: two look-ups, a question, and how it ended. Where what was
// granted did not suffice it is a kill, a lift and a second try.
func (t *traffic) life(ctx context.Context, dice *rand.Rand, id string) {
	task := t.tasks[dice.IntN(len(t.tasks))]
	for range 2 {
		t.call(ctx, "/predict", testcluster.PredictBody(dice, task, ""))
	}
	run := testcluster.DrawRun(dice, task, id)
	granted := t.call(ctx, "/predict", ask(run, nil))
	if limit := granted.Memory.LimitBytes; limit > 0 && limit < run.Peak {
		failed := map[string]any{"memory_bytes": limit}
		t.call(ctx, "/observe", ask(run, map[string]any{"try_number": 1, "outcome": "oom_killed", "allocated": failed}))
		t.call(ctx, "/retry-lift", ask(run, map[string]any{"try_number": 1, "failed": failed}))
		run.TryNumber = 2
	}
	t.call(ctx, "/observe", run)
}

// ask is what is known of a run before it ends, and more.
func ask(run testcluster.Observation, more map[string]any) map[string]any {
	body := map[string]any{"dag_id": run.DAG, "task_id": run.Task.Task, "run_id": run.RunID, "features": run.Features, "requested": run.Requested}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// answer is the part of an answer that a life goes on with.
type answer struct {
	Memory struct {
		LimitBytes int64 `json:"limit_bytes"`
	}
}

// call waits for its moment, posts, and counts what came.
func (t *traffic) call(ctx context.Context, path string, body any) (got answer) {
	n := t.moments.Add(1)
	if t.rate > 0 {
		moment := t.started.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))
		select {
		case <-time.After(time.Until(moment)):
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return got
	}
	// Longer than any deadline of the server, so that the server's own end is seen.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	status, says, err := t.replicas[int(n)%len(t.replicas)].Call(bounded, http.MethodPost, path, body)
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal(says, &got)
	}
	t.tally.count(path, status, says, err)
	return got
}

// tally counts what came back. Its zero value is empty.
type tally struct {
	mu     sync.Mutex
	calls  map[string]map[int]int // by path, then status; 0 is no answer
	faults []string               // the first few, in words
}

func (t *tally) count(path string, status int, says []byte, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]map[int]int{}
	}
	if t.calls[path] == nil {
		t.calls[path] = map[int]int{}
	}
	t.calls[path][status]++
	if (err != nil || status != http.StatusOK) && len(t.faults) < 10 {
		t.faults = append(t.faults, fmt.Sprintf("%s: %d %.300s %v", path, status, says, err))
	}
}

// answered is how many calls had an answer, of whatever status.
func (t *tally) answered() int { return t.sum(func(status int) bool { return status != 0 }) }

// bad is how many calls were answered otherwise than well, or not at all. Every
// body of this traffic is valid, so that a 4xx is a fault as well.
func (t *tally) bad() int { return t.sum(func(status int) bool { return status != http.StatusOK }) }

func (t *tally) sum(of func(status int) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, statuses := range t.calls {
		for status, count := range statuses {
			if of(status) {
				n += count
			}
		}
	}
	return n
}
