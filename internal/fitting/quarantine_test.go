package fitting_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The largest peaks are near 5 GiB; a report of 250 GiB is a unit mistaken.
const absurd = 250

func TestOneAbsurdReportMovesTheNextAllocationByAtMostOneBin(t *testing.T) {
	for claim, report := range map[string]sizing.HistoryRow{
		"a peak": withoutImputed(absurd),
		"a kill": killed(absurd),
	} {
		for _, n := range []int{20, 40, 150} {
			k, rng := known(t, growing, uint64(n), n)
			f, _ := growing(rng)
			q := question(f)
			q.Cap = 1000 * gib
			bins := k.model.Bins
			before := bins.Index(k.model.Size(q).Limit)
			k.told(f, report)
			assert.LessOrEqual(t, bins.Index(k.model.Size(q).Limit), before+1, "%s, at once, after %d runs", claim, n)
			k.fit()
			assert.LessOrEqual(t, bins.Index(k.model.Size(q).Limit), before+1, "%s, fitted, after %d runs", claim, n)
			assert.Equal(t, bins[len(bins)-1], k.model.Bins[len(bins)-1], "bins hold what was seen: %s, after %d runs", claim, n)
		}
	}
}

func TestTheLastBinEndsATenthAboveTheLargestPeak(t *testing.T) {
	k, _ := known(t, growing, 6, 100)
	top := k.model.Bins[len(k.model.Bins)-1]
	assert.InDelta(t, 1.1*float64(k.model.LargestPeak()), float64(top), float64(2*sizing.MiB))
}

func TestASecondReportConfirmsTheFirst(t *testing.T) {
	for claim, second := range map[string]sizing.HistoryRow{
		"a peak of half": withoutImputed(0.6 * absurd),
		"a kill there":   killed(0.6 * absurd),
	} {
		k, rng := known(t, growing, 2, 60)
		f, _ := growing(rng)
		k.success(f, absurd)
		require.Len(t, k.model.Quarantine, 1)
		require.Less(t, k.model.LargestPeak(), 10*gib, "%s: the cap that is derived from it waits too", claim)
		k.success(f, 3)
		require.Len(t, k.model.Quarantine, 1, "an ordinary run confirms nothing")
		k.told(f, second)
		assert.Empty(t, k.model.Quarantine, claim)
		assert.Equal(t, absurd*gib, k.model.LargestPeak(), claim)
		assert.NotEmpty(t, k.fit().Reason)
	}
}

// Rows that are held back survive a fit and a storing, and are confirmed after it.
func TestAHeldReportIsNotFitted(t *testing.T) {
	k, rng := known(t, growing, 4, 80)
	clean, _ := known(t, growing, 4, 80)
	f, _ := growing(rng)
	k.success(f, absurd)
	k.fit()
	clean.fit()
	for range 30 {
		f, _ := growing(rng)
		assert.Equal(t, clean.model.Size(question(f)).Limit, k.model.Size(question(f)).Limit)
	}
	k.success(f, absurd)
	assert.Empty(t, k.model.Quarantine)
}

func TestWhatFeaturesForetellIsNotHeld(t *testing.T) {
	k, _ := known(t, growing, 5, 100)
	k.success(sizing.Features{"rows": sizing.NumberValue(200_000)}, 14)
	assert.Empty(t, k.model.Quarantine, "four times the rows, three times the largest peak")
	f := sizing.Features{"rows": sizing.NumberValue(1000)}
	k.success(f, 3.5*float64(k.model.LargestPeak())/float64(gib))
	assert.Empty(t, k.model.Quarantine, "up to four times the largest peak may be chance")
}
