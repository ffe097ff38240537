package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestATaskWhoseModelPanicsIsAnsweredFromItsOutline(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	r.BreakModel(task("load"))

	a := r.predict(ask("load", "next"))
	assert.Equal(t, sizing.FromRequested, a.Source, a.Reason)
	assert.Equal(t, 64*gib, a.Memory.Limit)
	assert.Contains(t, a.Reason, "the model of this task failed; ")
	assert.Nil(t, a.Model, "no model has answered")
	e := r.explain(ask("load", ""))
	assert.Equal(t, a.Reason, e.Allocation.Reason)
	requireFactors(t, a.Memory.Limit, e.Factors)

	withoutRequest := ask("load", "other")
	withoutRequest.Requested.Memory = 0
	a = r.predict(withoutRequest)
	assert.Greater(t, a.Memory.Limit, gib, "above the largest peak: %s", a.Reason)

	lift := r.lift(ask("load", "next"), 64*gib)
	assert.True(t, lift.Retry, lift.Reason)
	assert.Equal(t, 128*gib, lift.Memory.Limit)
	retry := ask("load", "next")
	retry.Try.Number = 2
	assert.Equal(t, 128*gib, r.predict(retry).Memory.Limit, "the try after the kill")

	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
}

func TestSimilarTasksDoNotReplaceAModelThatPanics(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	r.trainTask("load", 40)
	own := r.predict(ask("load", "next")).Duration
	require.NotNil(t, own)
	require.NotNil(t, r.predict(ask("new", "next")).Duration, "similar tasks predict the run time of a task without runs")
	r.BreakModel(task("load"))
	assert.Nil(t, r.predict(ask("load", "later")).Duration, "the outline does not contain the run times")
}

func TestAReportWhoseLearningPanicsIsAnsweredAsStored(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	r.BreakModel(task("load"))

	results := r.report(success("load", 40, 41), succeeded(ask("load", "next"), 3*gib))
	require.Len(t, results, 2)
	assert.False(t, results[0].Duplicate || results[1].Duplicate)
	assert.True(t, r.report(succeeded(ask("load", "next"), 3*gib))[0].Duplicate)
	assert.Len(t, r.history("load").Rows, 42)
	assert.Equal(t, 64*gib, r.predict(ask("load", "later")).Memory.Limit, "the task is still answered")
}
