package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// callers generates closed-loop load, one connection per caller. A caller pauses only after a failure and after a rejection
// (status 429 or 503). Every fourth call of a caller is a report, the others request predictions, so the mix does not depend
// on the number of callers.
type callers struct {
	addr     string
	tasks    []testcluster.Task
	predicts [][]byte // bodies of prediction requests, drawn before the run so that drawing does not limit the load
	seed     uint64
	reports  *testcluster.ReportLog
	server   *testcluster.Replica // at addr
}

// newCallers returns callers of the first replica. The seed determines their requests.
func newCallers(cluster *testcluster.Cluster, tasks []testcluster.Task, seed uint64) *callers {
	server := cluster.Replicas[0]
	c := &callers{addr: strings.TrimPrefix(server.URL, "http://"), tasks: tasks, seed: seed, reports: cluster.Reports, server: server}
	random := rand.New(rand.NewPCG(seed, 9))
	for i := range 256 {
		c.predicts = append(c.predicts, testcluster.PredictBody(random, tasks[random.IntN(len(tasks))], fmt.Sprintf("ask-%d", i)))
	}
	return c
}

type loadRun struct {
	connections       int
	length            time.Duration
	cpu               time.Duration // CPU time of the server
	predicts, reports callStats
	noRetryAfter      int // rejections without Retry-After
	failed            int // calls that got neither a 200 nor a rejection, and failed connections
	firstFailure      string
	buckets           []int // answers with 200 in each bucketLength of the run
}

// callStats counts either the prediction requests or the reports.
type callStats struct {
	good, rejected           int
	goodTimes, rejectedTimes []time.Duration
}

func (s *callStats) add(o *callStats) {
	s.good += o.good
	s.rejected += o.rejected
	s.goodTimes = append(s.goodTimes, o.goodTimes...)
	s.rejectedTimes = append(s.rejectedTimes, o.rejectedTimes...)
}

// rejectedRatio returns the ratio of rejected calls to answered and rejected calls. It does not count failed calls.
func (s *callStats) rejectedRatio() float64 {
	return float64(s.rejected) / float64(max(1, s.rejected+s.good))
}

// goodput returns the number of answers with 200 per second.
func (l *loadRun) goodput() float64 {
	return float64(l.predicts.good+l.reports.good) / l.length.Seconds()
}

func (l *loadRun) predictGoodput() float64 { return float64(l.predicts.good) / l.length.Seconds() }

// perCPU returns the answers with 200 per second of the server's CPU time, a figure that hardly depends on other load on the
// machine.
func (l *loadRun) perCPU() float64 {
	return float64(l.predicts.good+l.reports.good) / max(0.01, l.cpu.Seconds())
}

func (l *loadRun) rejectionTimes() []time.Duration {
	return append(append([]time.Duration(nil), l.predicts.rejectedTimes...), l.reports.rejectedTimes...)
}

func (l *loadRun) String() string {
	return fmt.Sprintf("%4d connections: %6.0f/s (predict %.0f/s p50 %v p99 %v; observe %.0f/s p99 %v), rejected: predict %.1f %%, observe %.1f %%, latency of rejections p50 %v p99 %v; failed %d, no Retry-After %d",
		l.connections, l.goodput(), l.predictGoodput(), quantile(l.predicts.goodTimes, 0.5), quantile(l.predicts.goodTimes, 0.99),
		float64(l.reports.good)/l.length.Seconds(), quantile(l.reports.goodTimes, 0.99),
		100*l.predicts.rejectedRatio(), 100*l.reports.rejectedRatio(), quantile(l.rejectionTimes(), 0.5), quantile(l.rejectionTimes(), 0.99), l.failed, l.noRetryAfter)
}

// cpuTime returns the CPU time of a process, user and system time, or 0 if it is unknown. The kernel counts in 1/100 s.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, afterName, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(afterName)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // proc(5) documents both fields as numbers
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// bucketLength is the length of the intervals of loadRun.buckets.
const bucketLength = 100 * time.Millisecond

// run connects n callers and then runs them for the time `length`. The run ids of the reports begin with `label`, which must
// differ between the calls of `run` for one cluster.
func (c *callers) run(ctx context.Context, label string, n int, length time.Duration) *loadRun {
	l := &loadRun{connections: n, length: length, buckets: make([]int, length/bucketLength+1)}
	var mu sync.Mutex
	var connected, ended sync.WaitGroup
	var start time.Time
	started := make(chan struct{})
	for i := range n {
		connected.Add(1)
		ended.Go(func() {
			conn := &wireConn{addr: c.addr}
			defer conn.close()
			err := conn.dial(observeDeadline)
			connected.Done()
			<-started
			one := &loadRun{buckets: make([]int, len(l.buckets))}
			if err != nil {
				one.fail("connect: %v", err)
			}
			c.runCaller(ctx, conn, one, fmt.Sprintf("%s-%04d", label, i), i, start, length)
			mu.Lock()
			defer mu.Unlock()
			l.add(one)
		})
	}
	connected.Wait()
	l.cpu = -cpuTime(c.server.PID())
	start = time.Now()
	close(started)
	ended.Wait()
	l.cpu += cpuTime(c.server.PID())
	return l
}

func (l *loadRun) add(one *loadRun) {
	l.predicts.add(&one.predicts)
	l.reports.add(&one.reports)
	l.noRetryAfter += one.noRetryAfter
	l.failed += one.failed
	if l.firstFailure == "" {
		l.firstFailure = one.firstFailure
	}
	for i, n := range one.buckets {
		l.buckets[i] += n
	}
}

func (c *callers) runCaller(ctx context.Context, conn *wireConn, l *loadRun, label string, number int, start time.Time, length time.Duration) {
	random := rand.New(rand.NewPCG(c.seed, uint64(number)))
	for n := 0; time.Since(start) < length && ctx.Err() == nil; n++ {
		isReport := (number+n)%4 == 3
		path, stats := "/predict", &l.predicts
		if isReport {
			path, stats = "/observe", &l.reports
		}
		body := c.predicts[(number+n)%len(c.predicts)]
		var o testcluster.Observation
		if isReport {
			o = testcluster.DrawRun(random, c.tasks[random.IntN(len(c.tasks))], fmt.Sprintf("%s-%06d", label, n))
			body, _ = json.Marshal(o) // cannot fail: JSON can represent all values of the report
			c.reports.RecordSent(o)
		}
		sent := time.Now()
		a, err := conn.post(path, body, observeDeadline)
		took := time.Since(sent)
		switch {
		case err != nil:
			l.fail("%s: %v", path, err)
		case a.status == http.StatusOK:
			stats.good++
			stats.goodTimes = append(stats.goodTimes, took)
			if at := int(time.Since(start) / bucketLength); at < len(l.buckets) {
				l.buckets[at]++
			}
			if isReport {
				c.reports.RecordAcked(o)
			}
		case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
			stats.rejected++
			stats.rejectedTimes = append(stats.rejectedTimes, took)
			if !a.hasRetryAfter {
				l.noRetryAfter++
			}
			// Without jitter, callers that were rejected together would return together.
			wait := a.retryAfter + time.Duration(random.Int64N(int64(200*time.Millisecond)))
			time.Sleep(min(wait, length-time.Since(start)))
		default:
			l.fail("%s: status %d", path, a.status)
		}
	}
}

// fail counts a failure and keeps the text of the first one. It pauses, so that failures do not become a busy loop.
func (l *loadRun) fail(format string, args ...any) {
	l.failed++
	if l.firstFailure == "" {
		l.firstFailure = fmt.Sprintf(format, args...)
	}
	time.Sleep(10 * time.Millisecond)
}

// recoveryTime returns the time from the start of the run to the end of the first half second whose goodput reached `rate`,
// in answers per second; more than the length of the run if there was none.
func (l *loadRun) recoveryTime(rate float64) time.Duration {
	const halfSecond = 5 // buckets
	for i := 0; i+halfSecond <= len(l.buckets); i++ {
		sum := 0
		for _, n := range l.buckets[i : i+halfSecond] {
			sum += n
		}
		if float64(sum)*2 >= rate {
			return time.Duration(i+halfSecond) * bucketLength
		}
	}
	return l.length + bucketLength
}
