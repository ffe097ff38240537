package density_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/density"
)

type oracleRun struct {
	MinSize       int       `json:"min_size"`
	MinSamples    int       `json:"min_samples"`
	Epsilon       float64   `json:"epsilon"`
	Labels        []int     `json:"labels"`
	Outlier       []float64 `json:"outlier"`
	Silhouette    *float64  `json:"silhouette"`
	DaviesBouldin float64   `json:"davies_bouldin"`
}

// The Python packages hdbscan and scikit-learn computed the expected values.
func TestClustersEqualHdbscan(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/oracle/density/density.json") // written by make.py in the same folder
	require.NoError(t, err)
	var cases []struct {
		Name   string
		Points [][]float64
		Runs   []oracleRun
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.Len(t, cases, 4)
	for _, c := range cases {
		for _, run := range c.Runs {
			tree, err := density.NewTree(c.Points, run.MinSamples, 0)
			require.NoError(t, err)
			got, err := tree.Cluster(density.Config{MinSize: run.MinSize, Epsilon: run.Epsilon})
			require.NoError(t, err)
			assert.Equal(t, renumbered(run.Labels), renumbered(got.Labels), "%s, smallest size %d, ε %g", c.Name, run.MinSize, run.Epsilon)
			assert.InDeltaSlice(t, run.Outlier, got.Outlier, 1e-6, "%s, smallest size %d, ε %g", c.Name, run.MinSize, run.Epsilon)
			if run.Silhouette != nil {
				assert.InDelta(t, *run.Silhouette, density.Silhouette(c.Points, got.Labels), 1e-9)
				assert.InDelta(t, run.DaviesBouldin, density.DaviesBouldin(c.Points, got.Labels), 1e-9)
			}
		}
	}
}

// renumbered numbers the labels in order of their first point.
func renumbered(labels []int) []int {
	names, out := map[int]int{density.Noise: density.Noise}, make([]int, len(labels))
	for i, label := range labels {
		if _, known := names[label]; !known {
			names[label] = len(names) - 1
		}
		out[i] = names[label]
	}
	return out
}
