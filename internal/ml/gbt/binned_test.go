package gbt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

func TestAColumnOfFewValuesHasCutsMidwayBetweenThem(t *testing.T) {
	nan := math.NaN()
	b, err := NewBinned(&table.Table{Names: []string{"a"}, X: []float64{6, 1, nan, 4, 1}, Y: make([]float64, 5)}, 3)
	require.NoError(t, err)
	assert.Equal(t, []float64{2.5, 5}, b.columns[0].cuts)
	assert.Equal(t, []uint8{2, 0, 3, 1, 0}, b.columns[0].codes)
}

func TestBetweenHandlesAdjacentAndExtremeNumbers(t *testing.T) {
	next := math.Nextafter(1, 2)
	for _, c := range [][3]float64{
		{1, 3, 2},
		{1, next, 1},
		{-math.MaxFloat64, math.MaxFloat64, 0},
		{math.MaxFloat64 / 2, math.MaxFloat64, 0.75 * math.MaxFloat64},
		{0, math.SmallestNonzeroFloat64, 0},
	} {
		assert.Equal(t, c[2], between(c[0], c[1]))
	}
}

// 1,600 distinct values in 64 bins give 25 rows per bin on average, with more rows in the
// middle and fewer at the ends.
func TestBinsAreFinerTowardsBothEnds(t *testing.T) {
	values := make([]float64, 1600)
	for i := range values {
		values[i] = float64(i)
	}
	cuts := cutsOf(values, 64)
	require.Greater(t, len(cuts), 55)
	require.Less(t, len(cuts), 64)
	assert.Equal(t, []float64{0.5, 1.5, 3.5}, cuts[:3])
	assert.Equal(t, 1598.5, cuts[len(cuts)-1])
	middle, _ := slices.BinarySearch(cuts, 800)
	assert.InDelta(t, 40, cuts[middle]-cuts[middle-1], 10)
}

// For any values, larger values never have smaller codes, there are at most maxBins bins, and no bin is empty. If there are
// enough bins, each distinct value has its own bin.
func FuzzCuts(f *testing.F) {
	f.Add(uint64(1), 100, 10, 64)
	f.Add(uint64(2), 3, 1000, 2)
	f.Fuzz(func(t *testing.T, seed uint64, n, distinct, maxBins int) {
		if n < 1 || n > 2000 || distinct < 1 || maxBins < 2 || maxBins > maxBinCount {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Pow(2, float64(rng.IntN(distinct)%2000-1000))
		}
		slices.Sort(values)
		c := column{cuts: cutsOf(values, maxBins)}
		require.Less(t, len(c.cuts), maxBins)
		distinctValues, codes := 1, 1
		for i := 1; i < n; i++ {
			require.LessOrEqual(t, c.code(values[i-1]), c.code(values[i]))
			if values[i] != values[i-1] {
				distinctValues++
			}
			if c.code(values[i]) != c.code(values[i-1]) {
				codes++
			}
		}
		require.Equal(t, len(c.cuts)+1, codes, "every bin must have a row")
		if distinctValues <= maxBins {
			require.Equal(t, distinctValues, codes)
		}
	})
}

func TestDrawKeepsOrderAndCount(t *testing.T) {
	rng, items := rand.NewPCG(1, 1), []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}
	times := make([]int, 10)
	for range 3000 {
		all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		got, rest := draw(rng, all, 0.3, nil, nil)
		require.Len(t, got, 3)
		require.True(t, slices.IsSorted(got))
		require.True(t, slices.IsSorted(rest))
		require.ElementsMatch(t, all, slices.Concat(got, rest))
		for _, i := range got {
			times[i]++
		}
	}
	for _, n := range times {
		require.InDelta(t, 900, n, 100) // 4 standard deviations of binomial(3000, 0.3)
	}
	all, rest := draw(rng, items, 1, nil, nil)
	require.Equal(t, items, all)
	require.Empty(t, rest)
	one, rest := draw(rng, items, 0.001, nil, nil)
	require.Len(t, one, 1)
	require.Len(t, rest, 9)
}

func TestIntNEqualsUint64NOfRand(t *testing.T) {
	own, wrapped := rand.NewPCG(7, 7), rand.New(rand.NewPCG(7, 7))
	for n := uint64(1); n < 2000; n++ {
		require.Equal(t, wrapped.Uint64N(n), intN(own, n))
	}
	for range 2000 { // a third of the first numbers are rejected
		n := uint64(math.MaxUint64/3*2 + 1)
		require.Equal(t, wrapped.Uint64N(n), intN(own, n))
	}
}
