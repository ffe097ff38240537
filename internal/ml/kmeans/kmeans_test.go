package kmeans_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/kmeans"
)

func TestFitMatchesHandCalculation(t *testing.T) {
	points := [][]float64{{10}, {0}, {12}, {1}, {30}}
	r, err := kmeans.Fit(points, nil, kmeans.Config{K: 3, Seed: 1})
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{0.5}, {11}, {30}}, r.Centroids)
	assert.Equal(t, []int{1, 0, 1, 0, 2}, r.Labels)
	assert.Equal(t, []float64{2, 2, 1}, r.Weights)
	assert.InDelta(t, 2*.25+2*1, r.Inertia, 1e-12)
	assert.True(t, r.Converged)
	label, distance := r.Nearest([]float64{14})
	assert.Equal(t, 1, label)
	assert.InDelta(t, 9, distance, 1e-12)
}

// The reference tries every assignment of seven weighted points.
func TestFitFindsTheOptimumOfSmallInputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for range 30 {
		points, weights := make([][]float64, 7), make([]float64, 7)
		for i := range points {
			points[i], weights[i] = []float64{rng.NormFloat64(), rng.NormFloat64()}, 0.5+rng.Float64()
		}
		for k := 1; k <= 3; k++ {
			r, err := kmeans.Fit(points, weights, kmeans.Config{K: k, Seed: 1, Starts: 30})
			require.NoError(t, err)
			assert.InDelta(t, optimum(points, weights, k), r.Inertia, 1e-9, "k = %d", k)
		}
	}
}

func optimum(points [][]float64, weights []float64, k int) float64 {
	best, labels := math.Inf(1), make([]int, len(points))
	for code := range int(math.Pow(float64(k), float64(len(points)))) {
		for i := range labels {
			labels[i], code = code%k, code/k
		}
		best = min(best, inertia(points, weights, labels, k))
	}
	return best
}

func inertia(points [][]float64, weights []float64, labels []int, k int) float64 {
	sum := 0.0
	for c := range k {
		for j := range points[0] {
			n, s, ss := 0.0, 0.0, 0.0
			for i, p := range points {
				if labels[i] == c {
					n, s, ss = n+weights[i], s+weights[i]*p[j], ss+weights[i]*p[j]*p[j]
				}
			}
			if n > 0 {
				sum += ss - s*s/n
			}
		}
	}
	return sum
}

// blobs returns n points around each of k centres, and the index of the centre of each point. The distance between two
// centres is 10·√2.
func blobs(k, n int, rng *rand.Rand) (points [][]float64, truth []int) {
	for i := range k * n {
		p := make([]float64, k)
		for j := range p {
			p[j] = rng.NormFloat64()
		}
		p[i%k] += 10
		points, truth = append(points, p), append(truth, i%k)
	}
	return points, truth
}

func TestFitRecoversSeparatedClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	points, truth := blobs(5, 60, rng)
	best, bestK := -1.0, 0
	for k := 2; k <= 8; k++ {
		r, err := kmeans.Fit(points, nil, kmeans.Config{K: k, Seed: 9})
		require.NoError(t, err)
		if s := r.Silhouette(points, nil); s > best {
			best, bestK = s, k
		}
	}
	assert.Equal(t, 5, bestK, "the silhouette is largest at the true number of clusters")
	r, err := kmeans.Fit(points, nil, kmeans.Config{K: 5, Seed: 9})
	require.NoError(t, err)
	label := map[int]int{}
	for i, l := range r.Labels {
		if known, ok := label[truth[i]]; ok {
			require.Equal(t, known, l)
		}
		label[truth[i]] = l
	}
	assert.Len(t, label, 5)
}

func TestWeightsCountAsRepeatedPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	points, _ := blobs(3, 10, rng)
	weights := make([]float64, len(points))
	var repeated [][]float64
	for i, p := range points {
		weights[i] = float64(1 + i%3)
		repeated = append(repeated, slices.Repeat([][]float64{p}, 1+i%3)...)
	}
	weighted, err := kmeans.Fit(points, weights, kmeans.Config{K: 3, Seed: 1})
	require.NoError(t, err)
	unweighted, err := kmeans.Fit(repeated, nil, kmeans.Config{K: 3, Seed: 1})
	require.NoError(t, err)
	assert.InDelta(t, unweighted.Inertia, weighted.Inertia, 1e-9)
	assert.InDelta(t, unweighted.Silhouette(repeated, nil), weighted.Silhouette(points, weights), 1e-9)
	for c := range unweighted.Centroids {
		assert.InDeltaSlice(t, unweighted.Centroids[c], weighted.Centroids[c], 1e-9)
	}
}

func TestFitIsDeterministic(t *testing.T) {
	points, _ := blobs(4, 30, rand.New(rand.NewPCG(1, 0)))
	first, err := kmeans.Fit(points, nil, kmeans.Config{K: 6, Seed: 2})
	require.NoError(t, err)
	again, err := kmeans.Fit(points, nil, kmeans.Config{K: 6, Seed: 2})
	require.NoError(t, err)
	assert.Equal(t, first, again)
}

func TestFewDistinctPointsGiveFewerClustersThanK(t *testing.T) {
	r, err := kmeans.Fit([][]float64{{1, 1}, {2, 2}, {1, 1}, {2, 2}}, nil, kmeans.Config{K: 3})
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{1, 1}, {2, 2}}, r.Centroids)
	assert.Equal(t, []int{0, 1, 0, 1}, r.Labels)
	assert.Zero(t, r.Inertia)
	assert.InDelta(t, 1, r.Silhouette([][]float64{{1, 1}, {2, 2}, {1, 1}, {2, 2}}, nil), 1e-12)
	one, err := kmeans.Fit([][]float64{{3}}, nil, kmeans.Config{K: 1})
	require.NoError(t, err)
	assert.Zero(t, one.Silhouette([][]float64{{3}}, nil))
}

func TestFitRejectsUnusableInput(t *testing.T) {
	good := [][]float64{{1}, {2}}
	for claim, c := range map[string]struct {
		points  [][]float64
		weights []float64
		k       int
	}{
		"no clusters":               {good, nil, 0},
		"no points":                 {nil, nil, 1},
		"points of unequal lengths": {[][]float64{{1}, {1, 2}}, nil, 1},
		"a value of NaN":            {[][]float64{{math.NaN()}}, nil, 1},
		"an infinite value":         {[][]float64{{math.Inf(1)}}, nil, 1},
		"too few weights":           {good, []float64{1}, 1},
		"a weight of zero":          {good, []float64{1, 0}, 1},
		"a weight of NaN":           {good, []float64{1, math.NaN()}, 1},
		"an infinite weight":        {good, []float64{1, math.Inf(1)}, 1},
	} {
		_, err := kmeans.Fit(c.points, c.weights, kmeans.Config{K: c.k})
		assert.ErrorIs(t, err, kmeans.ErrInput, claim)
	}
}
