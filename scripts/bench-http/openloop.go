package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// openLoop sends requests at a fixed rate while fewer than openLoopWorkers requests wait for an answer. It measures the
// latency from the scheduled time of a request, so that a stall of the server counts for all requests that it delays.
type openLoop struct {
	url, token string
	bodies     []string // sent in turn; a unique text replaces counterPlaceholder
	rate       float64  // requests per second
	length     time.Duration
}

// openLoopResult has sorted latencies. They include failed requests, and a zero for each request that was not sent because
// the context ended.
type openLoopResult struct {
	latencies []time.Duration
	errors    int
}

// quantile returns a quantile of the latencies, or 0 if there are none.
func (p openLoopResult) quantile(q float64) time.Duration {
	if len(p.latencies) == 0 {
		return 0
	}
	return p.latencies[min(len(p.latencies)-1, int(q*float64(len(p.latencies))))]
}

const openLoopWorkers = 128

// measureMaximum returns the answered requests per second if each worker sends its next request as soon as it has an answer.
// This is the maximum of the load generator and the server together, because they share the machine.
func (p openLoop) measureMaximum(ctx context.Context) float64 {
	p.rate = 1e6 // requests are due faster than any server answers
	ctx, cancel := context.WithTimeout(ctx, p.length)
	defer cancel()
	start := time.Now()
	got := p.run(ctx)
	unsent, _ := slices.BinarySearch(got.latencies, 1) // a request with the latency 0 was not sent
	return float64(len(got.latencies)-unsent-got.errors) / time.Since(start).Seconds()
}

// openLoopRuns counts the calls of openLoop.run, so that no two calls send the same try.
var openLoopRuns atomic.Int64

// run sends the requests, waits for all answers and returns the latencies. If ctx ends, it does not send the remaining
// requests.
func (p openLoop) run(ctx context.Context) openLoopResult {
	transport := &http.Transport{MaxIdleConnsPerHost: openLoopWorkers}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	run, start := openLoopRuns.Add(1), time.Now()
	latencies := make([]time.Duration, int(p.rate*p.length.Seconds()))
	var next, failed atomic.Int64
	var workers sync.WaitGroup
	for range openLoopWorkers {
		workers.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(latencies) || ctx.Err() != nil {
					return
				}
				due := start.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
				time.Sleep(time.Until(due))
				body := strings.ReplaceAll(p.bodies[i%len(p.bodies)], counterPlaceholder, fmt.Sprintf("paced-%d-%d", run, i))
				if !p.post(ctx, &client, body) {
					failed.Add(1)
				}
				latencies[i] = time.Since(due)
			}
		})
	}
	workers.Wait()
	slices.Sort(latencies)
	return openLoopResult{latencies: latencies, errors: int(failed.Load())}
}

// post reports whether a complete answer with the status 200 came back.
func (p openLoop) post(ctx context.Context, client *http.Client, body string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewBufferString(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.token)
	got, err := client.Do(r)
	if err != nil {
		return false
	}
	defer got.Body.Close()
	_, err = io.Copy(io.Discard, got.Body)
	return err == nil && got.StatusCode == http.StatusOK
}
