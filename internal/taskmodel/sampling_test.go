package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// scrapeEvery is the sampling interval of Prometheus.
const scrapeEvery = 30 * time.Second

// spiky draws one run as its memory in GiB, second by second. During one spike of 1 to 3 s the memory is 10 to 65 % higher.
func spiky(rng *rand.Rand) (f sizing.Features, series []float64) {
	rows := 1 + 9*rng.Float64()
	seconds := 120 + rng.IntN(900)
	spike, long, high := rng.IntN(seconds), 1+rng.IntN(3), 1.1+0.55*rng.Float64()
	series = make([]float64, seconds)
	for s := range series {
		series[s] = 0.3 * rows * math.Min(1, 0.2+float64(s)/60)
		if s >= spike && s < spike+long {
			series[s] *= high
		}
	}
	return sizing.Features{"rows": sizing.NumberValue(rows)}, series
}

// sampledPeak returns the largest value of samples at a fixed interval with a random start.
func sampledPeak(rng *rand.Rand, series []float64) float64 {
	every := int(scrapeEvery / time.Second)
	top := 0.0
	for s := rng.IntN(every); s < len(series); s += every {
		top = math.Max(top, series[s])
	}
	return top
}

// sampledHistory returns n sampled runs. Every measuredEvery-th run is also measured; 0: none.
func sampledHistory(rng *rand.Rand, n, measuredEvery int) sizing.History {
	k := &task{history: sizing.History{Task: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "spiky"}}}
	for i := range n {
		f, series := spiky(rng)
		row := measuredRun(0)
		row.MemorySampled, row.Duration = bytes(sampledPeak(rng, series)), time.Duration(len(series))*time.Second
		if measuredEvery > 0 && i%measuredEvery == 0 {
			row.MemoryMax = bytes(slices.Max(series))
			k.history.Pairs = append(k.history.Pairs, sizing.PeakPair{
				Task: k.history.Task, Exact: row.MemoryMax, Sampled: row.MemorySampled, Duration: row.Duration})
		}
		k.row(f, row)
	}
	return k.history
}

// evaluateGrants returns the share of new runs that need more than their grant, and the sum of the grants divided by the sum
// of the needed amounts.
func evaluateGrants(t *testing.T, h *sizing.History, seed uint64) (under, granted float64) {
	t.Helper()
	m, out, err := taskmodel.Fit(h, nil)
	require.NoError(t, err)
	require.True(t, out.Trained, out.Reason)
	const runs = 400
	rng := rand.New(rand.NewPCG(seed, 1))
	var needed float64
	for range runs {
		f, series := spiky(rng)
		need, got := slices.Max(series), float64(m.Size(question(f)).Limit)/float64(gib)
		needed, granted = needed+need, granted+got
		if got < need {
			under++
		}
	}
	return under / runs, granted / needed
}

func TestSamplingFactorsReduceUnderestimates(t *testing.T) {
	var before, after float64
	const seeds = 5
	for seed := range uint64(seeds) {
		h := sampledHistory(rand.New(rand.NewPCG(seed, 0)), 300, 5)
		unpaired := h
		unpaired.Pairs = nil
		underUnpaired, grantedUnpaired := evaluateGrants(t, &unpaired, seed)
		under, granted := evaluateGrants(t, &h, seed)
		t.Logf("seed %d: without pairs %.3f of the runs need more than their grant, with %d pairs %.3f; grants are %.2f and %.2f times the needed amounts",
			seed, underUnpaired, len(h.Pairs), under, grantedUnpaired, granted)
		before, after = before+underUnpaired/seeds, after+under/seeds
	}
	t.Logf("mean share of runs that need more than their grant: %.4f without pairs, %.4f with pairs", before, after)
	assert.Greater(t, before, 0.01, "share of runs that need more than their grant, without pairs")
	assert.Less(t, after, before/3)
}

func TestSampledPeaksStayUnchangedWithoutPairs(t *testing.T) {
	h := sampledHistory(rand.New(rand.NewPCG(9, 0)), 60, 0)
	asMeasured := sizing.History{Task: h.Task, Schema: h.Schema, Total: h.Total, LastSeq: h.LastSeq}
	for _, r := range h.Rows {
		r.MemoryMax, r.MemorySampled = r.MemorySampled, 0
		asMeasured.Rows = append(asMeasured.Rows, r)
	}
	sampled, _, err := taskmodel.Fit(&h, nil)
	require.NoError(t, err)
	exact, _, err := taskmodel.Fit(&asMeasured, nil)
	require.NoError(t, err)
	for rows := 1.0; rows < 10; rows++ {
		q := question(sizing.Features{"rows": sizing.NumberValue(rows)})
		assert.Equal(t, exact.Size(q).Limit, sampled.Size(q).Limit)
	}
}

// 100 runs were sampled at 1 GiB, and ten pairs have a measured peak of 1.5 GiB. The sampled peaks
// are raised to 1.5 GiB, but not above the allocation.
func TestSampledPeakIsRaisedWithinItsAllocation(t *testing.T) {
	for allocated, want := range map[float64]float64{32: 1.5, 1.25: 1.25} {
		h := sizing.History{Task: sizing.TaskKey{Namespace: "default", DAG: "a", Task: "b"}}
		k := &task{history: h}
		for i := range 100 {
			row := measuredRun(0)
			row.MemorySampled, row.Allocated.Memory = bytes(1), bytes(allocated)
			if i < 10 {
				k.history.Pairs = append(k.history.Pairs, sizing.PeakPair{Task: h.Task, Exact: bytes(1.5), Sampled: bytes(1), Duration: row.Duration})
			}
			k.row(sizing.Features{}, row)
		}
		dataset := taskmodel.NewDataset(&k.history)
		require.Equal(t, 100, dataset.Len())
		assert.InDelta(t, want*float64(gib), dataset.Peak(0), 2)
	}
}

// Twenty pairs of the task outweigh a hundred pairs of other tasks, which a task without own pairs uses.
func TestFactorsPreferThePairsOfTheTask(t *testing.T) {
	own, other := sizing.TaskKey{DAG: "a", Task: "b"}, sizing.TaskKey{DAG: "c", Task: "d"}
	pairs := func(of sizing.TaskKey, n int, exact float64, took time.Duration) []sizing.PeakPair {
		var all []sizing.PeakPair
		for range n {
			all = append(all, sizing.PeakPair{Task: of, Exact: bytes(exact), Sampled: bytes(1), Duration: took})
		}
		return all
	}
	for name, c := range map[string]struct {
		pairs []sizing.PeakPair
		want  float64
	}{
		"pairs of its own":                      {append(pairs(own, 20, 1.5, 0), pairs(other, 100, 1, 2*time.Minute)...), 1.5},
		"pairs of others, of the same duration": {append(pairs(other, 10, 1.25, 2*time.Minute), pairs(other, 10, 2, time.Hour)...), 1.25},
		"pairs of others, of another duration":  {pairs(other, 10, 2, 10*time.Second), 2},
		"a sample above the exact peak":         {pairs(own, 10, 0.9, 0), 1},
	} {
		h := sizing.History{Task: own, Pairs: c.pairs}
		for seq := range int64(401) {
			row := measuredRun(0)
			row.Seq, row.MemorySampled = seq, bytes(1)
			h.Rows = append(h.Rows, row)
		}
		dataset := taskmodel.NewDataset(&h)
		peaks := make([]float64, dataset.Len())
		for i := range peaks {
			peaks[i] = dataset.Peak(i)
		}
		slices.Sort(peaks)
		assert.InDelta(t, c.want*float64(gib), peaks[200], 2, name)
	}
}

// Each of the ten factors is drawn for about a hundred of a thousand runs.
func TestDrawsFollowTheDistributionOfPairs(t *testing.T) {
	own := sizing.TaskKey{DAG: "a", Task: "b"}
	h := sizing.History{Task: own}
	for percent := range 10 {
		h.Pairs = append(h.Pairs, sizing.PeakPair{Task: own, Exact: bytes(1.01 + float64(percent)/100), Sampled: bytes(1)})
	}
	for seq := range int64(1000) {
		row := measuredRun(0)
		row.Seq, row.MemorySampled = 7*seq, bytes(1)
		h.Rows = append(h.Rows, row)
	}
	drawn := map[int]int{}
	dataset := taskmodel.NewDataset(&h)
	for i := range dataset.Len() {
		drawn[int(math.Round(100*(dataset.Peak(i)/float64(gib)-1)))]++
	}
	for percent := 1; percent <= 10; percent++ {
		assert.InDelta(t, 100, drawn[percent], 35, "%d %%", percent)
	}
}
