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

// Deadlines that the service promises for one call, with a second for the machine.
const (
	predictWithin = 5*time.Second + time.Second
	observeWithin = 10*time.Second + time.Second
)

// traffic is callers in a closed loop: each asks, then reports, and repeats a report
// until it is acknowledged, at the next address where the one does not answer.
type traffic struct {
	urls    []string
	ledger  *testcluster.Ledger
	tasks   []testcluster.Task
	seed    uint64
	label   string           // of this traffic's runs: two that follow each other must not meet
	pause   time.Duration    // between the calls of one caller
	pick    func(int) string // the address for a caller's number; by urls if nil
	patient bool             // a connection that is refused is tried again elsewhere and is no failure

	client  *http.Client
	mu      sync.Mutex
	counted tally
	ending  chan struct{}
	callers sync.WaitGroup
}

// tally is what the callers saw.
type tally struct {
	Predicted, Observed int // answered by 200
	Refused             int // 429 or 503 with Retry-After
	Rude                int // 429 or 503 without Retry-After
	Broken              int // no answer: refused, reset, cut off
	Late                int // answered, or not, after the deadline
	Failed              int // any other status
	PredictRefused      int // of Refused and Broken: asks
	Unacked             int // reports that were given up at the end
	First               string
	predictTook         []time.Duration
	observeTook         []time.Duration
	lastAck             time.Time
}

func (t *tally) String() string {
	text := fmt.Sprintf("predict 200: %d (p99 %v, max %v), observe 200: %d (p99 %v, max %v), refused %d (asks %d), broken %d, rude %d, late %d, failed %d",
		t.Predicted, quantile(t.predictTook, 0.99), quantile(t.predictTook, 1), t.Observed, quantile(t.observeTook, 0.99), quantile(t.observeTook, 1),
		t.Refused, t.PredictRefused, t.Broken, t.Rude, t.Late, t.Failed)
	if t.First != "" {
		text += "; first fault: " + t.First
	}
	return text
}

// quantile is that of the durations, in tenths of a millisecond.
func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	took = slices.Sorted(slices.Values(took))
	return took[min(len(took)-1, int(q*float64(len(took))))].Round(100 * time.Microsecond)
}

// addresses are the URLs of replicas.
func addresses(replicas []*testcluster.Replica) (urls []string) {
	for _, r := range replicas {
		urls = append(urls, r.URL)
	}
	return urls
}

// start lets n callers go until stop.
func (t *traffic) start(ctx context.Context, n int) {
	t.client = &http.Client{
		Timeout:   30 * time.Second, // far beyond what is promised: what takes longer is late all the same
		Transport: &http.Transport{MaxIdleConnsPerHost: n, IdleConnTimeout: 10 * time.Second},
	}
	t.ending = make(chan struct{})
	for i := range n {
		t.callers.Go(func() { t.caller(ctx, i) })
	}
}

// stop ends the callers when their last report is acknowledged or given up, and
// returns what they saw.
func (t *traffic) stop() tally {
	close(t.ending)
	t.callers.Wait()
	t.client.CloseIdleConnections()
	return t.seen()
}

// seen is what was counted so far.
func (t *traffic) seen() tally {
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

func (t *traffic) caller(ctx context.Context, number int) {
	random := rand.New(rand.NewPCG(t.seed, uint64(number)))
	to := number
	for n := 0; !t.ended() && ctx.Err() == nil; n++ {
		task := t.tasks[random.IntN(len(t.tasks))]
		runID := fmt.Sprintf("%s-%03d-%06d", t.label, number, n)
		if status := t.call(ctx, to, "/predict", testcluster.PredictBody(random, task, runID)); status == 0 {
			to++
		}
		time.Sleep(t.pause)
		t.report(ctx, &to, testcluster.DrawRun(random, task, runID))
		time.Sleep(t.pause)
	}
}

// report repeats one report until it is acknowledged, for at most 30 s after the end.
func (t *traffic) report(ctx context.Context, to *int, o testcluster.Observation) {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // numbers and strings only
	}
	t.ledger.RecordSent(o)
	var giveUp time.Time
	for ctx.Err() == nil {
		switch status := t.call(ctx, *to, "/observe", body); status {
		case http.StatusOK:
			t.ledger.RecordAcked(o)
			return
		case 0:
			*to++
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

// call sends one request and counts what came back; 0 where nothing did.
func (t *traffic) call(ctx context.Context, to int, path string, body []byte) int {
	url := t.address(to) + path
	begun := time.Now()
	status, retryAfter, says := t.send(ctx, url, body)
	took := time.Since(begun)
	if ctx.Err() != nil {
		return status // the trial ended, not the service
	}
	within, predict := observeWithin, strings.HasSuffix(path, "/predict")
	if predict {
		within = predictWithin
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counted
	if took > within {
		c.Late++
		c.note("%s took %v: %d %s", url, took, status, says)
	}
	switch {
	case status == http.StatusOK && predict:
		c.Predicted++
		c.predictTook = append(c.predictTook, took)
	case status == http.StatusOK:
		c.Observed++
		c.observeTook = append(c.observeTook, took)
		c.lastAck = time.Now()
	case status == 0:
		c.Broken++
		if predict {
			c.PredictRefused++
		}
		if !t.patient {
			c.note("%s: %s", url, says)
		}
	case status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
		c.Failed++
		c.note("%s: %d %s", url, status, says)
	case retryAfter == "":
		c.Rude++
		c.note("%s: %d without Retry-After", url, status)
	default:
		c.Refused++
		if predict {
			c.PredictRefused++
		}
	}
	return status
}

func (t *traffic) address(n int) string {
	if t.pick != nil {
		return t.pick(n)
	}
	return t.urls[n%len(t.urls)]
}

// note keeps the first fault in words.
func (t *tally) note(format string, args ...any) {
	if t.First == "" {
		t.First = fmt.Sprintf(format, args...)
	}
}

func (t *traffic) send(ctx context.Context, url string, body []byte) (status int, retryAfter, says string) {
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
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", err.Error() // an answer that broke off is none
	}
	return response.StatusCode, response.Header.Get("Retry-After"), string(answer)
}

// settle holds what every trial holds: good manners, and books that balance.
func (s *sheet) settle(ctx context.Context, what string, seen tally, cluster *testcluster.Cluster) {
	s.tell("%s: %v", what, &seen)
	s.hold(seen.Predicted > 0 && seen.Observed > 0, "%s: nothing was answered", what)
	s.hold(seen.Late == 0, "%s: %d calls beyond their deadline", what, seen.Late)
	s.hold(seen.Failed == 0, "%s: %d calls failed", what, seen.Failed)
	s.hold(seen.Rude == 0, "%s: %d refusals without Retry-After", what, seen.Rude)
	s.hold(seen.Unacked == 0, "%s: %d reports were never acknowledged", what, seen.Unacked)
	s.balance(ctx, what, cluster)
}

func (s *sheet) balance(ctx context.Context, what string, cluster *testcluster.Cluster) {
	b, err := cluster.Ledger.Check(ctx, cluster.Postgres.DSN())
	s.tell("%s: ledger: %v", what, b)
	s.hold(err == nil && b.IsBalanced(), "%s: the books do not balance: %v %v", what, b, err)
}
