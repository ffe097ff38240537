package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRatioComparesFiguresOfTheSameRound(t *testing.T) {
	// In the second round both loads are half as fast, so their ratio stays the same.
	r := ratioOf([]float64{60, 30, 64}, []float64{100, 50, 100})
	assert.Equal(t, "0.60 [0.60 .. 0.64]", r.String())
	assert.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 1e-12)
}

func serveInProcess(t *testing.T, handler http.Handler) (string, *server) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	process, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	return s.URL, &server{cmd: &exec.Cmd{Process: process}, url: s.URL}
}

func withDelay(next http.Handler, by time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(by)
		next.ServeHTTP(w, r)
	})
}

func requireProgram(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: run make bench-http, which installs it", program)
	}
}

func TestDelayLowersTheRatio(t *testing.T) {
	requireProgram(t, "wrk")
	fast, server := serveInProcess(t, echo())
	slow, _ := serveInProcess(t, withDelay(echo(), 200*time.Millisecond))
	bodies := predictBodies(1, predictedTask, 4, 1)
	at := func(url string) turn {
		return turn{load{url: url + "/", token: "t", bodies: bodies, connections: 4, length: time.Second}, server}
	}
	all, err := runTurns(context.Background(), 2, at(slow), at(fast))
	require.NoError(t, err)
	// Four connections with a delay of 200 ms get at most 20 answers per second.
	assert.Less(t, median(all[0].rates), 21.0)
	assert.Less(t, ratioOf(all[0].rates, all[1].rates).median, 0.6)
}

func TestErrorStatusFailsTheLoad(t *testing.T) {
	requireProgram(t, "wrk")
	url, _ := serveInProcess(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }))
	_, err := load{url: url + "/", token: "t", bodies: predictBodies(1, predictedTask, 4, 1), connections: 2, length: time.Second}.run(context.Background())
	assert.ErrorContains(t, err, "not answered with 2xx")
}

func TestEveryRequestHasAUniqueRunID(t *testing.T) {
	requireProgram(t, "wrk")
	seen, duplicates := map[string]bool{}, 0
	lock := make(chan struct{}, 1)
	url, _ := serveInProcess(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		for n := 0; n < len(body); {
			k, err := r.Body.Read(body[n:])
			if n += k; err != nil {
				break
			}
		}
		lock <- struct{}{}
		for part := range strings.SplitSeq(string(body), `"run_id":"`) {
			if run, ok := strings.CutPrefix(part, "scheduled__"); ok {
				if seen[run[:9]] {
					duplicates++
				}
				seen[run[:9]] = true
			}
		}
		<-lock
	}))
	for range 2 {
		_, err := load{url: url + "/", token: "t", bodies: predictBodies(1, predictedTask, 3, 10), connections: 2, length: time.Second}.run(context.Background())
		require.NoError(t, err)
	}
	assert.Zero(t, duplicates)
	assert.Greater(t, len(seen), 100)
}
