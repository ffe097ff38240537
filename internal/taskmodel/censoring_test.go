package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func unmeasured(gibs float64) sizing.HistoryRow {
	r := measuredRun(0)
	r.Allocated.Memory = bytes(gibs)
	return r
}

// limit returns the grant for a question with the features f, in GiB.
func limit(k *task, f sizing.Features) float64 {
	return float64(k.model.Size(question(f)).Limit) / float64(gib)
}

var (
	small = sizing.Features{"kind": sizing.TextValue("small")}
	other = sizing.Features{"kind": sizing.TextValue("other")}
)

// Runs of kind "small" need 1 GiB and are measured. One run of kind "other" succeeds with a peak of 1 GiB. Then twelve runs
// of kind "other" are killed at 3 GiB and not retried.
func TestKillsWithoutARetryRaiseGrantsAfterAFit(t *testing.T) {
	const bound = 3
	k, _ := trainedTask(t, kinds, 1, 60)
	k.reportSuccess(other, 1)
	k.fit()
	before, beforeSmall := limit(k, other), limit(k, small)
	for range 12 {
		k.report(other, killed(bound))
	}
	k.fit()
	t.Logf("other %.2f → %.2f GiB, small %.2f → %.2f GiB", before, limit(k, other), beforeSmall, limit(k, small))
	assert.Greater(t, limit(k, other), 1.5*before, "twelve kills must raise the grant in spite of one success")
	assert.InEpsilon(t, beforeSmall, limit(k, small), 0.3, "the grants of small runs change by at most 30 %")
}

// Runs of kind "small" need 1 GiB and are measured. Twelve runs of kind "other" are killed at 3 GiB, and none succeeds.
func TestKillsWithoutAnySuccessRaiseGrantsAfterAFit(t *testing.T) {
	const bound = 3
	k, _ := trainedTask(t, kinds, 5, 60)
	for range 12 {
		k.report(other, killed(bound))
	}
	k.fit()
	assert.Greater(t, limit(k, other), float64(bound), "an amount with which twelve runs were killed must not be granted again")
}

// A kill adds no information if a measured success of the same run follows.
func TestKillsBeforeASuccessOfTheirRunAreNotFitted(t *testing.T) {
	with, _ := trainedTask(t, kinds, 2, 60)
	without, _ := trainedTask(t, kinds, 2, 60)
	for i := range 10 {
		id := string(rune('a' + i))
		first, last := killed(0.9), measuredRun(1)
		first.RunID, last.RunID, last.Try = id, id, 2
		with.row(small, first)
		with.row(small, last)
		alone := measuredRun(1)
		alone.RunID, alone.Try = id, 2
		without.row(small, alone)
	}
	with.fit()
	without.fit()
	assert.InEpsilon(t, limit(without, small), limit(with, small), 0.05)
	assert.Equal(t, fittedRows(t, without), fittedRows(t, with), "the kills must not be among the fitted rows")
}

// Successes at 60 GiB without a peak are upper bounds of 60 GiB, so they must not raise the mean grant by more than 5 %.
func TestUnmeasuredSuccessesHardlyRaiseGrantsAfterAFit(t *testing.T) {
	for name, draw := range generators {
		with, rng := trainedTask(t, draw, 3, 80)
		without, _ := trainedTask(t, draw, 3, 80)
		for range 12 {
			f, _ := draw(rng)
			with.report(f, unmeasured(60))
		}
		with.fit()
		without.fit()
		var grantedWith, grantedWithout float64
		for range 60 {
			f, _ := draw(rng)
			grantedWith, grantedWithout = grantedWith+limit(with, f), grantedWithout+limit(without, f)
		}
		assert.LessOrEqual(t, grantedWith, 1.05*grantedWithout, "%s: mean grant of %.1f GiB with unmeasured successes, %.1f GiB without", name, grantedWith/60, grantedWithout/60)
	}
}

func TestOnlyUnmeasuredSuccessesKeepTheStaticRequest(t *testing.T) {
	k := newTask(t)
	for range 30 {
		k.report(small, unmeasured(2))
	}
	fitted, outcome, err := taskmodel.Fit(&k.history, nil)
	require.NoError(t, err)
	assert.Nil(t, fitted)
	assert.False(t, outcome.Trained)
	assert.Contains(t, outcome.Reason, "memory_max_bytes", "the reason names the field to report")
	s := k.model.Size(question(small))
	assert.Equal(t, sizing.FromRequested, s.Source)
	assert.Equal(t, 32*gib, s.Limit)
}

func TestTaskWithOnlyKillsIsGrantedMoreThanTheKills(t *testing.T) {
	k := newTask(t)
	for range 10 {
		k.report(small, killed(32))
	}
	s := k.model.Size(question(small)) // the static request is 32 GiB
	t.Logf("%s from %s: %s", s.Limit.Approx(), s.Source, s.Reason)
	assert.Greater(t, s.Limit, 32*gib)
	fitted, _, err := taskmodel.Fit(&k.history, nil)
	require.NoError(t, err)
	assert.Nil(t, fitted, "without a measured peak there must be no model")

	k.reportSuccess(small, 40)
	assert.Greater(t, k.model.Size(question(small)).Limit, 40*gib)
}

func TestFailuresAreNotLearned(t *testing.T) {
	k, _ := trainedTask(t, kinds, 4, 50)
	before := k.model.Size(question(small)).Limit
	for _, outcome := range []sizing.Outcome{sizing.Failed, sizing.Killed, sizing.Evicted, sizing.Unschedulable} {
		r := measuredRun(50)
		r.Outcome = outcome
		k.report(small, r)
	}
	assert.Equal(t, before, k.model.Size(question(small)).Limit)
	k.fit()
	assert.InEpsilon(t, float64(before), float64(k.model.Size(question(small)).Limit), 0.05)
}
