package taskmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// A report of 50 GiB is learned because a second one confirms it. Then a person voids (removes) both.
func TestModelIgnoresVoidedReports(t *testing.T) {
	h := &sizing.History{}
	report := func(peak sizing.Bytes) {
		seq := int64(len(h.Rows) + 1)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: seq, Try: 1, RunID: string(rune('a' + seq)), Outcome: sizing.Success, MemoryMax: peak, Duration: time.Minute, Weight: 1,
		})
		h.Total, h.LastSeq = len(h.Rows), seq
	}
	for i := range 60 {
		report(gib + sizing.Bytes(i%7)*sizing.MiB)
	}
	clean, _, err := taskmodel.Fit(h, nil)
	require.NoError(t, err)
	report(50 * gib)
	report(51 * gib)
	withVoided, _, err := taskmodel.Fit(h, nil)
	require.NoError(t, err)
	require.Equal(t, 51*gib, withVoided.LargestPeak())

	h.Rows = h.Rows[:60]
	h.Total, h.LastSeq = 60, 60
	again, _, err := taskmodel.Fit(h, withVoided)
	require.NoError(t, err)
	want, err := clean.Blob()
	require.NoError(t, err)
	got, err := again.Blob()
	require.NoError(t, err)
	assert.Equal(t, want, got, "the model must equal a model without the voided reports")
}

// No model predicts the first run of a task, so this run has no residual that marks it as learned.
func TestModelForgetsTheFirstReportWhenItIsVoided(t *testing.T) {
	for _, n := range []int{2, 5, 40} {
		k := newTask(t)
		k.reportSuccess(nil, 50)
		for range n - 1 {
			k.reportSuccess(nil, 1)
		}
		k.fit()
		require.Equal(t, 50*gib, k.model.LargestPeak())
		k.history.Rows = k.history.Rows[1:]
		k.history.Total--
		k.fit()
		assert.EqualValues(t, gib, k.model.LargestPeak(), "%d runs", n)
	}
}

func TestModelIsEmptyAfterAllReportsWereVoided(t *testing.T) {
	k := newTask(t)
	k.reportSuccess(nil, 50)
	k.reportSuccess(nil, 51)
	k.fit()
	k.history.Rows, k.history.Total = nil, 0
	empty, outcome, err := taskmodel.Fit(&k.history, k.model)
	require.NoError(t, err)
	require.NotNil(t, empty)
	assert.True(t, outcome.Trained)
	answer := empty.Size(question(nil))
	assert.Equal(t, sizing.FromRequested, answer.Source, answer.Reason)
	_, err = empty.VerifiedBlob(&k.history)
	require.NoError(t, err)
	again, _, err := taskmodel.Fit(&k.history, empty)
	require.NoError(t, err)
	assert.Nil(t, again, "without reports there must be no new model")
}

func TestEmptyModelForgetsAVoidedKill(t *testing.T) {
	k := newTask(t)
	k.reportSuccess(nil, 50)
	k.report(nil, killed(40))
	k.fit()
	k.history.Rows, k.history.Total = k.history.Rows[1:], 1
	k.fit()
	require.Zero(t, k.model.LargestPeak())
	require.Greater(t, k.model.Size(question(nil)).Limit, 40*gib)
	k.history.Rows, k.history.Total = nil, 0
	k.fit()
	assert.LessOrEqual(t, k.model.Size(question(nil)).Limit, 40*gib)
}
