package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// The deadlines that the service promises for one call, plus one second for a slow machine.
const (
	predictDeadline = 5*time.Second + time.Second
	observeDeadline = 10*time.Second + time.Second
)

// traffic runs callers in a closed loop. Each caller sends a prediction request, then a report, which it repeats until the
// report is acknowledged or the caller gives up. Without an answer it continues with the next replica.
type traffic struct {
	urls            []string
	reports         *testcluster.ReportLog
	tasks           []testcluster.Task
	seed            uint64
	label           string           // prefix of the run ids, different for each traffic to a cluster
	pause           time.Duration    // between the calls of one caller
	pick            func(int) string // returns the address for a replica number, which may exceed the number of replicas; urls in turn if nil
	expectsNoAnswer bool             // a call without an answer is expected, and not noted as a failure

	client  *http.Client
	mu      sync.Mutex
	counted callCounts
	ending  chan struct{} // closed by stop
	running sync.WaitGroup
}

type callCounts struct {
	Predicted, Observed int // answered with 200
	Rejected            int // 429 or 503 with Retry-After
	NoRetryAfter        int // 429 or 503 without Retry-After
	NoAnswer            int // no complete answer
	Late                int // calls that ended after the deadline; also counted by their result
	Failed              int // any other status
	PredictRejected     int // prediction requests among Rejected
	Unacked             int
	FirstFailure        string
	predictTimes        []time.Duration
	observeTimes        []time.Duration
	lastAck             time.Time
}

func (t *callCounts) String() string {
	text := fmt.Sprintf("predict 200: %d (p99 %v, max %v), observe 200: %d (p99 %v, max %v), rejected %d (predict %d), no answer %d, no Retry-After %d, late %d, failed %d",
		t.Predicted, quantile(t.predictTimes, 0.99), quantile(t.predictTimes, 1), t.Observed, quantile(t.observeTimes, 0.99), quantile(t.observeTimes, 1),
		t.Rejected, t.PredictRejected, t.NoAnswer, t.NoRetryAfter, t.Late, t.Failed)
	if t.FirstFailure != "" {
		text += "; first failure: " + t.FirstFailure
	}
	return text
}

// quantile returns a quantile of the times, rounded to 0.1 ms, or 0 if there are none.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	return times[min(len(times)-1, int(q*float64(len(times))))].Round(100 * time.Microsecond)
}

func addresses(replicas []*testcluster.Replica) (urls []string) {
	for _, r := range replicas {
		urls = append(urls, r.URL)
	}
	return urls
}

func (t *traffic) start(ctx context.Context, n int) {
	t.client = &http.Client{
		Timeout:   30 * time.Second, // far above the deadlines, so that late answers are counted
		Transport: &http.Transport{MaxIdleConnsPerHost: n, IdleConnTimeout: 10 * time.Second},
	}
	t.ending = make(chan struct{})
	for i := range n {
		t.running.Go(func() { t.runCaller(ctx, i) })
	}
}

// stop ends the callers and returns their counts. It waits until the last report of each caller is acknowledged or given up.
func (t *traffic) stop() callCounts {
	close(t.ending)
	t.running.Wait()
	t.client.CloseIdleConnections()
	return t.counts()
}

func (t *traffic) counts() callCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counted
}

func (t *traffic) ended() bool {
	select {
	case <-t.ending:
		return true
	default:
		return false
	}
}

// runCaller runs one caller until stop. The seed and the number of the caller determine its requests.
func (t *traffic) runCaller(ctx context.Context, number int) {
	random := rand.New(rand.NewPCG(t.seed, uint64(number)))
	replica := number
	for n := 0; !t.ended() && ctx.Err() == nil; n++ {
		task := t.tasks[random.IntN(len(t.tasks))]
		runID := fmt.Sprintf("%s-%03d-%06d", t.label, number, n)
		if status := t.call(ctx, replica, "/predict", testcluster.PredictBody(random, task, runID)); status == 0 {
			replica++
		}
		time.Sleep(t.pause)
		t.report(ctx, &replica, testcluster.DrawRun(random, task, runID))
		time.Sleep(t.pause)
	}
}

// report repeats one report until it is acknowledged, but at most until ctx ends or 30 s after stop. After a missing answer
// it continues with the next replica.
func (t *traffic) report(ctx context.Context, replica *int, o testcluster.Observation) {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // cannot happen: the body contains numbers, strings and bools
	}
	t.reports.RecordSent(o)
	var giveUp time.Time
	for ctx.Err() == nil {
		switch status := t.call(ctx, *replica, "/observe", body); status {
		case http.StatusOK:
			t.reports.RecordAcked(o)
			return
		case 0:
			*replica++
		}
		time.Sleep(20 * time.Millisecond)
		if t.ended() && giveUp.IsZero() {
			giveUp = time.Now().Add(30 * time.Second)
		}
		if !giveUp.IsZero() && time.Now().After(giveUp) {
			break
		}
	}
	t.mu.Lock()
	t.counted.Unacked++
	t.mu.Unlock()
}

// call sends one request, counts its result, and returns the status; 0 without an answer.
func (t *traffic) call(ctx context.Context, replica int, path string, body []byte) int {
	url := t.address(replica) + path
	start := time.Now()
	status, retryAfter, answer := t.send(ctx, url, body)
	took := time.Since(start)
	if ctx.Err() != nil {
		return status // the trial has ended: no failure of the service
	}
	deadline, isPredict := observeDeadline, strings.HasSuffix(path, "/predict")
	if isPredict {
		deadline = predictDeadline
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counted
	if took > deadline {
		c.Late++
		c.noteFailure("%s took %v: %d %s", url, took, status, answer)
	}
	switch {
	case status == http.StatusOK && isPredict:
		c.Predicted++
		c.predictTimes = append(c.predictTimes, took)
	case status == http.StatusOK:
		c.Observed++
		c.observeTimes = append(c.observeTimes, took)
		c.lastAck = time.Now()
	case status == 0:
		c.NoAnswer++
		if !t.expectsNoAnswer {
			c.noteFailure("%s: %s", url, answer)
		}
	case status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
		c.Failed++
		c.noteFailure("%s: %d %s", url, status, answer)
	case retryAfter == "":
		c.NoRetryAfter++
		c.noteFailure("%s: %d without Retry-After", url, status)
	default:
		c.Rejected++
		if isPredict {
			c.PredictRejected++
		}
	}
	return status
}

// address returns the address for a replica number, which may exceed the number of replicas.
func (t *traffic) address(n int) string {
	if t.pick != nil {
		return t.pick(n)
	}
	return t.urls[n%len(t.urls)]
}

func (t *callCounts) noteFailure(format string, args ...any) {
	if t.FirstFailure == "" {
		t.FirstFailure = fmt.Sprintf(format, args...)
	}
}

// send sends one request. Without an answer, it returns the status 0 and the error as the answer.
func (t *traffic) send(ctx context.Context, url string, body []byte) (status int, retryAfter, answer string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return 0, "", err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", err.Error() // a truncated answer counts as none
	}
	return response.StatusCode, response.Header.Get("Retry-After"), string(text)
}

// checkTraffic checks what most trials with traffic must show.
func (tr *trialRun) checkTraffic(ctx context.Context, name string, counts callCounts, cluster *testcluster.Cluster) {
	tr.printf("%s: %v", name, &counts)
	tr.check(counts.Predicted > 0 && counts.Observed > 0, "%s: no call was answered", name)
	tr.check(counts.Late == 0, "%s: %d calls beyond their deadline", name, counts.Late)
	tr.check(counts.Failed == 0, "%s: %d calls failed", name, counts.Failed)
	tr.check(counts.NoRetryAfter == 0, "%s: %d rejections without Retry-After", name, counts.NoRetryAfter)
	tr.check(counts.Unacked == 0, "%s: %d reports were never acknowledged", name, counts.Unacked)
	tr.checkReports(ctx, name, cluster)
}

func (tr *trialRun) checkReports(ctx context.Context, name string, cluster *testcluster.Cluster) {
	b, err := cluster.Reports.Check(ctx, cluster.Postgres.DSN())
	tr.printf("%s: reports: %v", name, b)
	tr.check(err == nil && b.IsConsistent(), "%s: the stored reports differ from those sent: %v %v", name, b, err)
}
