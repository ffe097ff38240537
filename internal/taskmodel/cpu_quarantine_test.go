package taskmodel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func usedCores(used, requested sizing.Cores) sizing.HistoryRow {
	r := measuredRun(1)
	r.CPUMax, r.Requested.CPU = used, requested
	return r
}

func predictCores(k *task, x float64, requested sizing.Cores) sizing.Cores {
	q := question(sizing.Features{"x": sizing.NumberValue(x)})
	q.Requested.CPU = requested
	return k.model.Size(q).CPU
}

// One CPU report of the history is in the wrong unit. No answer exceeds four cores: not before a training, not after it,
// not from the decoded model, and not from a model that was fitted from scratch. The test tries several positions of this
// report in the history.
func TestOneCPUReportInTheWrongUnitRaisesNoAnswer(t *testing.T) {
	for _, c := range []struct{ wrong, requested, question sizing.Cores }{
		{1500, 0, 2}, {1500, 0, 0}, {150, 2, 2}, {150, 2, 0}, {150, 0, 0}, {2000, 2, 0},
	} {
		for _, at := range []int{0, 4, 20, 59} {
			about := fmt.Sprintf("report %d has %v cores at a request of %v", at, c.wrong, c.requested)
			k, rng := newTask(t), rand.New(rand.NewPCG(uint64(at), 3))
			for i := range 60 {
				used := sizing.Cores(0.8 + 1.1*rng.Float64())
				if i == at {
					used = c.wrong
				}
				k.report(sizing.Features{"x": sizing.NumberValue(float64(1 + rng.IntN(100)))}, usedCores(used, c.requested))
			}
			check := func(m *taskmodel.Model, when string) {
				k.model = m
				got := predictCores(k, 50, c.question)
				require.Positive(t, got, about+when)
				require.LessOrEqual(t, got, sizing.Cores(4), about+when)
			}
			check(k.model, ", before a training")
			k.fit()
			check(k.model, ", trained")
			check(reopen(t, blobOf(t, k.model)), ", stored")
			again, _, err := taskmodel.Fit(&k.history, nil)
			require.NoError(t, err)
			check(again, ", learned from scratch")
		}
	}
}

func TestSecondCPUReportConfirmsTheFirst(t *testing.T) {
	k := newTask(t)
	row := func(used sizing.Cores) sizing.HistoryRow { return usedCores(used, 0) }
	for range 20 {
		k.report(nil, row(1.5))
	}
	grown := taskmodel.NewTrainingRow(&k.history.Schema, k.row(nil, row(40)))
	assert.Contains(t, k.model.QuarantineCoresReason(grown), "40 cores is 27 times the largest CPU use of the newest runs (1.5)")
	k.model.Learn(grown)
	require.Len(t, k.model.QuarantineCores, 1)
	k.report(nil, row(1.4))
	require.Len(t, k.model.QuarantineCores, 1, "an ordinary run confirms nothing")
	second := taskmodel.NewTrainingRow(&k.history.Schema, k.row(nil, row(36)))
	assert.Empty(t, k.model.QuarantineCoresReason(second))
	k.model.Learn(second)
	assert.Empty(t, k.model.QuarantineCores)
	assert.GreaterOrEqual(t, k.model.Size(question(nil)).CPU, sizing.Cores(36))
}

func TestOnlyImplausibleCPUUseIsQuarantined(t *testing.T) {
	for name, c := range map[string]struct {
		before      int
		usual       sizing.Cores
		used        sizing.Cores
		requested   sizing.Cores
		quarantined bool
	}{
		"all of a large request":           {20, 1, 16, 16, false},
		"three times the largest":          {20, 2, 6, 2, false},
		"one core, of an idle task":        {20, 0.01, 1, 0, false},
		"a first report of a large node":   {0, 0, 96, 0, false},
		"a small request on a free node":   {0, 0, 4, 0.5, false},
		"a percentage, as the first":       {0, 0, 150, 2, true},
		"millicores, as the first":         {0, 0, 1500, 0, true},
		"tenfold growth, after three runs": {3, 1, 10, 0, false},
	} {
		k := newTask(t)
		for range c.before {
			k.report(nil, usedCores(c.usual, c.requested))
		}
		row := taskmodel.NewTrainingRow(&k.history.Schema, k.row(nil, usedCores(c.used, c.requested)))
		assert.Equal(t, c.quarantined, k.model.QuarantineCoresReason(row) != "", name)
	}
}

func TestCPUAboveTheRequestNeedsRepeatedUse(t *testing.T) {
	for _, c := range []struct {
		above     int          // number of newest runs that use `used` cores; the others use at most 1.5
		used      sizing.Cores // cores that the newest runs use
		requested sizing.Cores
		want      sizing.Cores
	}{{1, 3.4, 2, 2}, {2, 3.4, 2, 2}, {3, 3.4, 2, 3.5}, {20, 100, 2, 16}, {20, 2.9, 0.1, 3}, {20, 99.9, 0, 100}} {
		k := newTask(t)
		for i := range 20 {
			used := min(sizing.Cores(1.5), c.used)
			if i >= 20-c.above {
				used = c.used
			}
			k.report(nil, usedCores(used, 0))
		}
		q := question(nil)
		q.Requested.CPU = c.requested
		assert.Equal(t, c.want, k.model.Size(q).CPU, "%+v", c)
	}
}
