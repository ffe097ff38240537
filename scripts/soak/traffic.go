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

// traffic simulates runs and sends their requests to the replicas in turn. If rate is above zero, each request waits for its
// scheduled time.
type traffic struct {
	replicas []*testcluster.Replica
	tasks    []testcluster.Task
	seed     uint64
	callers  int
	rate     float64 // requests per second; if zero, each caller sends as soon as it has an answer

	started time.Time
	sent    atomic.Int64 // requests scheduled so far
	counts  callCounts
}

// run sends requests until ctx ends, and returns the answered requests per second. It completes the calls in flight, because a
// call that the caller aborts shows nothing about the server.
func (t *traffic) run(ctx context.Context) float64 {
	t.started = time.Now()
	var all sync.WaitGroup
	for c := range t.callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(t.seed, uint64(c)))
			for n := 0; ctx.Err() == nil; n++ {
				t.simulateRun(ctx, random, fmt.Sprintf("run-%d-%d-%d", t.seed, c, n))
			}
		})
	}
	all.Wait()
	return float64(t.counts.answered()) / time.Since(t.started).Seconds()
}

// simulateRun requests two predictions without a run id and one for the run, and reports the run. If the limit is below the
// peak, it adds an OOM kill and a lift, and the report is that of a second try.
func (t *traffic) simulateRun(ctx context.Context, random *rand.Rand, id string) {
	task := t.tasks[random.IntN(len(t.tasks))]
	for range 2 {
		t.call(ctx, "/predict", testcluster.PredictBody(random, task, ""))
	}
	run := testcluster.DrawRun(random, task, id)
	granted := t.call(ctx, "/predict", requestBody(run, nil))
	if limit := granted.Memory.LimitBytes; limit > 0 && limit < run.Peak {
		failed := map[string]any{"memory_bytes": limit}
		t.call(ctx, "/observe", requestBody(run, map[string]any{"try_number": 1, "outcome": "oom_killed", "allocated": failed}))
		t.call(ctx, "/retry-lift", requestBody(run, map[string]any{"try_number": 1, "failed": failed}))
		run.TryNumber = 2
	}
	t.call(ctx, "/observe", run)
}

// requestBody returns a body with the fields of a run that are known before its end, and with the fields `more`.
func requestBody(run testcluster.Observation, more map[string]any) map[string]any {
	body := map[string]any{"dag_id": run.DAG, "task_id": run.Task.Task, "run_id": run.RunID, "features": run.Features, "requested": run.Requested}
	for name, value := range more {
		body[name] = value
	}
	return body
}

type answer struct {
	Memory struct {
		LimitBytes int64 `json:"limit_bytes"`
	}
}

// call sends a request, counts its result and returns the answer. If rate is above zero, it waits for the scheduled time. It
// sends nothing after the end of ctx.
func (t *traffic) call(ctx context.Context, path string, body any) (got answer) {
	n := t.sent.Add(1)
	if t.rate > 0 {
		due := t.started.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return got
	}
	// The timeout is longer than the server's deadlines for these calls, so that the server ends the call.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	status, text, err := t.replicas[int(n)%len(t.replicas)].Call(bounded, http.MethodPost, path, body)
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal(text, &got)
	}
	t.counts.count(path, status, text, err)
	return got
}

type callCounts struct {
	mu     sync.Mutex
	calls  map[string]map[int]int // by path and status; 0 is no answer
	faulty int                    // calls without a valid 200 answer
	faults []string               // descriptions of the first ten faulty calls
}

// count counts a call. A 4xx is a fault, too, because every body is valid.
func (t *callCounts) count(path string, status int, text []byte, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]map[int]int{}
	}
	if t.calls[path] == nil {
		t.calls[path] = map[int]int{}
	}
	t.calls[path][status]++
	if err == nil && status == http.StatusOK {
		return
	}
	t.faulty++
	if len(t.faults) < 10 {
		t.faults = append(t.faults, fmt.Sprintf("%s: status %d %.300s %v", path, status, text, err))
	}
}

func (t *callCounts) answered() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, statuses := range t.calls {
		for status, count := range statuses {
			if status != 0 {
				n += count
			}
		}
	}
	return n
}
