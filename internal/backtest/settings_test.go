package backtest

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func demandTrace(t *testing.T) *Trace {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "demo", "pricing.csv.gz"))
	require.NoError(t, err)
	trace, err := Read("demo", bytes.NewReader(data), Selection{Tasks: []string{"predict_demand"}})
	require.NoError(t, err)
	return trace
}

func historyOf(t *Trace) sizing.History {
	h := sizing.History{Task: t.rows[0].Try.TaskKey}
	for i := range t.rows {
		h.Schema.Extend(t.rows[i].Features)
	}
	for i := range t.rows {
		r := &t.rows[i]
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: int64(i + 1), At: r.StartedAt, RunID: r.Try.RunID, MapIndex: r.Try.MapIndex, Try: 1, Outcome: sizing.Success,
			StartedAt: r.StartedAt, MemoryMax: r.MemoryMax, CPUMax: r.CPUMax, Duration: r.Duration, Requested: r.Requested, Features: h.Schema.Row(r.Features, nil), Weight: 1,
		})
	}
	return h
}

func always(p sizing.Policy) func(sizing.TaskKey) sizing.Policy {
	return func(sizing.TaskKey) sizing.Policy { return p }
}

func TestDefaultSettingsGiveTheFiguresOfABacktest(t *testing.T) {
	trace := demandTrace(t)
	report, err := Run(t.Context(), trace, Config{Policies: []string{Loadaware}})
	require.NoError(t, err)
	stored, err := NewTrace("stored", []sizing.History{historyOf(trace)}, math.MaxInt)
	require.NoError(t, err)
	require.Equal(t, trace.Rows(), stored.Rows())
	results, err := RunSettings(t.Context(), stored, Config{}, always(sizing.Policy{}))
	require.NoError(t, err)
	assert.Equal(t, report.Results[0].Figures, results[0].Figures)
}

func TestSettingsChangeTheReplay(t *testing.T) {
	trace := demandTrace(t)
	run := func(p sizing.Policy) Figures {
		results, err := RunSettings(t.Context(), trace, Config{}, always(p))
		require.NoError(t, err)
		return results[0].Figures
	}
	usual := run(sizing.Policy{})
	assert.Less(t, run(sizing.Policy{Floor: 100 * sizing.GiB}).Utilisation, usual.Utilisation)
	assert.Zero(t, run(sizing.Policy{Floor: 100 * sizing.GiB}).Kills)
	low := run(sizing.Policy{Cap: 16 * sizing.GiB})
	assert.Positive(t, low.GaveUp)
	assert.Less(t, low.Utilisation, usual.Utilisation, "a cap below the peaks of many runs saves nothing")
	none := 0
	assert.Zero(t, run(sizing.Policy{MaxLifts: &none, RiskTarget: 0.2}).Attempts-trace.Rows(), "without lifts each row has one attempt")
	assert.Less(t, run(sizing.Policy{Mode: sizing.Off}).Utilisation, usual.Utilisation)
	assert.Equal(t, *usual.Risk, *run(sizing.Policy{RiskTarget: sizing.DefaultRiskTarget}).Risk)
	assert.Less(t, run(sizing.Policy{RiskTarget: 0.0005}).Risk.Promised, usual.Risk.Promised)
}

// RunSettings on a stored history must give the same figures as Run on the same rows with the same settings.
func TestReplayOfStoredHistoryEqualsBacktest(t *testing.T) {
	trace := demandTrace(t)
	stored, err := NewTrace("stored", []sizing.History{historyOf(trace)}, math.MaxInt)
	require.NoError(t, err)
	none, five := 0, 5
	all := []sizing.Policy{
		{RiskTarget: 0.001},
		{RiskTarget: 0.1},
		{Floor: 20 * sizing.GiB},
		{Cap: 24 * sizing.GiB},
		{MaxLifts: &none, RiskTarget: 0.2},
		{MaxLifts: &five, RiskTarget: 0.2},
		{Grid: sizing.OnBins, Edges: sizing.Bins{10 * sizing.GiB, 20 * sizing.GiB, 60 * sizing.GiB, 350 * sizing.GiB}},
		{RiskTarget: 0.005, Floor: 2 * sizing.GiB, Cap: 64 * sizing.GiB},
	}
	var policies []func(sizing.TaskKey) sizing.Policy
	for _, settings := range all {
		policies = append(policies, always(settings))
	}
	results, err := RunSettings(t.Context(), stored, Config{}, policies...)
	require.NoError(t, err)
	seen := map[float64]bool{}
	for i, settings := range all {
		report, err := Run(t.Context(), trace, Config{Policies: []string{Loadaware}, Settings: settings})
		require.NoError(t, err)
		assert.Equalf(t, report.Results[0].Figures, results[i].Figures, "%+v", settings)
		assert.Falsef(t, seen[results[i].WastedGBh], "%+v wastes as much as other settings", settings)
		seen[results[i].WastedGBh] = true
	}
}

// HistoryRow.At is the end of a try if the end is known; here the test sets it. A replay with delayed feedback also needs
// HistoryRow.StartedAt.
func TestReplayOfAStoredHistoryLearnsRunsAtTheirEnds(t *testing.T) {
	notes := func(startKnown bool) []string {
		h := historyOf(readTrace(t, overlapping))
		for i := range h.Rows {
			if r := &h.Rows[i]; startKnown {
				r.At = r.StartedAt.Add(r.Duration)
			} else {
				r.StartedAt = time.Time{}
			}
		}
		trace, err := NewTrace("stored", []sizing.History{h}, math.MaxInt)
		require.NoError(t, err)
		policy := &recordingPolicy{limit: 2e9}
		r := replay{trace: trace, cfg: Config{Delayed: true}.withDefaults(), policy: policy, costs: newPolicyCosts()}
		require.NoError(t, r.run(t.Context()))
		return policy.notes
	}
	assert.Equal(t, []string{"predict a", "predict b", "learn b", "predict c", "learn a", "predict d"}, notes(true))
	assert.Equal(t, []string{"predict a", "learn a", "predict b", "learn b", "predict c", "learn c", "predict d", "learn d"}, notes(false),
		"a run without a start is learned at once")
}
