package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// clustering draws a run with one of two methods. The numbers of cells of the method knn are about six times as large as those of
// the method spectral.
func clustering(rng *rand.Rand) (cells float64, method string) {
	cells = 1000 * noise(rng, .5)
	if rng.IntN(2) == 0 {
		return math.Round(6 * cells), "knn"
	}
	return math.Round(cells), "spectral"
}

func withMethod(cells float64, method string) sizing.Features {
	return sizing.Features{"cells": sizing.NumberValue(cells), "method": sizing.TextValue(method)}
}

func TestRangeAndTrendOfANumberDependOnACategory(t *testing.T) {
	for name, peak := range map[string]func(cells float64) float64{
		"square": func(cells float64) float64 { return .3 + cells*cells/1e6 },
		"line":   func(cells float64) float64 { return .3 + 5*cells/1000 },
	} {
		for seed := range uint64(6) {
			k, rng := newTask(t), newRand(880+seed)
			largest := map[string]float64{}
			for range 100 {
				cells, method := clustering(rng)
				gibs := .3 + .3*cells/1000
				if method == "spectral" {
					gibs = peak(cells)
				}
				largest[method] = max(largest[method], cells)
				k.reportSuccess(withMethod(cells, method), gibs*noise(rng, .04))
				k.train()
			}
			for _, factor := range []float64{2.5, 4} {
				cells := math.Round(factor * largest["spectral"])
				if cells > largest["knn"] {
					continue
				}
				s := sizeUncapped(k, withMethod(cells, "spectral"))
				about := []any{"%s, seed %d, %v times: %s", name, seed, factor, s.Reason}
				ratio := float64(s.Limit) / float64(bytes(peak(cells)))
				require.Nil(t, s.Promised, about...)
				require.Regexp(t, `outside the known range: cells \d+ \(\d+ … \d+ with method "spectral"\), extrapolated`, s.Reason, about...)
				assert.Greater(t, ratio, .85, about...)
				assert.Less(t, ratio, 2.0, about...)
				assert.Positive(t, k.model.Extrapolated(withMethod(cells, "spectral")), about...)
				q := question(withMethod(cells, "spectral"))
				assert.Equal(t, k.model.Size(q).Reason, reopened(t, k.model).Size(q).Reason)
			}
			for method, cells := range largest {
				s := sizeUncapped(k, withMethod(cells, method))
				require.NotContains(t, s.Reason, "outside", "%s, seed %d: %s", name, seed, s.Reason)
				require.NotNil(t, s.Promised)
			}
		}
	}
}

func TestACategoryWithoutEffectHasNoRangeOfItsOwn(t *testing.T) {
	for seed := range uint64(6) {
		k, rng := newTask(t), newRand(890+seed)
		largest := map[string]float64{}
		for range 100 {
			cells, method := clustering(rng)
			largest[method] = max(largest[method], cells)
			k.reportSuccess(withMethod(cells, method), (.3+.3*cells/1000)*noise(rng, .04))
			k.train()
		}
		s := sizeUncapped(k, withMethod(largest["knn"], "spectral"))
		require.NotContains(t, s.Reason, "outside", "seed %d: %s", seed, s.Reason)
		require.NotNil(t, s.Promised)
	}
}

// A full run takes time and memory in proportion to the square of its rows, a delta run in proportion to them.
func TestRunTimesOfLargeRunsFollowTheirCategory(t *testing.T) {
	covered, asked, errors := 0, 0, 0.0
	for seed := range uint64(4) {
		k, rng := newTask(t), newRand(900+seed)
		amount := func(rows float64, mode string) float64 {
			if mode == "full" {
				return .1 + rows*rows
			}
			return .1 + .3*rows
		}
		features := func(rows float64, mode string) sizing.Features {
			return sizing.Features{"rows": sizing.NumberValue(1e6 * rows), "mode": sizing.TextValue(mode)}
		}
		largest := 0.0 // of the full runs
		for range 150 {
			rows, mode := noise(rng, .7), "delta"
			if rng.Float64() < .3 {
				mode, largest = "full", max(largest, rows)
			}
			end := measuredRun(amount(rows, mode) * noise(rng, .05))
			end.Duration = time.Duration(float64(100*time.Second) * amount(rows, mode) * noise(rng, .1))
			k.report(features(rows, mode), end)
			k.train()
		}
		for range 50 {
			rows := largest * (.6 + .4*rng.Float64())
			predicted := k.model.Size(question(features(rows, "full"))).Duration
			errors += math.Abs(math.Log(predicted.Median.Seconds() / (100 * amount(rows, "full"))))
			covered += countIf(100*amount(rows, "full")*noise(rng, .1) <= predicted.P95.Seconds())
			asked++
		}
	}
	assert.Less(t, errors/float64(asked), .12)
	assert.Greater(t, float64(covered)/float64(asked), .85)
	t.Logf("%d of %d covered, mean error %.2f", covered, asked, errors/float64(asked))
}
