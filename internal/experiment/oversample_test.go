package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
)

// small returns the training data of a history of 20 runs, and the bin of each of the 14 training rows. Every fifth run is
// above 10 GB.
func small(t *testing.T) (*trainingData, []int) {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,feature.size,feature.day\n")
	for i := range 20 {
		peak := 2e9 + 1e8*float64(i)
		if i%5 == 4 {
			peak += 20e9
		}
		fmt.Fprintf(&text, "d,a,r%d,%.0f,%d,2024-01-%02d\n", i, peak, i*i, i+1)
	}
	d, err := Read("small", strings.NewReader(text.String()))
	require.NoError(t, err)
	logEdges := []float64{math.Log(10e9), math.Log(30e9)}
	m := newTrainingData(d.datasets[0], byTime(20), logEdges)
	bin := make([]int, 0, 14)
	for _, y := range classify.Cut(m.enc.Train, logEdges).Y {
		bin = append(bin, int(y))
	}
	return m, bin
}

// withoutNaN returns a copy of x with −1 in place of NaN, which is not equal to itself. The month of a date is NaN in a short
// history.
func withoutNaN(x []float64) []float64 {
	x = slices.Clone(x)
	for i, v := range x {
		if math.IsNaN(v) {
			x[i] = -1
		}
	}
	return x
}

func TestAddedRowsFollowTheOriginalRowsAndBalanceTheBins(t *testing.T) {
	m, bin := small(t)
	require.Equal(t, 2, count(bin, byTime(14).train, 1)+count(bin, byTime(14).test, 1), "number of training rows in the upper bin")
	for _, method := range []string{Random, SMOTE} {
		rows, err := m.table(method, 3)
		require.NoError(t, err)
		require.NoError(t, rows.Check())
		assert.Equal(t, 24, rows.Rows(), "%s: number of rows, twelve in each bin", method)
		assert.Equal(t, withoutNaN(m.enc.Train.X), withoutNaN(rows.X[:len(m.enc.Train.X)]), method)
		assert.Equal(t, m.enc.Train.Y, rows.Y[:14], method)
		for _, y := range classify.Cut(rows, m.logEdges).Y[14:] {
			assert.Equal(t, 1.0, y, method)
		}
		again, err := m.table(method, 3)
		require.NoError(t, err)
		rows.X, again.X = withoutNaN(rows.X), withoutNaN(again.X)
		assert.Equal(t, rows, again, method)
	}
}

func TestWeightsBalanceTheBinsWithoutNewRows(t *testing.T) {
	m, bin := small(t)
	rows, err := m.table(Weights, 3)
	require.NoError(t, err)
	assert.Equal(t, m.enc.Train.Y, rows.Y)
	sum := [2]float64{}
	for i, b := range bin {
		sum[b] += rows.Weight(i)
	}
	assert.InDeltaSlice(t, []float64{7, 7}, sum[:], 1e-9)
	unbalanced, err := m.table(None, 3)
	require.NoError(t, err)
	assert.Nil(t, unbalanced.W, "without balancing there are no weights")
}

func TestIncompatibleOversamplingHasAReason(t *testing.T) {
	for _, name := range Families() {
		assert.Empty(t, incompatibility(name, None), name)
	}
	assert.Empty(t, incompatibility("svm", SMOTE))
	assert.Empty(t, incompatibility("regression", Weights))
	assert.Contains(t, incompatibility("regression", SMOTE), "a synthetic row has no peak of its own")
	assert.Contains(t, incompatibility("regression+softmax-trees", Random), "in different folds")
	assert.Contains(t, incompatibility(Final, Weights), "the model of the service")
}
