package backtest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
)

func pricingTrace(t *testing.T, rows int) *Trace {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "demo", "pricing.csv.gz"))
	require.NoError(t, err)
	trace, err := Read("demo", bytes.NewReader(data), Selection{Limit: rows})
	require.NoError(t, err)
	return trace
}

// replayOwn replays a trace with loadaware's own policy, and returns every row and the result as JSON.
func replayOwn(t *testing.T, trace *Trace, cfg Config, run func(*replay) error) string {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	cfg = cfg.withDefaults()
	cfg.OnStep = func(s Step) { require.NoError(t, lines.Encode(s)) }
	r := &replay{trace: trace, cfg: cfg, policy: newLoadawarePolicy(cfg), costs: newPolicyCosts()}
	require.NoError(t, run(r))
	require.NoError(t, lines.Encode(r.costs.result(Loadaware)))
	return out.String()
}

func TestWorkersDoNotChangeAReplay(t *testing.T) {
	trace := pricingTrace(t, 450)
	run := func(r *replay) error { return r.run(t.Context()) }
	want := replayOwn(t, trace, Config{}, run) // without workers: each training ends within Learn
	require.Equal(t, trace.Rows()+1, bytes.Count([]byte(want), []byte("\n")))
	for _, n := range []int{1, 3} {
		cfg := Config{workers: newWorkers(t.Context(), n)}
		assert.Equalf(t, want, replayOwn(t, trace, cfg, run), "%d workers", n)
		assert.True(t, cfg.workers.TryAcquire(int64(n)), "all workers are free")
	}
}

func TestSettingsReplayedTogetherGiveTheResultsOfSeparateReplays(t *testing.T) {
	trace := pricingTrace(t, 300)
	none := 0
	settings := []func(sizing.TaskKey) sizing.Policy{
		always(sizing.Policy{}),
		always(sizing.Policy{RiskTarget: 0.1, MaxLifts: &none, Cap: 16 * sizing.GiB}), // some runs never get enough memory, so their peaks stay unknown and the models learn other rows
		always(sizing.Policy{Floor: 20 * sizing.GiB}),
		always(sizing.Policy{RiskTarget: 0.2}),
		always(sizing.Policy{RiskTarget: 0.001}), // the fifth does not run in lockstep with the first four
	}
	var want []Result
	for i := range settings {
		alone, err := RunSettings(t.Context(), trace, Config{Workers: 1}, settings[i])
		require.NoError(t, err)
		want = append(want, alone...)
	}
	got, err := RunSettings(t.Context(), trace, Config{Workers: 3}, settings...)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func hasFree(w *workers, n int64) bool {
	isFree := w.TryAcquire(n)
	if isFree {
		w.Release(n)
	}
	return isFree
}

func TestReplaysLeaveHalfOfTheWorkersUnusedWhileBusy(t *testing.T) {
	trace := pricingTrace(t, 300)
	var isBusy atomic.Bool
	isBusy.Store(true)
	workers := newWorkers(t.Context(), 4)
	go workers.yieldWorkers(t.Context(), isBusy.Load)
	require.Eventually(t, func() bool { return !hasFree(workers, 3) }, testwait.Limit, time.Millisecond)
	want := replayOwn(t, trace, Config{}, func(r *replay) error { return r.run(t.Context()) })
	got := replayOwn(t, trace, Config{workers: workers}, func(r *replay) error { return r.run(t.Context()) })
	assert.Equal(t, want, got, "the figures do not depend on the number of workers")
	assert.True(t, hasFree(workers, 2), "half of the workers are available to replays while isBusy")
	assert.False(t, hasFree(workers, 3), "yieldWorkers occupies the other half")
	isBusy.Store(false)
	require.Eventually(t, func() bool { return hasFree(workers, 4) }, testwait.Limit, time.Millisecond)
}

func TestACancelledReplayEnds(t *testing.T) {
	trace := pricingTrace(t, 300)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := RunSettings(ctx, trace, Config{Workers: 2, Progress: func(int) { cancel() }}, always(sizing.Policy{}), always(sizing.Policy{RiskTarget: 0.1}))
	assert.ErrorIs(t, err, context.Canceled)
}
