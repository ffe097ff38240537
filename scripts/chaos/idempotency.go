package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// operationCounts counts the answers to operations. An operation sends the same report 1 to 8 times. Its effects are the
// answers that the report was new; there must be exactly one.
type operationCounts struct {
	operations, calls   int
	recorded, duplicate int // answers that the report was new, and that it was a duplicate
	wrong               int // operations whose number of effects is not one, except those with mayHideRecorded
	altered, conflicts  int // reports with another body for a known try, and 409 answers to them
	retried             int // repetitions of calls after a 503, which may have hidden the answer "recorded"
	failed              int
	firstFailure        string
}

// trialIdempotency sends each report 1 to 8 times concurrently to 3 replicas, and for some tries then a report with another
// body.
func trialIdempotency(ctx context.Context, tr *trialRun) error {
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Replicas: 3})
	if err != nil {
		return err
	}
	defer cluster.Close()
	start := time.Now()
	e := sendDuplicates(ctx, cluster.Reports, addresses(cluster.Replicas), tasks, tr.seed, tr.repetitions(3_000, 100_000))
	tr.printf("%d operations in %d calls, %.0f calls/s: %d had one effect (or a 503 may hide it), %d answers were duplicate; %d other bodies, %d of them answered with 409; retried after 503: %d, failed %d",
		e.operations, e.calls, float64(e.calls)/time.Since(start).Seconds(), e.operations-e.wrong, e.duplicate, e.altered, e.conflicts, e.retried, e.failed)
	e.check(tr)
	tr.checkReports(ctx, "idempotency", cluster)
	return nil
}

// check checks that each operation had one effect, and that each other body got 409. It also records a failure if no other body
// was sent.
func (e *operationCounts) check(tr *trialRun) {
	tr.check(e.failed == 0, "%d calls failed: %s", e.failed, e.firstFailure)
	tr.check(e.wrong == 0, "%d operations had no effect or several: %s", e.wrong, e.firstFailure)
	tr.check(e.altered > 0 && e.conflicts == e.altered, "%d of %d other bodies were not answered with 409: %s", e.altered-e.conflicts, e.altered, e.firstFailure)
}

func sendDuplicates(ctx context.Context, reports *testcluster.ReportLog, urls []string, tasks []testcluster.Task, seed uint64, n int) *operationCounts {
	var (
		e       operationCounts
		mu      sync.Mutex
		workers sync.WaitGroup
		t       = &traffic{client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	)
	const concurrency = 8
	for w := range concurrency {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(100+w)))
			for i := w; i < n && ctx.Err() == nil; i += concurrency {
				o := testcluster.DrawRun(random, tasks[random.IntN(len(tasks))], fmt.Sprintf("twice-%07d", i))
				one := t.sendCopies(ctx, reports, urls, o, 1+random.IntN(8), random.IntN(10) == 0)
				mu.Lock()
				e.add(one)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return &e
}

func (e *operationCounts) add(one operationCounts) {
	e.operations++
	e.calls += one.calls
	e.recorded += one.recorded
	e.duplicate += one.duplicate
	e.failed += one.failed
	e.retried += one.retried
	e.altered += one.altered
	e.conflicts += one.conflicts
	if one.recorded != 1 && !one.mayHideRecorded() {
		e.wrong++
	}
	if e.firstFailure == "" {
		e.firstFailure = one.firstFailure
	}
}

// mayHideRecorded reports whether no caller got the answer "recorded", and a 503 may have replaced it.
func (e *operationCounts) mayHideRecorded() bool { return e.recorded == 0 && e.retried > 0 }

// postUntilAnswered repeats a call while the answer is 503, at most 30 times.
func (t *traffic) postUntilAnswered(ctx context.Context, url string, body []byte) (status, retries int, answer string) {
	for {
		if status, _, answer = t.send(ctx, url, body); status != http.StatusServiceUnavailable || retries == 30 {
			return status, retries, answer
		}
		retries++
		time.Sleep(100 * time.Millisecond)
	}
}

// sendCopies sends each copy to the next address. If `alter` is true, it then sends another body for the same try.
func (t *traffic) sendCopies(ctx context.Context, reports *testcluster.ReportLog, urls []string, o testcluster.Observation, copies int, alter bool) operationCounts {
	e := operationCounts{calls: copies}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // cannot happen: JSON can represent all values of the report
	}
	reports.RecordSent(o)
	answers := make([]string, copies)
	statuses, retries := make([]int, copies), make([]int, copies)
	var sent sync.WaitGroup
	for i := range copies {
		sent.Go(func() {
			statuses[i], retries[i], answers[i] = t.postUntilAnswered(ctx, urls[i%len(urls)]+"/observe", body)
		})
	}
	sent.Wait()
	for i := range copies {
		e.retried += retries[i]
		var answer struct {
			Recorded  bool `json:"recorded"`
			Duplicate bool `json:"duplicate"`
		}
		switch {
		case statuses[i] != http.StatusOK || json.Unmarshal([]byte(answers[i]), &answer) != nil || !answer.Recorded:
			e.failed++
			e.firstFailure = cmp.Or(e.firstFailure, fmt.Sprintf("%s: %d %s", o.RunID, statuses[i], answers[i]))
		case answer.Duplicate:
			e.duplicate++
		default:
			e.recorded++
		}
	}
	if e.failed < copies {
		reports.RecordAcked(o)
	}
	if e.recorded != 1 && !e.mayHideRecorded() && e.firstFailure == "" {
		e.firstFailure = fmt.Sprintf("%s: %d of %d answers are \"recorded\" and not \"duplicate\"", o.RunID, e.recorded, copies)
	}
	if alter {
		e.altered++
		other := o
		other.Peak++
		body, _ := json.Marshal(other) // cannot fail, as above
		status, _, answer := t.postUntilAnswered(ctx, urls[copies%len(urls)]+"/observe", body)
		if status == http.StatusConflict {
			e.conflicts++
		} else if e.firstFailure == "" {
			e.firstFailure = fmt.Sprintf("%s with another peak: %d %s", o.RunID, status, answer)
		}
	}
	return e
}
