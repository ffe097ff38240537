package taskmodel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The same history has sizes in bytes, MB, GB or TB. In each of these units an answer far outside the range has no promise, and
// about the same amount.
func TestExtrapolationDoesNotDependOnTheUnit(t *testing.T) {
	for seed := range uint64(3) {
		for _, runs := range []int{5, 12, 30, 80, 160} {
			var inBytes []sizing.Bytes
			for _, unit := range []float64{1, 1e6, 1e9, 1e12} {
				k, rng := newTask(t), newRand(840+seed)
				largest := 0.0
				draw := func(size float64) sizing.Features {
					return sizing.Features{"size": sizing.NumberValue(size / unit)}
				}
				for range runs {
					size := math.Round(math.Pow(10, 6.3+2.4*rng.Float64()))
					largest = max(largest, size)
					k.reportSuccess(draw(size), (.15+5.6e-9*size)*noise(rng, .04))
				}
				k.fit()
				line := fmt.Sprint(seed, " ", runs, " ", unit)
				for i, factor := range []float64{2.5, 4, 8, 20} {
					q := question(draw(factor * largest))
					q.Cap, q.Requested = 0, sizing.Resources{}
					s := k.model.Size(q)
					line += fmt.Sprintf(" x%v: %.2f", factor, float64(s.Limit)/float64(bytes(.15+5.6e-9*factor*largest)))
					assert.Nil(t, s.Promised, "%d runs, unit %v, %v times: %s", runs, unit, factor, s.Reason)
					assert.Contains(t, s.Reason, "outside the known range: size")
					if unit == 1 {
						inBytes = append(inBytes, s.Limit)
					} else {
						assert.InDelta(t, 0, math.Log(float64(s.Limit)/float64(inBytes[i])), math.Ln2, "%d runs, unit %v, %v times: %s", runs, unit, factor, s.Reason)
					}
				}
				t.Log(line)
			}
		}
	}
}

// The peak is proportional to the size, or to a power of it. In each unit, the grants near the largest sizes are about the same.
func TestGrantsDoNotDependOnTheUnit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		for _, power := range []float64{.5, 1} {
			var inBytes []sizing.Bytes
			for _, unit := range []float64{1, 1e6, 1e9, 1e12} {
				k, rng := newTask(t), newRand(150+seed)
				report := func(size float64) {
					k.reportSuccess(sizeIn(unit, size), math.Pow(size/1e9, power)*noise(rng, .05))
				}
				largest := 0.0
				for range 300 {
					size := math.Round(4e9 * noise(rng, 1))
					largest = max(largest, size)
					report(size)
					k.train()
				}
				report(5 * largest)
				for i, factor := range []float64{.1, .97, 2, 3, 4} {
					q := question(sizeIn(unit, factor*largest))
					q.Cap, q.Requested = 0, sizing.Resources{}
					s := k.model.Size(q)
					if unit == 1 {
						inBytes = append(inBytes, s.Limit)
						assert.Greater(t, s.Limit, bytes(math.Pow(factor*largest/1e9, power)), "%v times the largest size: %s", factor, s.Reason)
						continue
					}
					assert.InEpsilon(t, float64(inBytes[i]), float64(s.Limit), .1, "power %v, unit %v, %v times: %s", power, unit, factor, s.Reason)
				}
			}
		}
	}
}

func sizeIn(unit, size float64) sizing.Features {
	return sizing.Features{"size": sizing.NumberValue(size / unit)}
}
