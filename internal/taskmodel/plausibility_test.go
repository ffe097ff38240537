package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// If the service granted the killed amount, the reported amount is right, even if it is far from all peaks.
func TestKillWithinItsGrantIsNotQuarantined(t *testing.T) {
	for name, c := range map[string]struct {
		peaks       float64 // of earlier runs, in GiB
		killed      sizing.Bytes
		granted     sizing.Bytes
		quarantined bool
	}{
		"at the minimum grant":         {0.003, 64 * sizing.MiB, 0, false},
		"at a floor that was granted":  {0.003, 2 * gib, 2 * gib, false},
		"at a cap that a lift granted": {0.5, 16427 * sizing.MiB, 16427 * sizing.MiB, false},
		"slightly below the grant":     {0.5, 16 * gib, 16427 * sizing.MiB, false},
		"far above the grant":          {0.5, 1024 * gib, 2 * gib, true},
		"without a known grant":        {0.5, 16 * gib, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTask(t)
			f := sizing.Features{"x": sizing.NumberValue(3)}
			for range 20 {
				k.reportSuccess(f, c.peaks)
			}
			r := killed(1)
			r.Allocated.Memory, r.Granted = c.killed, c.granted
			row := taskmodel.NewTrainingRow(&k.history.Schema, k.row(f, r))
			row.Features = f
			assert.Equal(t, c.quarantined, k.model.QuarantineReason(row) != "")
			k.model.Learn(row)
			require.Equal(t, c.quarantined, len(k.model.Quarantine) == 1)
			if c.quarantined {
				return
			}
			q := question(f)
			q.MinGrant, q.Cap = 64*sizing.MiB, 0
			assert.Greater(t, k.model.Size(q).Limit, c.killed, "the model that learned the kill")
			again, _, err := taskmodel.Fit(&k.history, nil)
			require.NoError(t, err)
			assert.Empty(t, again.Quarantine)
			assert.Greater(t, again.Size(q).Limit, c.killed, "a model fitted from scratch")
		})
	}
}

// If a killed allocation is above all peaks, the reason compares the implausible peak with this allocation.
func TestQuarantineReasonNamesAKilledAllocation(t *testing.T) {
	k := newTask(t)
	reason := func() string {
		return k.model.QuarantineReason(taskmodel.NewTrainingRow(&k.history.Schema, k.row(small, measuredRun(900))))
	}
	for range 20 {
		k.reportSuccess(small, 1)
		assert.Contains(t, reason(), "the largest peak so far (1Gi)")
	}
	k.report(small, killed(3))
	assert.Contains(t, reason(), "the largest killed allocation so far (3Gi)")
}

// The kills of a run prove that it needs more than the earlier runs. So the peak of its success, which is above the kills and
// within the allocation, changes the next grant for the same features.
func TestPeakBetweenTheKillsOfItsRunAndItsAllocationIsNotQuarantined(t *testing.T) {
	for _, c := range []struct {
		name, run       string
		allocated, peak float64
		quarantined     bool
	}{
		{"retry of the killed run", "killed", 44, 18, false},
		{"another run", "other", 44, 18, true},
		{"peak above the allocation", "killed", 16, 18, true},
		{"peak in a smaller unit than the kill", "killed", 8000, 4000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTask(t)
			for range 20 {
				k.reportSuccess(small, .3)
			}
			f := withRows(3300)
			k.report(f, killedRun("killed", .34))
			second := killedRun("killed", 3.9)
			second.Try, second.Granted = 2, bytes(3.9)
			k.report(f, second)
			r := retried(c.run, c.peak)
			r.Try, r.Allocated.Memory = 3, bytes(c.allocated)
			k.report(f, r)
			require.Equal(t, c.quarantined, len(k.model.Quarantine) == 1)
			again, _, err := taskmodel.Fit(&k.history, nil)
			require.NoError(t, err)
			require.Equal(t, c.quarantined, len(again.Quarantine) == 1, "a model fitted from scratch")
			if !c.quarantined {
				assert.GreaterOrEqual(t, k.model.Size(question(f)).Limit, bytes(c.peak))
				assert.GreaterOrEqual(t, again.Size(question(f)).Limit, bytes(c.peak))
			}
		})
	}
}

// A receipt may be stored after a training has quarantined the kill of its try. The next training learns the kill,
// because the receipt shows that this amount was granted.
func TestLateReceiptReleasesTheKillOfItsTry(t *testing.T) {
	k := newTask(t)
	f := sizing.Features{"x": sizing.NumberValue(3)}
	for range 20 {
		k.reportSuccess(f, 0.003)
	}
	r := killed(1)
	k.report(f, r)
	k.fit()
	require.Len(t, k.model.Quarantine, 1)
	k.history.Rows[20].Granted = gib
	k.fit()
	assert.Empty(t, k.model.Quarantine)
	assert.Greater(t, k.model.Size(question(f)).Limit, gib)
}

// A file has peaks in MiB, which are read as bytes: every row repeats the mistake.
func TestImpossiblySmallPeaksDoNotConfirmOneAnother(t *testing.T) {
	k, rng := newTask(t), newRand(40)
	q := question(nil)
	for range 100 {
		r := measuredRun(1)
		r.MemoryMax, r.Allocated = sizing.Bytes(200+rng.IntN(3000)), sizing.Resources{}
		r.Requested.Memory = 4 * gib
		f := sizing.Features{"n": sizing.NumberValue(float64(rng.IntN(100)))}
		k.report(f, r)
		q = question(f)
		q.Requested.Memory, q.MinGrant = 4*gib, 64*sizing.MiB
		s := k.model.Size(q)
		require.Equal(t, 4*gib, s.Limit, s.Reason)
	}
	_, outcome, err := taskmodel.Fit(&k.history, nil)
	require.NoError(t, err)
	assert.False(t, outcome.Trained, outcome.Reason)
	assert.Contains(t, k.model.Size(q).Reason, "further reports cannot confirm them")
	for range 30 { // later reports are correct and are learned
		k.reportSuccess(nil, 2)
	}
	k.fit()
	assert.GreaterOrEqual(t, k.model.Size(q).Limit, 2*gib)
	assert.Equal(t, 2*gib, k.model.LargestPeak())
}
