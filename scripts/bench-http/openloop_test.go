package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A stall of 300 ms must count for the requests that it delays, not only for one.
func TestStallCountsForDelayedRequests(t *testing.T) {
	var mu sync.Mutex
	requests := 0
	url, _ := serveInProcess(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if requests++; requests == 50 {
			time.Sleep(300 * time.Millisecond)
		}
	}))
	got := openLoop{url: url, bodies: predictBodies(1, predictedTask, 2, 1), rate: 200, length: time.Second}.run(context.Background())
	assert.Len(t, got.latencies, 200)
	assert.Zero(t, got.errors)
	late := 0
	for _, latency := range got.latencies {
		if latency > 100*time.Millisecond {
			late++
		}
	}
	assert.Greater(t, late, 20, "more than 20 of the 60 requests scheduled during the stall must be late")
	assert.GreaterOrEqual(t, got.quantile(0.999), 250*time.Millisecond)
}

func TestRejectedRequestsAreCounted(t *testing.T) {
	url, _ := serveInProcess(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }))
	got := openLoop{url: url, bodies: predictBodies(1, predictedTask, 2, 1), rate: 100, length: time.Second}.run(context.Background())
	assert.Equal(t, 100, got.errors)
}

func TestPlotHasOneBarPerSize(t *testing.T) {
	picture := plot([]sizeResult{{size: size{10, 1000, 1, 10}, p50: time.Millisecond}, {size: size{1000, 1000, 1, 1000}, p50: 2 * time.Millisecond}})
	assert.Equal(t, 2, strings.Count(picture, "<rect"))
	assert.Contains(t, picture, "2.00 ms")
}

func TestEveryRequestHasUnseenFeature(t *testing.T) {
	for _, body := range withUnseenFeature(predictBodies(1, predictedTask, 50, 3)) {
		assert.Equal(t, 3, strings.Count(body, `"elasticity":0.`+counterPlaceholder))
		assert.Equal(t, 6, strings.Count(body, counterPlaceholder), "each of the 3 tasks must have an unseen feature and a unique run id")
	}
}
