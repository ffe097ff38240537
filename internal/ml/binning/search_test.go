package binning_test

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/binning"
)

func TestSearchPlacesEdgesAboveClusters(t *testing.T) {
	peaks := []float64{9, 9, 9, 9, 28, 30, 340}
	for claim, c := range map[string]struct {
		bins      int
		top, step float64
		want      []float64
	}{
		"one bin is the top":                        {1, 350, 0, []float64{350}},
		"two bins separate the outlier":             {2, 350, 0, []float64{30, 350}},
		"a third bin separates the four peaks of 9": {3, 350, 0, []float64{9, 30, 350}},
		"a step rounds edges up":                    {3, 350, 10, []float64{10, 30, 350}},
		"a low top is still the last edge":          {3, 29, 0, []float64{9, 28, 29}},
		"no more edges than distinct peaks and top": {9, 350, 0, []float64{9, 28, 30, 340, 350}},
		"a step above the top leaves only the top":  {4, 350, 400, []float64{350}},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := binning.History{Peaks: peaks}.Search(c.bins, c.top, c.step)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestSearchRejectsInvalidHistoriesAndArguments(t *testing.T) {
	for claim, h := range map[string]binning.History{
		"no peaks":           {},
		"a missing peak":     {Peaks: []float64{math.NaN()}},
		"a negative peak":    {Peaks: []float64{-1}},
		"a weight of zero":   {Peaks: []float64{1}, Weights: []float64{0}},
		"too few weights":    {Peaks: []float64{1, 2}, Weights: []float64{1}},
		"an infinite weight": {Peaks: []float64{1}, Weights: []float64{math.Inf(1)}},
	} {
		_, err := h.Search(2, 10, 0)
		assert.ErrorIs(t, err, binning.ErrHistory, claim)
	}
	_, err := binning.History{Peaks: []float64{1}}.Search(0, 10, 0)
	assert.ErrorIs(t, err, binning.ErrEdges)
	_, err = binning.History{Peaks: []float64{1}}.Search(2, math.NaN(), 0)
	assert.ErrorIs(t, err, binning.ErrEdges)
}

// random returns a random history of n peaks with ties and zeros. Half of the histories have weights.
func random(rng *rand.Rand, n int) binning.History {
	h := binning.History{Peaks: make([]float64, n)}
	for i := range h.Peaks {
		h.Peaks[i] = math.Floor(math.Exp(rng.NormFloat64()*1.5 + 2))
	}
	if rng.IntN(2) == 0 {
		h.Weights = make([]float64, n)
		for i := range h.Weights {
			h.Weights[i] = math.Exp(rng.NormFloat64() * 2)
		}
	}
	return h
}

// cheapest returns the lowest cost of all ascending choices of up to bins−1 edges from `candidates`, with the top as
// last edge.
func cheapest(h binning.History, candidates []float64, bins int, top float64) float64 {
	best := h.Cost([]float64{top})
	var try func(edges []float64, from int)
	try = func(edges []float64, from int) {
		best = min(best, h.Cost(append(slices.Clone(edges), top)))
		if len(edges) == bins-1 {
			return
		}
		for i := from; i < len(candidates); i++ {
			try(append(slices.Clone(edges), candidates[i]), i+1)
		}
	}
	try(nil, 0)
	return best
}

func TestSearchMatchesExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for trial := range 300 {
		h := random(rng, 1+rng.IntN(25))
		bins, top := 1+rng.IntN(4), 1+math.Floor(rng.Float64()*60)
		candidates := slices.Clone(h.Peaks)
		slices.Sort(candidates)
		candidates = slices.DeleteFunc(slices.Compact(candidates), func(v float64) bool { return v <= 0 || v >= top })

		edges, err := h.Search(bins, top, 0)
		require.NoError(t, err)
		require.NoError(t, binning.Check(edges))
		require.Equal(t, top, edges[len(edges)-1])
		best := cheapest(h, candidates, bins, top)
		require.InEpsilon(t, best, h.Cost(edges), 1e-12, "trial %d: %v up to %v in %d bins gave %v", trial, h.Peaks, top, bins, edges)
	}
}

func TestSearchWithAStepMatchesExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for range 100 {
		h := random(rng, 30)
		var multiples []float64
		for edge := 5.0; edge < 60; edge += 5 {
			multiples = append(multiples, edge)
		}
		edges, err := h.Search(4, 60, 5)
		require.NoError(t, err)
		require.InEpsilon(t, cheapest(h, multiples, 4, 60), h.Cost(edges), 1e-12)
	}
}

func TestSearchAgreesWithTheOracle(t *testing.T) {
	raw, err := os.ReadFile("../../../testdata/oracle/binning/improvement.json")
	require.NoError(t, err)
	var oracle struct {
		Cases []struct {
			Peaks, Durations []float64
			Bins             int
			Top              float64
			Optimal          float64
			TimeOptimal      float64 `json:"time_optimal"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &oracle))
	require.Len(t, oracle.Cases, 4)
	for _, c := range oracle.Cases {
		for want, weights := range map[float64][]float64{c.Optimal: nil, c.TimeOptimal: c.Durations} {
			h := binning.History{Peaks: c.Peaks, Weights: weights}
			edges, err := h.Search(c.Bins, c.Top, 0)
			require.NoError(t, err)
			assert.InDelta(t, want, h.Improvement(edges, c.Top), 1e-12, "%v", edges)
		}
	}
}

// The publication of a load-aware scheduler (see History.Improvement) gives these edges (GB) and
// improvements in its Table 6. There, the static amount is the top edge. LOADAWARE_RETAIL_TRACE names a
// gzipped CSV history with the published distributions. The published edges must reproduce the published
// improvements, and Search must find edges that are at least as good.
func TestSearchOnTheRetailTrace(t *testing.T) {
	path := os.Getenv("LOADAWARE_RETAIL_TRACE")
	if path == "" {
		t.Skip("the environment variable LOADAWARE_RETAIL_TRACE is not set; TestSearchAgreesWithTheOracle compares with the results of another program")
	}
	for task, cases := range map[string][]struct {
		edges         []float64
		optimal, time float64 // improvements in %: of runs, and weighted by their durations
	}{
		"predict_demand": {
			{[]float64{30, 350}, 89.9, 79.6},
			{[]float64{10, 60, 350}, 95.9, 88.3},
			{[]float64{10, 20, 60, 350}, 96.2, 89.2},
		},
		"simulate_discounts": {
			{[]float64{40, 200}, 78.7, 59.4},
			{[]float64{20, 70, 200}, 88.7, 71.4},
			{[]float64{10, 30, 70, 200}, 93.4, 74.7},
		},
	} {
		peaks, durations := retail(t, path, task)
		require.Len(t, peaks, 1460)
		for _, c := range cases {
			top := c.edges[len(c.edges)-1]
			for _, h := range []struct {
				binning.History
				want float64
			}{{binning.History{Peaks: peaks}, c.optimal}, {binning.History{Peaks: peaks, Weights: durations}, c.time}} {
				assert.InDelta(t, h.want, 100*h.Improvement(c.edges, top), 0.051, "%s %v", task, c.edges)
				for _, step := range []float64{0, 10} {
					found, err := h.Search(len(c.edges), top, step)
					require.NoError(t, err)
					assert.GreaterOrEqual(t, h.Improvement(found, top), h.Improvement(c.edges, top), "%s %v", task, found)
				}
			}
		}
	}
}

func retail(t *testing.T, path, task string) (peaks, durations []float64) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	unzip, err := gzip.NewReader(file)
	require.NoError(t, err)
	rows, err := csv.NewReader(unzip).ReadAll()
	require.NoError(t, err)
	column := func(name string) int { return slices.Index(rows[0], name) }
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return v
	}
	for _, row := range rows[1:] {
		if row[column("task_id")] == task {
			peaks = append(peaks, number(row[column("memory_max_bytes")])/1e9)
			durations = append(durations, number(row[column("duration_s")]))
		}
	}
	return peaks, durations
}

func BenchmarkSearch35kRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 0))
	h := binning.History{Peaks: make([]float64, 35000), Weights: make([]float64, 35000)}
	for i := range h.Peaks {
		h.Peaks[i], h.Weights[i] = math.Exp(rng.NormFloat64()), 1+rng.Float64()
	}
	for b.Loop() {
		if _, err := h.Search(4, 100, 0); err != nil {
			b.Fatal(err)
		}
	}
}
