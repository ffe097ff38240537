package shapetest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/cohort/shapetest"
)

func TestTheClassifierFindsTheShapeOfNewTasks(t *testing.T) {
	r, err := shapetest.Evaluate(shapetest.Config{Seed: 1, Tasks: 400})
	require.NoError(t, err)
	t.Logf("%+v", r)
	require.Positive(t, r.Classifier, "there must be a classifier")
	assert.Less(t, r.Bytes, 1<<18)
	assert.GreaterOrEqual(t, r.Newest.With, r.Newest.Without)
	assert.Greater(t, r.Newest.With, .94)
	for i := range r.New {
		n := &r.New[i]
		assert.Greater(t, n.Right.With, .8, "%d runs", n.Runs)
		assert.GreaterOrEqual(t, n.Right.With, n.Right.Without, "%d runs", n.Runs)
		assert.LessOrEqual(t, n.Loss.With, n.Loss.Without, "%d runs", n.Runs)
		for kind, share := range n.P95 {
			assert.Greater(t, share.With, .9, "%s tasks with %d runs", kind, n.Runs)
		}
	}
	assert.Greater(t, r.New[0].Right.With, r.Majority+.2, "must be clearly better than predicting the most frequent kind for all tasks")
	assert.Greater(t, r.New[0].P95["retried"].With, r.New[0].P95["retried"].Without, "before the first run of a task, the quantile must cover its retries more often than without the classifier")
}

func TestUnrelatedMetadataGiveNoClassifier(t *testing.T) {
	r, err := shapetest.Evaluate(shapetest.Config{Seed: 1, Tasks: 120, UnrelatedMetadata: true})
	require.NoError(t, err)
	assert.Zero(t, r.Classifier)
	for i := range r.New {
		assert.Equal(t, r.New[i].Right.Without, r.New[i].Right.With, "%d runs", r.New[i].Runs)
	}
}
