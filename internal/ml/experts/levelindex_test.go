package experts

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLevelIndexFindsTheRowsNearestInLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	type pair struct{ level, residual float64 }
	l := levelIndex{model: Stack}
	var entries []Entry
	at, all := 0, []pair(nil)
	var near neighbours
	for range 300 {
		p := pair{float64(rng.IntN(20)), float64(rng.IntN(1000))}
		all = append(all, p)
		e := Entry{Log: p.level + p.residual}
		e.Point.Level[Stack] = p.level
		if len(entries) < 50 {
			at = len(entries)
			entries = append(entries, e)
		} else {
			at = (at + 1) % 50
			l.remove(entries, at)
			entries[at] = e
		}
		l.insert(entries, at)
		newest := slices.Clone(all[max(0, len(all)-50):])
		slices.SortFunc(newest, func(a, b pair) int { return int(a.level - b.level) })
		require.Len(t, l.order, len(newest))
		for i, at := range l.order {
			require.Equal(t, newest[i].level, l.level(entries, l.byResidual[at]))
		}
		// A query between two levels takes five rows from each side, or more from one side if the other has fewer.
		q := float64(rng.IntN(20)) + 0.5
		below := 0
		for below < len(newest) && newest[below].level < q {
			below++
		}
		low := max(0, min(len(newest)-10, below-5))
		wanted := map[float64]int{}
		for _, p := range newest[low:min(len(newest), low+10)] {
			wanted[p.level]++
		}
		l.nearest(entries, q, 10, &near)
		buf := near.sorted
		require.True(t, slices.IsSorted(buf))
		require.Len(t, buf, min(10, len(newest)))
		for _, r := range buf { // every residual must belong to a wanted level
			found := slices.ContainsFunc(newest, func(p pair) bool { return p.residual == r && wanted[p.level] > 0 })
			require.True(t, found, "the residual %v must belong to one of the nearest rows", r)
		}
	}
}

func TestRebuildRestoresTheLevelIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x := New(smallConfig())
	for range 300 {
		var p Point
		for k := range p.Level {
			p.Level[k] = float64(rng.IntN(9))
		}
		p.Scale[TreeScale], p.Scale[SameScale] = 1, 1
		x.appendRow(newEntry(&p, rng.Float64()))
	}
	stored := Experts{Rows: slices.Clone(x.Rows), At: x.At}
	stored.Rebuild(smallConfig())
	for k := range x.levels {
		require.Equal(t, x.levels[k].order, stored.levels[k].order)
		require.Equal(t, x.levels[k].byResidual, stored.levels[k].byResidual)
	}
}

// BenchmarkNearest sorts the residuals of the hundred rows nearest in level. The level changes from call to call.
func BenchmarkNearest(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 1))
	entries := make([]Entry, 2000)
	for i := range entries {
		level := rng.NormFloat64()
		entries[i].Point.Level[Stack], entries[i].Log = level, level+rng.NormFloat64()
	}
	l := levelIndex{model: Stack}
	l.build(entries, 0)
	var near neighbours
	for i := 0; b.Loop(); i++ {
		near.low = -1 // otherwise nearest may return its cached result
		l.nearest(entries, float64(i%7)-3, 100, &near)
	}
}
