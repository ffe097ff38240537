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

// pace asks at a fixed rate, whether or not earlier questions were answered. What a
// question took is counted from when it was to be sent: a server that stalls is charged
// with all that had to wait for it.
type pace struct {
	url, token string
	bodies     []string
	rate       float64 // a second
	span       time.Duration
}

// paced is what came of it. Latencies are in order of size.
type paced struct {
	took   []time.Duration
	errors int
}

// at is the latency that a share of the questions stayed within.
func (p paced) at(share float64) time.Duration {
	if len(p.took) == 0 {
		return 0
	}
	return p.took[min(len(p.took)-1, int(share*float64(len(p.took))))]
}

const paceWorkers = 128

// most is how many questions a second are answered where each worker asks again at once:
// the maximum of this generator and this server together, for they share the machine.
func (p pace) most(ctx context.Context) float64 {
	p.rate = 1e6 // all are due at once
	ctx, cancel := context.WithTimeout(ctx, p.span)
	defer cancel()
	begun := time.Now()
	got := p.run(ctx)
	unsent, _ := slices.BinarySearch(got.took, 1)
	return float64(len(got.took)-unsent-got.errors) / time.Since(begun).Seconds()
}

var paceRuns atomic.Int64

func (p pace) run(ctx context.Context) paced {
	transport := &http.Transport{MaxIdleConnsPerHost: paceWorkers}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	run, begun := paceRuns.Add(1), time.Now()
	took := make([]time.Duration, int(p.rate*p.span.Seconds()))
	var next, failed atomic.Int64
	var workers sync.WaitGroup
	for range paceWorkers {
		workers.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(took) || ctx.Err() != nil {
					return
				}
				due := begun.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
				time.Sleep(time.Until(due))
				body := strings.ReplaceAll(p.bodies[i%len(p.bodies)], counterMark, fmt.Sprintf("paced-%d-%d", run, i))
				if !p.ask(ctx, &client, body) {
					failed.Add(1)
				}
				took[i] = time.Since(due)
			}
		})
	}
	workers.Wait()
	slices.Sort(took)
	return paced{took: took, errors: int(failed.Load())}
}

func (p pace) ask(ctx context.Context, client *http.Client, body string) bool {
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
