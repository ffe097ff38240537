package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// newDataset returns the dataset of n measured runs of a generator. An OOM kill precedes every tenth of them, and must not
// be in the dataset.
func newDataset(t *testing.T, draw generator, n int) *taskmodel.Dataset {
	k, rng := newTask(t), newRand(31)
	for i := range n {
		f, gibs := draw(rng)
		if i%10 == 0 {
			k.row(f, killed(gibs/2))
		}
		k.row(f, measuredRun(gibs))
	}
	return taskmodel.NewDataset(&k.history)
}

func numbered(first, end int) (rows []int) {
	for i := first; i < end; i++ {
		rows = append(rows, i)
	}
	return rows
}

func TestDatasetKeepsTheMeasuredRows(t *testing.T) {
	d := newDataset(t, growing, 50)
	require.Equal(t, 50, d.Len())
	raw, kinds := d.Raw(numbered(0, 50))
	require.NoError(t, raw.Check())
	assert.Len(t, kinds, 1)
	assert.InDelta(t, math.Log(d.Peak(7)), raw.Y[7], 1e-12)
	assert.InDelta(t, 120, d.Seconds(7), 1e-9)
}

func TestHoldoutRowsHaveTheColumnsOfTheTrainingRows(t *testing.T) {
	d := newDataset(t, kinds, 40)
	e := d.Encode(numbered(0, 20))
	assert.Equal(t, 20, e.Train.Rows())
	require.NoError(t, e.Train.Check())
	raw, _ := d.Raw(numbered(20, 40))
	for i := range raw.Rows() {
		assert.Len(t, e.Row(raw.Row(i)), e.Train.Cols())
	}
	raw.X[0] = math.NaN()
	assert.Len(t, e.Row(raw.Row(0)), e.Train.Cols(), "a missing cell must have a column, too")
}

func TestServedProbabilitiesFollowTheFeatures(t *testing.T) {
	d := newDataset(t, growing, 300)
	s, err := d.Serve(numbered(0, 200))
	require.NoError(t, err)
	edges, p := []float64{float64(gib), 2 * float64(gib), 8 * float64(gib)}, make([]float64, 3)
	right := 0 // number of runs whose bin has a probability above one half
	for i := 200; i < 300; i++ {
		s.Probabilities(i, edges, p)
		assert.InDelta(t, 1, p[0]+p[1]+p[2], 1e-9)
		actual := 0
		for actual < 2 && d.Peak(i) > edges[actual] {
			actual++
		}
		if p[actual] > 0.5 {
			right++
		}
		sized := s.Size(i, question(nil))
		assert.Equal(t, sizing.FromModel, sized.Source)
	}
	assert.Greater(t, right, 85, "the bin of the peak must have a probability above one half for more than 85 of 100 runs")
}

func TestServeNeedsAMeasuredRow(t *testing.T) {
	_, err := newDataset(t, growing, 5).Serve(nil)
	assert.ErrorContains(t, err, "memory_max_bytes")
}
