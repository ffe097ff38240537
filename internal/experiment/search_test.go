package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/gbt"
)

// The training rows of a fold contain neither test rows of the fold nor held-out rows.
func TestAFoldTrainsOnlyOnItsTrainingRows(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,feature.size\n")
	for i := range 60 {
		fmt.Fprintf(&text, "d,a,r%d,%d,%d\n", i, 1_000_000_000+i*100_000_000, i)
	}
	d, err := Read("distinct peaks", strings.NewReader(text.String()))
	require.NoError(t, err)
	p, err := New(d, Config{BinsGB: map[string][][]float64{"a": {{5, 8}}}})
	require.NoError(t, err)
	s := p.newHoldout(p.binned[0], 3)
	known := map[float64]bool{}
	for _, i := range s.train {
		known[math.Log(s.dataset.Peak(i))] = true
	}
	parts, err := s.folds(None)
	require.NoError(t, err)
	require.Len(t, parts, searchFolds)
	evaluated := 0
	for _, part := range parts {
		for _, level := range part.rows.Y {
			assert.True(t, known[level], "a training row of a fold must be a training row of the split")
		}
		assert.Equal(t, len(s.train), part.rows.Rows()+len(part.test))
		assert.Len(t, part.actual, len(part.test))
		evaluated += len(part.test)
	}
	assert.Equal(t, len(s.train), evaluated)
}

func TestParametersReachTheTrees(t *testing.T) {
	require.Len(t, treeSpace, 6)
	assert.Equal(t, gbt.Config{Rounds: 70, LearningRate: 0.2, MaxDepth: 5, MinLeafRows: 9, Lambda: 3, Subsample: 0.8},
		trees([]float64{70, 0.2, 5, 9, 3, 0.8}), "the parameters have the order of the space")
	assert.Equal(t, gbt.Config{}, trees(nil))
}

func TestConfusionCountsAllSeedsByActualThenPredicted(t *testing.T) {
	row := Row{Task: "a", BinsGB: []float64{1, 2, 3}, Family: "svm", Oversampling: None}
	c, err := confusion([]*result{
		{Row: row, actual: []int{0, 0, 1}, predicted: []int{0, 1, 1}},
		{Row: row, actual: []int{1, 0}, predicted: []int{1, 1}},
	})
	require.NoError(t, err)
	assert.Equal(t, [][]int{{1, 2, 0}, {0, 2, 0}, {0, 0, 0}}, c.Counts)
	assert.Equal(t, 0.5, *c.Precision[1])
	assert.Equal(t, 1.0/3, *c.Recall[0])
	assert.Nil(t, c.Recall[2], "a bin without rows has no recall")
	assert.Nil(t, c.Precision[2], "a bin that was never predicted has no precision")
}
