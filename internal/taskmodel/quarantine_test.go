package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// wrongGiB is an implausible peak in GiB: the largest peaks of the generator `growing` are near 5 GiB.
const wrongGiB = 250

func TestOneImplausibleReportRaisesTheGrantByAtMostOneBin(t *testing.T) {
	for name, report := range map[string]sizing.HistoryRow{
		"a peak": measuredRun(wrongGiB),
		"a kill": killed(wrongGiB),
	} {
		for _, n := range []int{20, 40, 150} {
			k, rng := trainedTask(t, growing, uint64(n), n)
			f, _ := growing(rng)
			q := question(f)
			q.Cap = 1000 * gib
			bins := k.model.Bins
			before := bins.Index(k.model.Size(q).Limit)
			k.report(f, report)
			assert.LessOrEqual(t, bins.Index(k.model.Size(q).Limit), before+1, "%s, at once, after %d runs", name, n)
			k.fit()
			assert.LessOrEqual(t, bins.Index(k.model.Size(q).Limit), before+1, "%s, fitted, after %d runs", name, n)
			assert.Equal(t, bins[len(bins)-1], k.model.Bins[len(bins)-1], "a quarantined report must not change the bins: %s, after %d runs", name, n)
		}
	}
}

func TestLastBinEndsATenthAboveTheLargestPeak(t *testing.T) {
	k, _ := trainedTask(t, growing, 6, 100)
	top := k.model.Bins[len(k.model.Bins)-1]
	assert.InDelta(t, 1.1*float64(k.model.LargestPeak()), float64(top), float64(2*sizing.MiB))
}

func TestSecondReportConfirmsTheFirst(t *testing.T) {
	for name, second := range map[string]sizing.HistoryRow{
		"a peak": measuredRun(0.6 * wrongGiB),
		"a kill": killed(0.6 * wrongGiB),
	} {
		k, rng := trainedTask(t, growing, 2, 60)
		f, _ := growing(rng)
		k.reportSuccess(f, wrongGiB)
		require.Len(t, k.model.Quarantine, 1)
		require.Less(t, k.model.LargestPeak(), 10*gib, "%s: the largest peak must not include a quarantined report", name)
		k.reportSuccess(f, 3)
		require.Len(t, k.model.Quarantine, 1, "an ordinary run must not confirm the report")
		k.report(f, second)
		assert.Empty(t, k.model.Quarantine, name)
		assert.Equal(t, wrongGiB*gib, k.model.LargestPeak(), name)
		assert.NotEmpty(t, k.fit().Reason)
	}
}

// Quarantined rows stay in quarantine through a fit, and can be confirmed after it.
func TestQuarantinedReportIsNotFitted(t *testing.T) {
	k, rng := trainedTask(t, growing, 4, 80)
	clean, _ := trainedTask(t, growing, 4, 80)
	f, _ := growing(rng)
	k.reportSuccess(f, wrongGiB)
	k.fit()
	clean.fit()
	for range 30 {
		f, _ := growing(rng)
		assert.Equal(t, clean.model.Size(question(f)).Limit, k.model.Size(question(f)).Limit)
	}
	k.reportSuccess(f, wrongGiB)
	assert.Empty(t, k.model.Quarantine)
}

func TestPeaksBelowFourTimesTheLargestAreNotQuarantined(t *testing.T) {
	k, _ := trainedTask(t, growing, 5, 100)
	k.reportSuccess(sizing.Features{"rows": sizing.NumberValue(200_000)}, 14)
	assert.Empty(t, k.model.Quarantine, "a peak of 14 GiB, with about four times the rows of the largest earlier run, must not be quarantined")
	f := sizing.Features{"rows": sizing.NumberValue(1000)}
	k.reportSuccess(f, 3.5*float64(k.model.LargestPeak())/float64(gib))
	assert.Empty(t, k.model.Quarantine, "3.5 times the largest peak must not be quarantined, even with few rows")
}

// A monitor that changes its unit repeats its mistake. So peaks of more than 100 times their allocation do not confirm each
// other if the earlier runs did not exceed their allocations (isFarAboveAllocation). Peaks without an allocation, and peaks
// of only about 30 times their allocation, confirm each other.
func TestPeaksFarAboveTheirAllocationsConfirmNothing(t *testing.T) {
	for _, c := range []struct {
		allocated, peak float64 // GiB
		learned         bool
	}{{1.3, 1024, false}, {0, 3000, true}, {1.3, 40, true}} {
		k, rng := newTask(t), newRand(630)
		report := func(gibs float64) {
			r := measuredRun(gibs * noise(rng, .05))
			r.Allocated.Memory = bytes(c.allocated)
			k.report(nil, r)
		}
		for range 40 {
			report(1)
		}
		k.fit()
		for range 4 {
			report(c.peak)
		}
		q := question(nil)
		q.Cap = 0
		require.Equal(t, c.learned, k.model.Size(q).Limit > bytes(3), "%v: %s", c, k.model.Size(q).Reason)
		require.Equal(t, c.learned, len(k.model.Quarantine) == 0, "%v", c)
	}
}
