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

// pace sends requests at a fixed rate, whether or not earlier ones were answered (open loop). It
// measures a latency from the scheduled time of the request, so that a stall of the server counts
// for all requests that it delays.
type pace struct {
	url, token string
	bodies     []string
	rate       float64 // requests per second
	length     time.Duration
}

// paceResult is the result of a run. The latencies are sorted.
type paceResult struct {
	latencies []time.Duration
	errors    int
}

// at returns a quantile of the latencies.
func (p paceResult) at(q float64) time.Duration {
	if len(p.latencies) == 0 {
		return 0
	}
	return p.latencies[min(len(p.latencies)-1, int(q*float64(len(p.latencies))))]
}

const paceWorkers = 128

// measureMaximum returns the answered requests per second if each worker sends the next one at once:
// the maximum of the load generator and the server together, since they share the machine.
func (p pace) measureMaximum(ctx context.Context) float64 {
	p.rate = 1e6 // all are scheduled at once
	ctx, cancel := context.WithTimeout(ctx, p.length)
	defer cancel()
	start := time.Now()
	got := p.run(ctx)
	unsent, _ := slices.BinarySearch(got.latencies, 1)
	return float64(len(got.latencies)-unsent-got.errors) / time.Since(start).Seconds()
}

var paceRuns atomic.Int64

func (p pace) run(ctx context.Context) paceResult {
	transport := &http.Transport{MaxIdleConnsPerHost: paceWorkers}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	run, start := paceRuns.Add(1), time.Now()
	latencies := make([]time.Duration, int(p.rate*p.length.Seconds()))
	var next, failed atomic.Int64
	var workers sync.WaitGroup
	for range paceWorkers {
		workers.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(latencies) || ctx.Err() != nil {
					return
				}
				due := start.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
				time.Sleep(time.Until(due))
				body := strings.ReplaceAll(p.bodies[i%len(p.bodies)], counterPlaceholder, fmt.Sprintf("paced-%d-%d", run, i))
				if !p.predict(ctx, &client, body) {
					failed.Add(1)
				}
				latencies[i] = time.Since(due)
			}
		})
	}
	workers.Wait()
	slices.Sort(latencies)
	return paceResult{latencies: latencies, errors: int(failed.Load())}
}

func (p pace) predict(ctx context.Context, client *http.Client, body string) bool {
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
