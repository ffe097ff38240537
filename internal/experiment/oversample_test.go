package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
)

// small has 20 runs; every fifth one is above 10 GB.
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
	levels := []float64{math.Log(10e9), math.Log(30e9)}
	m := newTrainingData(d.datasets[0], byTime(20), levels)
	bin := make([]int, 0, 14)
	for _, y := range classify.Cut(m.enc.Train, levels).Y {
		bin = append(bin, int(y))
	}
	return m, bin
}

func TestAddedRowsBalanceTheBinsAfterTheRealOnes(t *testing.T) {
	m, bin := small(t)
	require.Equal(t, 2, count(bin, byTime(14).train, 1)+count(bin, byTime(14).test, 1))
	for _, way := range []string{Random, SMOTE} {
		rows, err := m.table(way, 3)
		require.NoError(t, err)
		require.NoError(t, rows.Check())
		assert.Equal(t, 24, rows.Rows(), "%s: twelve of each bin", way)
		assert.Equal(t, m.enc.Train.X, rows.X[:len(m.enc.Train.X)], way)
		assert.Equal(t, m.enc.Train.Y, rows.Y[:14], way)
		for _, y := range classify.Cut(rows, m.levels).Y[14:] {
			assert.Equal(t, 1.0, y, way)
		}
		again, err := m.table(way, 3)
		require.NoError(t, err)
		assert.Equal(t, rows, again, way)
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
	plain, err := m.table(None, 3)
	require.NoError(t, err)
	assert.Nil(t, plain.W, "the trainingData itself has no weights")
}

func TestIncompatibleOversamplingHasAReason(t *testing.T) {
	for _, name := range Families() {
		assert.Empty(t, incompatibility(name, None), name)
	}
	assert.Empty(t, incompatibility("svm", SMOTE))
	assert.Empty(t, incompatibility("regression", Weights))
	assert.Contains(t, incompatibility("regression", SMOTE), "a synthetic row has no level")
	assert.Contains(t, incompatibility("regression+softmax-trees", Random), "duplicated row")
	assert.Contains(t, incompatibility(Final, Weights), "serving's own model")
}
