package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// unitErrors are the factors by which a reported peak in a wrong unit differs from the true peak.
var unitErrors = []float64{1e-3, 1e3, 1e-6, 1e6, 1. / (1 << 10), 1 << 10, 1. / (1 << 20), 1 << 20, 1. / (1 << 30), 1 << 30}

// within16GiB returns a success with an allocation of 16 GiB. The runs of the generators need about an
// eightieth of this allocation or more, so that only a wrong unit is implausible.
func within16GiB(f sizing.Features, gibs float64) (sizing.Features, sizing.HistoryRow) {
	r := measuredRun(gibs)
	r.Allocated.Memory, r.Requested.Memory = 16*gib, 16*gib
	return f, r
}

// quarantinedAmounts returns the peaks in quarantine, without their explanations, which depend on
// the fits.
func quarantinedAmounts(m *taskmodel.Model) (all []sizing.Bytes) {
	for _, q := range m.Quarantined() {
		all = append(all, q.Memory)
	}
	return all
}

// One report of a history is in the wrong unit, at one of several positions. The reference is the same history without
// this report. Later grants are at most four times the grants of the reference, and if the reference's grant is enough for a
// run, the grant after the wrong report is enough, too.
func TestReportInTheWrongUnitHardlyChangesLaterGrants(t *testing.T) {
	const runs, after = 60, 12
	for name, draw := range generators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range 4 * len(unitErrors) {
				rng, factor := rand.New(rand.NewPCG(uint64(n), 5)), unitErrors[n/4]
				at := [...]int{0, 1, 2 + rng.IntN(6), 8 + rng.IntN(runs-8)}[n%4]
				wrong, without := newTask(t), newTask(t)
				for i := range at + after {
					f, gibs := draw(rng)
					if i >= at { // compare both answers with the peak
						q := question(f)
						q.Requested.Memory = 16 * gib
						expected, got := without.model.Size(q), wrong.model.Size(q)
						about := fmt.Sprintf("report %d has %g times its peak; run %d needs %.2f GiB", at, factor, i, gibs)
						require.LessOrEqual(t, got.Limit, 4*expected.Limit, about)
						if expected.Limit >= bytes(gibs) {
							require.GreaterOrEqual(t, got.Limit, bytes(gibs), about)
						}
					}
					if i == at {
						_, row := within16GiB(f, gibs)
						row.MemoryMax = sizing.Bytes(math.Max(1, math.Min(sizing.MaxBytes, float64(row.MemoryMax)*factor)))
						wrong.report(f, row)
						require.Len(t, wrong.model.Quarantined(), 1, "report %d has %g times its peak", at, factor)
						continue
					}
					for _, k := range []*task{wrong, without} {
						k.report(within16GiB(f, gibs))
						if i == 30 || i == at+3 {
							k.fit()
						}
					}
				}
				again, _, err := taskmodel.Fit(&wrong.history, nil)
				require.NoError(t, err)
				require.Equal(t, quarantinedAmounts(wrong.model), quarantinedAmounts(again), "fitted from the stored history: report %d has %g times its peak", at, factor)
			}
		})
	}
}

func TestSecondSmallReportConfirmsTheFirst(t *testing.T) {
	for _, n := range []int{0, 3, 60} {
		k, _ := trainedTask(t, constant, 3, n)
		rare := sizing.Features{"region": sizing.TextValue("emea")}
		k.reportSuccess(rare, 0.002)
		require.Len(t, k.model.Quarantine, 1, "after %d runs", n)
		if n > 0 {
			k.reportSuccess(rare, 2)
			require.Len(t, k.model.Quarantine, 1, "an ordinary run must not confirm the report, after %d runs", n)
		}
		blob, err := k.model.Blob()
		require.NoError(t, err)
		k.model, err = taskmodel.Open(blob)
		require.NoError(t, err)
		require.Len(t, k.model.Quarantine, 1, "the stored model must contain the quarantine")
		k.reportSuccess(rare, 0.003)
		require.Empty(t, k.model.Quarantine, "after %d runs", n)
		k.reportSuccess(rare, 0.001)
		require.Empty(t, k.model.Quarantine, "a third small run must be plausible, after %d runs", n)
		if n == 60 {
			continue // three small runs among sixty larger ones do not lower the grant so far
		}
		assert.Less(t, k.model.Size(question(rare)).Limit, 32*gib)
	}
}

func TestBlobAndTrainingKeepTheQuarantine(t *testing.T) {
	k, rng := trainedTask(t, growing, 8, 40)
	f, _ := growing(rng)
	k.reportSuccess(f, 2e-6)
	blob, err := k.model.Blob()
	require.NoError(t, err)
	restored, err := taskmodel.Open(blob)
	require.NoError(t, err)
	assert.Equal(t, k.model.Quarantined(), restored.Quarantined())
	k.fit()
	assert.Equal(t, restored.Quarantined(), k.model.Quarantined(), "a training must keep the quarantine")
	assert.Contains(t, k.model.Quarantined()[0].Detail, "2147 bytes is 1/")
}

func TestFirstReportIsComparedWithItsAllocation(t *testing.T) {
	for name, c := range map[string]struct {
		peak, allocated, requested sizing.Bytes
		quarantined                bool
	}{
		"a millionth of the allocation":            {2000, 2 * gib, 0, true},
		"a two-thousandth of the request":          {gib / 100, 0, 20 * gib, true},
		"a hundredth of the allocation":            {gib / 50, 2 * gib, 0, false},
		"six times the allocation":                 {5 * gib, 802 * sizing.MiB, 0, false},
		"ten times the allocation":                 {8 * gib, 802 * sizing.MiB, 0, true},
		"34 times the request":                     {34 * gib, 0, gib, false},
		"half a million times the request":         {gib << 20, 0, 2 * gib, true},
		"more than any server, amounts unknown":    {128 << 40, 0, 0, true},
		"less than any container, amounts unknown": {2000, 0, 0, false},
		"a small peak with a small request":        {20 * sizing.MiB, 32 * sizing.MiB, 32 * sizing.MiB, false},
	} {
		k := newTask(t)
		r := measuredRun(1)
		r.MemoryMax, r.Allocated.Memory, r.Requested.Memory = c.peak, c.allocated, c.requested
		row := taskmodel.NewTrainingRow(&k.history.Schema, k.row(nil, r))
		assert.Equal(t, c.quarantined, k.model.QuarantineReason(row) != "", name)
		k.model.Learn(row)
		assert.Equal(t, c.quarantined, len(k.model.Quarantine) == 1, name)
	}
}

func TestQuarantinedSuccessDoesNotReplaceTheKill(t *testing.T) {
	k, rng := trainedTask(t, growing, 6, 60)
	f, _ := growing(rng)
	first, second := killed(8), measuredRun(8*(1<<10))
	first.RunID, second.RunID, second.Try = "r", "r", 2
	k.report(f, first)
	k.report(f, second)
	require.Len(t, k.model.Quarantine, 1)
	k.fit()
	q := question(f)
	q.Above = 8 * gib
	assert.Greater(t, k.model.Size(q).Limit, 8*gib)
}

// Successes without a peak have an allocation in the wrong unit. They must not lower the predictions.
func TestImplausibleAllocationBoundsNoPeak(t *testing.T) {
	k, rng := trainedTask(t, growing, 7, 60)
	clean, _ := trainedTask(t, growing, 7, 60)
	for range 8 {
		f, _ := growing(rng)
		r := measuredRun(1)
		r.MemoryMax, r.Allocated.Memory = 0, 2000
		k.report(f, r)
	}
	k.fit()
	clean.fit()
	for range 20 {
		f, _ := growing(rng)
		assert.InEpsilon(t, float64(clean.model.Size(question(f)).Limit), float64(k.model.Size(question(f)).Limit), 0.02)
	}
}

func TestMillicoresAreNotLearnedAsCores(t *testing.T) {
	k, rng := trainedTask(t, growing, 9, 40)
	f, gibs := growing(rng)
	before := k.model.Size(question(f)).CPU
	r := measuredRun(gibs)
	r.CPUMax, r.Allocated.CPU = 900, 1
	k.report(f, r)
	assert.Equal(t, before, k.model.Size(question(f)).CPU)
}
