package cost

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWastage(t *testing.T) {
	assert.Equal(t, 20., Wastage(10, 8, 10, false), "a successful try wastes the unused part")
	assert.Equal(t, 100., Wastage(10, 0, 10, true), "a killed try wastes its whole allocation")
	assert.Equal(t, 100., Wastage(10, 12, 10, true), "the peak of a killed try does not matter")
}

func TestLadderWastage(t *testing.T) {
	for claim, c := range map[string]struct {
		peak, tolerance, waste float64
		rungs                  []float64
		kills                  int
	}{
		"an unused part is wasted":                       {8, 0, 2, []float64{10, 15}, 0},
		"an exact fit wastes nothing":                    {10, 0, 0, []float64{10, 15}, 0},
		"a kill wastes its whole allocation":             {12, 0, 10 + 3, []float64{10, 15}, 1},
		"later rungs double":                             {40, 0, 10 + 15 + 30 + 20, []float64{10, 15}, 3},
		"a second rung that fits exactly wastes nothing": {15, 0, 10, []float64{10, 15}, 1},
		"a single rung doubles at once":                  {25, 0, 10 + 20 + 15, []float64{10}, 2},
		"a peak within the tolerance is no kill":         {10.5, 0.1, -0.5, []float64{10, 15}, 0},
		"a peak beyond the tolerance is killed":          {11.5, 0.1, 10 + 3.5, []float64{10, 15}, 1},
	} {
		waste, kills := LadderWastage(c.peak, c.tolerance, c.rungs...)
		assert.Equal(t, c.waste, waste, claim)
		assert.Equal(t, c.kills, kills, claim)
	}
}

func TestLadderWastageIsInfiniteIfNoDoublingSuffices(t *testing.T) {
	for claim, c := range map[string]struct {
		peak  float64
		rungs []float64
	}{
		"no rung":           {8, nil},
		"a last rung of 0":  {8, []float64{4, 0}},
		"a rung below 0":    {8, []float64{-1}},
		"a rung that's NaN": {8, []float64{math.NaN()}},
		"a peak that's NaN": {math.NaN(), []float64{4}},
	} {
		waste, _ := LadderWastage(c.peak, 0, c.rungs...)
		assert.Equal(t, math.Inf(1), waste, claim)
	}
}

func TestLadderWastageIsTheSumOfItsTries(t *testing.T) {
	waste, _ := LadderWastage(17, 0, 4, 9)
	assert.Equal(t, Wastage(4, 0, 1, true)+Wastage(9, 0, 1, true)+Wastage(18, 17, 1, false), waste)
}

func TestLadderWastageDoesNotAllocate(t *testing.T) {
	first, second := 10., 15.
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = LadderWastage(40, 0, first, second) }))
}
