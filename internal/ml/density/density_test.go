package density_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/density"
)

// blobs returns n points around each of k centres, and as many uniformly distributed points as the parameter `noise` says.
// The label of a point is the index of its centre, or density.Noise for the uniform points.
func blobs(r *rand.Rand, k, n, noise, columns int) (points [][]float64, labels []int) {
	for c := range k {
		centre := uniform(r, columns, 20)
		for range n {
			p := make([]float64, columns)
			for d := range p {
				p[d] = centre[d] + 0.25*r.NormFloat64()
			}
			points, labels = append(points, p), append(labels, c)
		}
	}
	for range noise {
		points, labels = append(points, uniform(r, columns, 20)), append(labels, density.Noise)
	}
	return points, labels
}

func uniform(r *rand.Rand, columns int, width float64) []float64 {
	p := make([]float64, columns)
	for d := range p {
		p[d] = width * r.Float64()
	}
	return p
}

func TestClustersAreFoundInNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 22))
	points, want := blobs(r, 26, 60, 520, 5)
	tree, err := density.NewTree(points, 5, 0)
	require.NoError(t, err)
	got, err := tree.Cluster(density.Config{MinSize: 20})
	require.NoError(t, err)
	assert.Len(t, got.Clusters, 26)
	noise, wrong := 0, 0 // recognised noise, and points whose label differs from that of the first point of the same centre
	first := map[int]int{}
	for i, label := range want {
		switch of, known := first[label]; {
		case label == density.Noise && got.Labels[i] == density.Noise:
			noise++
		case label != density.Noise && !known:
			first[label] = got.Labels[i]
		case label != density.Noise && of != got.Labels[i]:
			wrong++
		}
	}
	assert.GreaterOrEqual(t, float64(noise)/520, 0.8, "share of the noise that is recognised")
	assert.Less(t, wrong, 8, "number of wrong labels of 1560 points around a centre")
}

func TestHopkinsDistinguishesClustersFromUniformPoints(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 22))
	points, _ := blobs(r, 26, 60, 520, 5)
	assert.Greater(t, density.Hopkins(points, 300, 1), 0.6)
	cloud := make([][]float64, 500)
	for i := range cloud {
		cloud[i] = uniform(r, 3, 1)
	}
	assert.InDelta(t, 0.5, density.Hopkins(cloud, 100, 1), 0.15)
}

func TestResolutionKeepsNeighboursOfDuplicatesTypical(t *testing.T) {
	var points [][]float64
	for i := range 100 {
		x := 0.0
		if i >= 50 {
			x = 0.001 * float64(i-50)
		}
		points = append(points, []float64{x}, []float64{x + 10})
	}
	worst := func(resolution float64) (most float64) {
		tree, err := density.NewTree(points, 5, resolution)
		require.NoError(t, err)
		c, err := tree.Cluster(density.Config{MinSize: 20})
		require.NoError(t, err)
		for _, score := range c.Outlier {
			require.False(t, math.IsNaN(score))
			most = max(most, score)
		}
		return most
	}
	assert.InDelta(t, 1, worst(0), 1e-9, "without a resolution, a point beside duplicates is an outlier")
	assert.Zero(t, worst(0.05), "no point is an outlier, because all are nearer to their neighbours than the resolution")
}

func TestPointsThatCannotBeClusteredAreRejected(t *testing.T) {
	for name, points := range map[string][][]float64{
		"no points":                   nil,
		"one point":                   {{1}},
		"points without columns":      {{}, {}},
		"points of different lengths": {{1, 2}, {1}},
		"a coordinate of NaN":         {{1}, {math.NaN()}, {2}},
		"an infinite coordinate":      {{1}, {math.Inf(-1)}, {2}},
	} {
		_, err := density.NewTree(points, 1, 0)
		assert.ErrorIs(t, err, density.ErrPoints, name)
	}
	three := [][]float64{{1}, {2}, {4}}
	_, err := density.NewTree(three, 3, 0)
	require.ErrorIs(t, err, density.ErrPoints)
	tree, err := density.NewTree(three, 2, 0)
	require.NoError(t, err)
	_, err = tree.Cluster(density.Config{MinSize: 1})
	require.ErrorIs(t, err, density.ErrPoints)
	c, err := tree.Cluster(density.Config{MinSize: 2})
	require.NoError(t, err)
	assert.Equal(t, []int{density.Noise, density.Noise, density.Noise}, c.Labels)
}

func FuzzCluster(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 9, 9, 9, 200, 3, 3, 3, 3}, uint8(2), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, samples, size, epsilon uint8) {
		var points [][]float64
		for i := 0; i+1 < len(data) && i < 200; i += 2 {
			points = append(points, []float64{float64(data[i]), float64(data[i+1])})
		}
		tree, err := density.NewTree(points, int(samples), 0)
		if err != nil {
			return
		}
		c, err := tree.Cluster(density.Config{MinSize: int(size), Epsilon: float64(epsilon) / 16})
		if err != nil {
			return
		}
		sizes := make([]int, len(c.Clusters))
		for i, label := range c.Labels {
			if label != density.Noise {
				sizes[label]++
			}
			if !(c.Outlier[i] >= 0 && c.Outlier[i] <= 1) {
				t.Fatalf("outlier score %v of point %d is not from 0 to 1", c.Outlier[i], i)
			}
		}
		for i, cluster := range c.Clusters {
			if sizes[i] != cluster.Size || sizes[i] < int(size) {
				t.Fatalf("cluster %d has the size %d and %d labels; the smallest size is %d", i, cluster.Size, sizes[i], size)
			}
		}
	})
}

func BenchmarkTree(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		points, _ := blobs(rand.New(rand.NewPCG(1, 2)), 20, n/25, n/5, 5)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				tree, err := density.NewTree(points, 5, 0)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := tree.Cluster(density.Config{MinSize: n / 100}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
