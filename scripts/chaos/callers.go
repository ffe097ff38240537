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

// callers generates closed-loop load without pauses, one connection per caller. Each caller
// sends three prediction requests, then a report, so that the mix does not depend on the
// number of callers. After a rejection it waits for Retry-After.
type callers struct {
	addr     string
	tasks    []testcluster.Task
	predicts [][]byte // drawn before the run, so that drawing does not limit the load
	seed     uint64
	ledger   *testcluster.Ledger
	server   *testcluster.Replica
}

func newCallers(cluster *testcluster.Cluster, tasks []testcluster.Task, seed uint64) *callers {
	server := cluster.Replicas[0]
	c := &callers{addr: strings.TrimPrefix(server.URL, "http://"), tasks: tasks, seed: seed, ledger: cluster.Ledger, server: server}
	random := rand.New(rand.NewPCG(seed, 9))
	for i := range 256 {
		c.predicts = append(c.predicts, testcluster.PredictBody(random, tasks[random.IntN(len(tasks))], fmt.Sprintf("ask-%d", i)))
	}
	return c
}

// loadRun is the result of a number of callers during a time.
type loadRun struct {
	connections       int
	length            time.Duration
	cpu               time.Duration // CPU time of the server
	predicts, reports callStats
	noRetryAfter      int // rejections without Retry-After
	failed            int // calls that were neither answered with 200 nor rejected
	firstFault        string
	buckets           []int // answers with 200 per bucket of time
}

// callStats counts the prediction requests, or the reports, by result.
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

// rejectedRatio returns the rejected part of the calls.
func (s *callStats) rejectedRatio() float64 {
	return float64(s.rejected) / float64(max(1, s.rejected+s.good))
}

// goodput returns the answers with 200 per second.
func (g *loadRun) goodput() float64 {
	return float64(g.predicts.good+g.reports.good) / g.length.Seconds()
}

// predictGoodput returns the predictions answered with 200 per second.
func (g *loadRun) predictGoodput() float64 { return float64(g.predicts.good) / g.length.Seconds() }

// perCPU returns the answers with 200 per second of the server's CPU time, which other load on
// the machine does not change.
func (g *loadRun) perCPU() float64 {
	return float64(g.predicts.good+g.reports.good) / max(0.01, g.cpu.Seconds())
}

// rejectionTimes returns the latencies of all rejections.
func (g *loadRun) rejectionTimes() []time.Duration {
	return append(append([]time.Duration(nil), g.predicts.rejectedTimes...), g.reports.rejectedTimes...)
}

func (g *loadRun) String() string {
	return fmt.Sprintf("%4d connections: %6.0f/s (predict %.0f/s p50 %v p99 %v; observe %.0f/s p99 %v), rejected: predict %.1f %%, observe %.1f %%, after p50 %v p99 %v; failed %d, no Retry-After %d",
		g.connections, g.goodput(), g.predictGoodput(), quantile(g.predicts.goodTimes, 0.5), quantile(g.predicts.goodTimes, 0.99),
		float64(g.reports.good)/g.length.Seconds(), quantile(g.reports.goodTimes, 0.99),
		100*g.predicts.rejectedRatio(), 100*g.reports.rejectedRatio(), quantile(g.rejectionTimes(), 0.5), quantile(g.rejectionTimes(), 0.99), g.failed, g.noRetryAfter)
}

// cpuTime returns the user and system time of a process. The kernel counts in 1/100 s.
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
	user, _ := strconv.Atoi(fields[11]) // a number, according to proc(5)
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// bucketLength is the resolution of loadRun.buckets.
const bucketLength = 100 * time.Millisecond

// run connects n callers and then runs them for a while. The run ids begin with the label,
// which must differ between the runs of one cluster.
func (c *callers) run(ctx context.Context, label string, n int, length time.Duration) *loadRun {
	g := &loadRun{connections: n, length: length, buckets: make([]int, length/bucketLength+1)}
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
			one := &loadRun{buckets: make([]int, len(g.buckets))}
			if err != nil {
				one.fail("connect: %v", err)
			}
			c.call(ctx, conn, one, fmt.Sprintf("%s-%04d", label, i), i, start, length)
			mu.Lock()
			defer mu.Unlock()
			g.add(one)
		})
	}
	connected.Wait()
	g.cpu = -cpuTime(c.server.PID())
	start = time.Now()
	close(started)
	ended.Wait()
	g.cpu += cpuTime(c.server.PID())
	return g
}

func (g *loadRun) add(one *loadRun) {
	g.predicts.add(&one.predicts)
	g.reports.add(&one.reports)
	g.noRetryAfter += one.noRetryAfter
	g.failed += one.failed
	if g.firstFault == "" {
		g.firstFault = one.firstFault
	}
	for i, k := range one.buckets {
		g.buckets[i] += k
	}
}

// call runs one caller; every fourth of its calls is a report.
func (c *callers) call(ctx context.Context, conn *wireConn, g *loadRun, label string, number int, start time.Time, length time.Duration) {
	random := rand.New(rand.NewPCG(c.seed, uint64(number)))
	for n := 0; time.Since(start) < length && ctx.Err() == nil; n++ {
		isReport := (number+n)%4 == 3
		path, stats := "/predict", &g.predicts
		if isReport {
			path, stats = "/observe", &g.reports
		}
		body := c.predicts[(number+n)%len(c.predicts)]
		var o testcluster.Observation
		if isReport {
			o = testcluster.DrawRun(random, c.tasks[random.IntN(len(c.tasks))], fmt.Sprintf("%s-%06d", label, n))
			body, _ = json.Marshal(o) // cannot fail: the report holds only numbers and strings
			c.ledger.RecordSent(o)
		}
		sent := time.Now()
		a, err := conn.post(path, body, observeDeadline)
		took := time.Since(sent)
		switch {
		case err != nil:
			g.fail("%s: %v", path, err)
		case a.status == http.StatusOK:
			stats.good++
			stats.goodTimes = append(stats.goodTimes, took)
			if at := int(time.Since(start) / bucketLength); at < len(g.buckets) {
				g.buckets[at]++
			}
			if isReport {
				c.ledger.RecordAcked(o)
			}
		case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
			stats.rejected++
			stats.rejectedTimes = append(stats.rejectedTimes, took)
			if !a.hasRetryAfter {
				g.noRetryAfter++
			}
			// Jitter keeps callers that were rejected together from returning together.
			wait := a.retryAfter + time.Duration(random.Int64N(int64(200*time.Millisecond)))
			time.Sleep(min(wait, length-time.Since(start)))
		default:
			g.fail("%s: status %d", path, a.status)
		}
	}
}

func (g *loadRun) fail(format string, args ...any) {
	g.failed++
	if g.firstFault == "" {
		g.firstFault = fmt.Sprintf(format, args...)
	}
	time.Sleep(10 * time.Millisecond)
}

// recoveryTime returns the time until the goodput reached a rate during half a second.
func (g *loadRun) recoveryTime(rate float64) time.Duration {
	const half = 5 // buckets
	for i := 0; i+half <= len(g.buckets); i++ {
		sum := 0
		for _, k := range g.buckets[i : i+half] {
			sum += k
		}
		if float64(sum)*2 >= rate {
			return time.Duration(i+half) * bucketLength
		}
	}
	return g.length + bucketLength
}
