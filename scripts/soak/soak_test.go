package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// trendOf returns the trend of a gauge that is sampled once per second for ten minutes.
func trendOf(value func(second float64) float64) Trend {
	var seconds, values []float64
	for i := range 600 {
		seconds = append(seconds, float64(i))
		values = append(values, value(float64(i)))
	}
	return fitTrend(seconds, values)
}

func TestTrendSeparatesLeaksFromVariation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const mib = 1 << 20
	sawtooth := func(s float64) float64 { return (80 + 60*math.Mod(s/17, 1)) * mib }
	for name, c := range map[string]struct {
		value func(float64) float64
		flat  bool
	}{
		"constant":                            {func(float64) float64 { return 100 * mib }, true},
		"the sawtooth of a garbage collector": {sawtooth, true},
		"noise of 20 %":                       {func(float64) float64 { return (100 + 20*random.NormFloat64()) * mib }, true},
		"one training that needs 500 MiB":     {func(s float64) float64 { return (100 + 500*step(s > 300 && s < 360)) * mib }, true},
		"memory released after the start":     {func(s float64) float64 { return (100 + 100*math.Exp(-s/60)) * mib }, true},
		"2 MiB per minute":                    {func(s float64) float64 { return (100 + 2*s/60) * mib }, false},
		"2 MiB per minute below a sawtooth":   {func(s float64) float64 { return sawtooth(s) + 2*s/60*mib }, false},
	} {
		flat, description := gauges[0].allowed.flat("memory", "MiB", mib, trendOf(c.value))
		assert.Equal(t, c.flat, flat, "%s: %s", name, description)
	}
	flat, _ := gauges[2].allowed.flat("goroutines", "", 1, trendOf(func(s float64) float64 { return 40 + s/10 }))
	assert.False(t, flat, "six more goroutines per minute must not count as flat")
}

func step(up bool) float64 {
	if up {
		return 1
	}
	return 0
}

func TestTrendOfALineHasItsSlope(t *testing.T) {
	trend := trendOf(func(s float64) float64 { return 5 + 3*s })
	assert.InDelta(t, 3, trend.Slope, 1e-12)
	assert.InDelta(t, 3*599, trend.Growth(), 1e-9)
	assert.Zero(t, fitTrend(nil, nil))
}

func trafficTo(t *testing.T, metrics func(calls int64) string, answer http.HandlerFunc) *traffic {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprint(w, metrics(calls.Load()))
			return
		}
		calls.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	replica := &testcluster.Replica{URL: server.URL, Admin: server.URL}
	return &traffic{replicas: []*testcluster.Replica{replica}, tasks: []testcluster.Task{{DAG: "d", Task: "t"}}, seed: 1, callers: 4, rate: 200}
}

func metricsPage(goroutines, heapGoal int64) string {
	return fmt.Sprintf("# HELP x\ngo_goroutines %d\ngo_memstats_next_gc_bytes %d\nprocess_open_fds 20\n"+
		"process_resident_memory_bytes 1.5e+08\nother{a=\"b\"} 1\n", goroutines, heapGoal)
}

// answerOK answers a prediction request. The limit is below every peak.
func answerOK(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"memory": {"limit_bytes": 1}}`)
}

func TestSoakFindsFaults(t *testing.T) {
	steady := func(int64) string { return metricsPage(40, 400<<20) }
	var n atomic.Int64
	for name, c := range map[string]struct {
		metrics func(int64) string
		answer  http.HandlerFunc
		passes  bool
	}{
		"no fault":                  {steady, answerOK, true},
		"a goroutine leak per call": {func(calls int64) string { return metricsPage(40+calls, 400<<20) }, answerOK, false},
		"a memory leak per call":    {func(calls int64) string { return metricsPage(40, 400<<20+calls<<16) }, answerOK, false},
		"an occasional 500": {steady, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%50 == 0 {
				http.Error(w, "broken", http.StatusInternalServerError)
				return
			}
			answerOK(w, r)
		}, false},
		"an occasional invalid answer": {steady, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%50 == 0 {
				fmt.Fprint(w, "{")
				return
			}
			answerOK(w, r)
		}, false},
		"an occasional closed connection": {steady, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%50 == 0 {
				panic(http.ErrAbortHandler)
			}
			answerOK(w, r)
		}, false},
	} {
		p := trafficTo(t, c.metrics, c.answer)
		err := soak(context.Background(), p, 3*time.Second)
		if c.passes {
			assert.NoError(t, err, name)
			assert.Contains(t, fmt.Sprint(p.counts.calls), "/retry-lift", "a lift must follow an OOM kill")
		} else {
			assert.ErrorIs(t, err, errNotFlat, name)
		}
	}
}

func TestAnInterruptedSoakFails(t *testing.T) {
	p := trafficTo(t, func(int64) string { return metricsPage(40, 400<<20) }, answerOK)
	ctx, interrupt := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer interrupt()
	assert.ErrorIs(t, soak(ctx, p, time.Hour), errInterrupted)
}

func TestMetricsAreParsed(t *testing.T) {
	read, err := parseMetrics(strings.NewReader(metricsPage(7, 9)))
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"go_goroutines": 7, "go_memstats_next_gc_bytes": 9, "process_open_fds": 20, "process_resident_memory_bytes": 1.5e8}, read)
	_, err = parseMetrics(strings.NewReader("a b\n"))
	assert.Error(t, err)
}
