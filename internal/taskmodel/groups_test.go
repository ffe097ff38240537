package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
)

// randomGroup returns a random group. With a probability of two thirds the compact form (singleRow) can hold it.
func randomGroup(rng *rand.Rand) *group {
	level := math.Log(float64(1 + rng.IntN(1000)))
	g := &group{Mean: level, Recent: level, Rows: 1, Seconds: rng.Float64(), Seen: rng.IntN(1000), Newest: [newestPeaks]float64{math.Exp(level)}}
	if rng.IntN(2) == 0 {
		g.Cores, g.CoreRows = float64(rng.IntN(2)), 1
	}
	switch rng.IntN(9) {
	case 0:
		g.Rows, g.Squares, g.Newest[1] = 2, 0.5, 3
	case 1:
		g.Recent += 1e-12
	case 2:
		g.Seen = math.MaxUint32 + 1
	}
	return g
}

func TestGroupsKeepEveryValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	want, got := map[uint64]*group{}, new(groups)
	for range 1200 {
		key := uint64(rng.IntN(900)) * 0x9e3779b97f4a7c15
		require.Equal(t, want[key], got.find(key, new(group)))
		want[key] = randomGroup(rng)
		got.set(key, want[key])
	}
	require.Greater(t, len(got.singles), len(got.full))
	require.Equal(t, len(want), len(got.singles)+len(got.full), "each group must be stored exactly once")

	mode, err := cbor.CoreDetEncOptions().EncMode()
	require.NoError(t, err)
	asMap, err := mode.Marshal(want)
	require.NoError(t, err)
	encoded, err := mode.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, asMap, encoded, "the stored form must be a map")
	var decoded *groups
	require.NoError(t, decoding.Unmarshal(asMap, &decoded))
	require.Equal(t, len(want), decoded.len())
	for key, g := range want {
		require.Equal(t, g, got.find(key, new(group)))
		require.Equal(t, g, decoded.find(key, new(group)))
	}
}

func TestLowOutliersDoNotLowerTheLargestPeakOfAGroup(t *testing.T) {
	gs, seen := new(groups), 0
	add := func(peak float64, outlier bool) {
		seen++
		r := &row{Peak: peak, Seconds: 60}
		if outlier {
			r.winsorise(2*peak, -1)
		}
		gs.add(1, r, seen)
	}
	for _, peak := range []float64{8e9, 9e9, 8e9} {
		add(peak, false)
	}
	for range 20 {
		add(1e9, true)
		require.InEpsilon(t, 9e9, gs.find(1, new(group)).largestPeak(), 1e-6)
	}
	require.InEpsilon(t, 1e9, gs.find(1, new(group)).Newest[0], 1e-6, "Newest must get the measured peak, not the raised one")
	for range newestPeaks + olderPeaks {
		add(2e9, false)
	}
	require.InEpsilon(t, 2e9, gs.find(1, new(group)).largestPeak(), 1e-6, "peaks that are no outliers must replace the old ones")
}
