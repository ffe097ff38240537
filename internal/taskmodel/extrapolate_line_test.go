package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The peak is a fixed amount plus a multiple of the size. Few learned runs are so large that the multiple dominates. So the
// lines of the cold-start rule, which are powers of the size, are too flat above the range.
func TestInputsAboveTheRangeGetThePeakOfTheLine(t *testing.T) {
	peak := func(size float64) float64 { return .15 + size/350 }
	below := map[float64]int{}
	const seeds = 6
	for seed := range uint64(seeds) {
		k, rng := newTask(t), newRand(700+seed)
		largest := 0.0
		for runs := 1; runs <= 60; runs++ {
			size := math.Round(1e6*math.Pow(10, 1+1.5*rng.Float64())) / 1e6
			largest = max(largest, size)
			k.reportSuccess(sizing.Features{"size": sizing.NumberValue(size * 1e6)}, peak(size)*noise(rng, .04))
			if runs != 16 && runs != 30 && runs != 60 {
				continue
			}
			k.fit()
			line := fmt.Sprint(seed, " ", runs)
			for _, factor := range []float64{1.5, 2, 3, 5, 8, 10, 12, 30} {
				q := question(sizing.Features{"size": sizing.NumberValue(factor * largest * 1e6)})
				q.Cap, q.Requested = 0, sizing.Resources{}
				s := k.model.Size(q)
				ratio := float64(s.Limit) / float64(bytes(peak(factor*largest)))
				line += fmt.Sprintf(" x%v:%.2f", factor, ratio)
				if ratio < 1 {
					below[factor]++
				}
				assert.Greater(t, ratio, .95, "%d runs, %v times the largest size: %s", runs, factor, s.Reason)
				assert.Less(t, ratio, 2.0, "%d runs, %v times the largest size: %s", runs, factor, s.Reason)
			}
			t.Log(line)
		}
	}
	for factor, n := range below {
		assert.LessOrEqual(t, n, 3*seeds/10, "%v times the largest size", factor)
	}
}

// Cells, rows, bytes and files measure the same size. The coefficient of each of them is uncertain, but their joint effect is
// not.
func TestCollinearInputsAreExtrapolated(t *testing.T) {
	for _, spread := range []float64{.1, .3} {
		for seed := range uint64(3) {
			k, rng := newTask(t), rand.New(rand.NewPCG(31, seed))
			draw := func(rows float64) sizing.Features {
				return sizing.Features{
					"cells": sizing.NumberValue(math.Round(20 * rows)), // a multiple of the rows
					"rows":  sizing.NumberValue(math.Round(rows)),
					"bytes": sizing.NumberValue(math.Round(900 * rows * noise(rng, .01))),
					"files": sizing.NumberValue(math.Round(rows/1e4*noise(rng, .05)) + 1),
				}
			}
			peak := func(rows float64) float64 { return .5 + 3*rows/1e6 }
			for runs := 1; runs <= 90; runs++ {
				rows := 1e6 * noise(rng, spread)
				k.reportSuccess(draw(rows), peak(rows)*noise(rng, .03))
				if runs != 29 && runs != 59 && runs != 90 {
					continue
				}
				k.fit()
				line := fmt.Sprint(spread, " ", seed, " ", runs)
				for _, factor := range []float64{2, 3, 5, 10} {
					s := sizeUncapped(k, draw(factor*1e6))
					ratio := float64(s.Limit) / float64(bytes(peak(factor*1e6)))
					line += fmt.Sprintf(" x%v:%.2f", factor, ratio)
					assert.Greater(t, ratio, .9, "%v, %d runs, %v times: %s", spread, runs, factor, s.Reason)
					assert.Less(t, ratio, 2.0, "%v, %d runs, %v times: %s", spread, runs, factor, s.Reason)
				}
				t.Log(line)
			}
		}
	}
}

// The first inputs are so small that the fixed part of the peak hides the effect of the input.
func TestEffectOfALargerInputIsUnknownAfterSmallOnes(t *testing.T) {
	for seed := range uint64(6) {
		k, rng := newTask(t), newRand(800+seed)
		largest := 0.0
		for runs := 1; runs <= 30; runs++ {
			rows := math.Round(math.Pow(10, 2+2.5*rng.Float64()))
			largest = max(largest, rows)
			k.reportSuccess(withRows(rows), (.4+8e-7*rows)*noise(rng, .04))
			if runs != 4 && runs != 6 && runs != 9 && runs != 14 && runs != 30 {
				continue
			}
			k.fit()
			for _, factor := range []float64{3, 10, 30, 100, 500} {
				q := question(withRows(math.Round(factor * largest)))
				s := k.model.Size(q)
				require.Nil(t, s.Promised, "%d runs, %v times the largest number: %s", runs, factor, s.Reason)
				require.Contains(t, s.Reason, "outside the known range: rows")
				if factor >= 30 && !strings.Contains(s.Reason, "extrapolated") {
					require.Equal(t, q.Requested.Memory, s.Limit, s.Reason)
					require.Contains(t, s.Reason, "too large to extrapolate")
				}
			}
		}
	}
}

// Four hundred runs show that a number has no influence.
func TestNumberWithoutInfluenceIsNotTooLarge(t *testing.T) {
	k, rng := newTask(t), newRand(821)
	for range 400 {
		k.reportSuccess(withRows(math.Round(math.Pow(10, 2+2.5*rng.Float64()))), .4*noise(rng, .04))
	}
	k.train()
	for _, rows := range []float64{1e5, 1e6} {
		s := sizeUncapped(k, withRows(rows))
		require.NotNil(t, s.Promised, s.Reason)
		require.Less(t, s.Limit, bytes(.6), s.Reason)
	}
}
