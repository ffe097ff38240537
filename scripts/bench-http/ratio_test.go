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

func TestARatioIsTakenWithinItsRound(t *testing.T) {
	// The machine is half as fast in the second round, for both: the ratio does not move.
	r := ratioOf([]float64{60, 30, 64}, []float64{100, 50, 100})
	assert.Equal(t, "0.60 [0.60 .. 0.64]", r.String())
	assert.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 1e-12)
}

// serving is this process as the server of a turn.
func serving(t *testing.T, handler http.Handler) (string, *server) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	process, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	return s.URL, &server{cmd: &exec.Cmd{Process: process}, url: s.URL}
}

// slowed is the fault that the measurement must see.
func slowed(next http.Handler, by time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(by)
		next.ServeHTTP(w, r)
	})
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: make bench-http does that", program)
	}
}

func TestAHandlerSlowedOnPurposeMakesTheRatioFall(t *testing.T) {
	needs(t, "wrk")
	fast, server := serving(t, echo())
	slow, _ := serving(t, slowed(echo(), 20*time.Millisecond))
	bodies := asks(1, name, 4, 1)
	at := func(url string) turn {
		return turn{load{url: url + "/", token: "t", bodies: bodies, connections: 4, span: time.Second}, server}
	}
	all, err := turns(context.Background(), 2, at(slow), at(fast))
	require.NoError(t, err)
	// Four connections that wait 20 ms each are answered 200 times a second at most.
	assert.Less(t, median(all[0].rates), 210.0)
	assert.Less(t, ratioOf(all[0].rates, all[1].rates).median, 0.6)
}

func TestAnErrorIsNoAnswer(t *testing.T) {
	needs(t, "wrk")
	url, _ := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }))
	_, err := load{url: url + "/", token: "t", bodies: asks(1, name, 4, 1), connections: 2, span: time.Second}.run(context.Background())
	assert.ErrorContains(t, err, "not answered by 2xx")
}

// Every request is another try, and a batch asks about a hundred of them.
func TestEveryRequestIsAnotherTry(t *testing.T) {
	needs(t, "wrk")
	seen, twice := map[string]bool{}, 0
	lock := make(chan struct{}, 1)
	url, _ := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
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
					twice++
				}
				seen[run[:9]] = true
			}
		}
		<-lock
	}))
	for range 2 {
		_, err := load{url: url + "/", token: "t", bodies: asks(1, name, 3, 10), connections: 2, span: time.Second}.run(context.Background())
		require.NoError(t, err)
	}
	assert.Zero(t, twice)
	assert.Greater(t, len(seen), 100)
}
