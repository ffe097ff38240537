package experiment

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tenToOne returns the bins of 100 rows of bin 0, mixed with 10 rows of bin 2. Bin 1 is empty.
func tenToOne() []int {
	bin := make([]int, 110)
	for i := 5; i < len(bin); i += 11 {
		bin[i] = 2
	}
	return bin
}

func count(bin, rows []int, wanted int) (n int) {
	for _, i := range rows {
		if bin[i] == wanted {
			n++
		}
	}
	return n
}

// requirePartition checks that every one of n rows is in exactly one part of a split.
func requirePartition(t *testing.T, n int, s split) {
	t.Helper()
	assert.True(t, slices.IsSorted(s.train), "the row numbers must be in order of time")
	assert.True(t, slices.IsSorted(s.test), "the row numbers must be in order of time")
	requireEachOnce(t, n, append(slices.Clone(s.train), s.test...))
}

func requireEachOnce(t *testing.T, n int, rows []int) {
	t.Helper()
	slices.Sort(rows)
	require.Len(t, rows, n)
	for i, row := range rows {
		require.Equal(t, i, row)
	}
}

func TestAStratifiedSplitHoldsOutThreeTenthsOfEachBin(t *testing.T) {
	bin := tenToOne()
	s := stratified(bin, 3, 7)
	requirePartition(t, len(bin), s)
	assert.Equal(t, 30, count(bin, s.test, 0))
	assert.Equal(t, 3, count(bin, s.test, 2))
	assert.Equal(t, s, stratified(bin, 3, 7))
	assert.NotEqual(t, s, stratified(bin, 3, 8))
}

func TestASplitByTimeHoldsOutTheNewestRows(t *testing.T) {
	assert.Equal(t, split{[]int{0, 1, 2, 3, 4, 5, 6}, []int{7, 8, 9}}, byTime(10))
}

func TestEveryFoldHasItsShareOfEachBin(t *testing.T) {
	bin, tested := tenToOne(), []int(nil)
	for _, f := range folds(bin, 3, 3, 1) {
		requirePartition(t, len(bin), f)
		assert.InDelta(t, 33.3, count(bin, f.test, 0), 0.75)
		assert.InDelta(t, 3.3, count(bin, f.test, 2), 0.75)
		tested = append(tested, f.test...)
	}
	requireEachOnce(t, len(bin), tested)
}
