package resample_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/resample"
	"github.com/loadaware/loadaware/internal/ml/table"
)

const (
	number   = resample.Number
	integer  = resample.Integer
	category = resample.Category
)

var nan = math.NaN()

// minority returns a table with the given rows as class 1. Class 0 has `deficit` rows more, and all rows of class 0 are zeros.
// SMOTE therefore adds `deficit` rows to class 1.
func minority(deficit int, rows ...[]float64) *table.Table {
	p := len(rows[0])
	tab := &table.Table{Names: named(p)}
	for range deficit + len(rows) {
		tab.X, tab.Y = append(tab.X, make([]float64, p)...), append(tab.Y, 0)
	}
	for _, row := range rows {
		tab.X, tab.Y = append(tab.X, row...), append(tab.Y, 1)
	}
	return tab
}

func synthetic(t *testing.T, tab *table.Table, kinds []resample.Kind, neighbours int, seed uint64) (rows [][]float64) {
	t.Helper()
	got, err := resample.SMOTE(tab, kinds, 2, neighbours, seed)
	require.NoError(t, err)
	require.NoError(t, got.Check())
	for i := tab.Rows(); i < got.Rows(); i++ {
		require.Equal(t, 1.0, got.Y[i])
		rows = append(rows, got.Row(i))
	}
	return rows
}

func TestASyntheticRowIsBetweenItsParents(t *testing.T) {
	rows := synthetic(t, minority(200, []float64{10, 100}, []float64{20, 300}), nil, 0, 1) // column 1 is 20 · column 0 − 100
	require.Len(t, rows, 200)
	low, high := 20.0, 10.0
	for _, row := range rows {
		assert.InDelta(t, 100+20*(row[0]-10), row[1], 1e-9, "all columns use the same share")
		low, high = min(low, row[0]), max(high, row[0])
	}
	assert.Less(t, low, 10.5, "shares go down to 0")
	assert.Greater(t, high, 19.5, "shares go up to 1")
}

func TestAnIntegerColumnStaysIntegral(t *testing.T) {
	seen := map[float64]int{}
	for _, row := range synthetic(t, minority(400, []float64{18000}, []float64{18002}), []resample.Kind{integer}, 0, 2) {
		seen[row[0]]++
	}
	require.Len(t, seen, 3)
	assert.InDelta(t, 200, seen[18001], 40, "number of rows with 18001: the shares from ¼ to ¾ round to it")
}

func TestACategoryIsChosenByVote(t *testing.T) {
	// Five rows are close together and one is far away: the four neighbours of one of the
	// five are the other four.
	for claim, c := range map[string]struct {
		codes [6]float64 // the last one is of the distant row
		want  []float64  // codes of the synthetic rows
	}{
		"the majority wins":                          {[6]float64{7, 7, 7, 7, 7, 3}, []float64{7}},
		"the majority outvotes the code of the base": {[6]float64{7, 7, 7, 7, 3, 7}, []float64{7}},
		"the lowest wins a tie":                      {[6]float64{1, 2, 3, 4, 5, 6}, []float64{1, 2}}, // code 1 is not among the neighbours of the rows with 1 and 6
		"a missing code has no vote":                 {[6]float64{3, 6, nan, nan, nan, nan}, []float64{3, 6, nan}},
		"no vote if a parent lacks its code":         {[6]float64{nan, nan, nan, 5, 5, 5}, []float64{5, nan}},
		"all codes are missing":                      {[6]float64{nan, nan, nan, nan, nan, nan}, []float64{nan}},
		"the distant row keeps its missing code":     {[6]float64{8, 8, 8, 8, 8, nan}, []float64{8, nan}},
		"a code may be zero or negative":             {[6]float64{0, 0, 0, -1, 0, 0}, []float64{0}},
	} {
		rows := make([][]float64, 6)
		for i, code := range c.codes {
			rows[i] = []float64{float64(i) / 100, code}
		}
		rows[5][0] = 1000
		seen := map[string]bool{}
		for _, row := range synthetic(t, minority(200, rows...), []resample.Kind{number, category}, 4, 9) {
			seen[fmt.Sprint(row[1])] = true
		}
		want := map[string]bool{}
		for _, code := range c.want {
			want[fmt.Sprint(code)] = true
		}
		assert.Equal(t, want, seen, claim)
	}
}

func TestTheCodeOfTheBaseWinsATie(t *testing.T) {
	// A row with code 5 has two neighbours with code 5 and two with code 2. A row
	// with code 2 has three neighbours with code 5.
	rows := [][]float64{{0, 5}, {1, 2}, {-1, 2}, {10, 5}, {-10, 5}}
	for _, row := range synthetic(t, minority(200, rows...), []resample.Kind{number, category}, 4, 10) {
		require.Equal(t, 5.0, row[1])
	}
}

func TestInterpolationOfEqualValuesIsExact(t *testing.T) {
	for v := 0.1; v < 2; v += 0.1 {
		for _, row := range synthetic(t, minority(50, []float64{v}, []float64{v}), nil, 0, 11) {
			require.Equal(t, v, row[0])
		}
	}
}

func TestRowsWithTheSameMissingCellsAreNear(t *testing.T) {
	rows := [][]float64{{3, 7, 7}, {1, nan, nan}, {2, nan, nan}, {4, 7, 7}}
	for _, row := range synthetic(t, minority(50, rows...), []resample.Kind{category, number, category}, 1, 12) {
		assert.Equal(t, row[0] < 3, math.IsNaN(row[1]), "%v", row)
	}
}

func TestMissingCellsAreCopiedFromTheBase(t *testing.T) {
	rows := synthetic(t, minority(100, []float64{1, 5}, []float64{2, nan}), nil, 0, 3)
	missing := 0
	for _, row := range rows {
		assert.True(t, row[1] == 5 || math.IsNaN(row[1]), "%v", row)
		if math.IsNaN(row[1]) {
			missing++
		}
	}
	assert.InDelta(t, 50, missing, 20, "number of rows with a missing cell: each of the two rows is the base equally often")
}

func TestASingleRowIsRepeatedAndAnEmptyClassStaysEmpty(t *testing.T) {
	tab := minority(4, []float64{3, 7})
	for _, row := range synthetic(t, tab, []resample.Kind{number, category}, 0, 4) {
		assert.Equal(t, []float64{3, 7}, row)
	}
	got, err := resample.SMOTE(tab, nil, 9, 0, 4)
	require.NoError(t, err)
	assert.Equal(t, 10, got.Rows())
	none, err := resample.SMOTE(&table.Table{Names: named(2)}, nil, 3, 0, 0)
	require.NoError(t, err)
	assert.Zero(t, none.Rows())
}

func TestNeighboursDoNotDependOnUnits(t *testing.T) {
	// Rows that agree in the first column are neighbours, whatever the unit of the second
	// column is.
	for _, unit := range []float64{1e-6, 1, 1e9} {
		rows := [][]float64{{0, 0}, {0, 1 * unit}, {100, 0}, {100, 1 * unit}}
		tab := minority(50, rows...)
		for i := range 54 { // class 0 has the range of class 1 in the first column, and 20 times its range in the second
			tab.X[2*i], tab.X[2*i+1] = float64(i%2)*100, float64(i%3)*10*unit
		}
		for _, row := range synthetic(t, tab, nil, 1, 5) {
			assert.True(t, row[0] == 0 || row[0] == 100, "%v", row)
		}
	}
}

func TestCategoriesAloneAreComparedByTheirNumberOfDifferences(t *testing.T) {
	// The nearest neighbour of each row differs in one of three codes. With one neighbour, its
	// codes win every vote.
	rows := [][]float64{{1, 1, 1}, {1, 1, 2}, {5, 6, 7}, {5, 6, 8}}
	for _, row := range synthetic(t, minority(50, rows...), []resample.Kind{category, category, category}, 1, 6) {
		assert.Contains(t, rows, row)
	}
}

func TestASyntheticRowHasTheWeightOfItsBase(t *testing.T) {
	tab := minority(10, []float64{1}, []float64{2})
	for range tab.Rows() {
		tab.W = append(tab.W, 1)
	}
	tab.W[tab.Rows()-2], tab.W[tab.Rows()-1] = 3, 3
	got, err := resample.SMOTE(tab, nil, 2, 0, 7)
	require.NoError(t, err)
	for i := tab.Rows(); i < got.Rows(); i++ {
		assert.Equal(t, 3.0, got.Weight(i))
	}
}

func TestSMOTERejectsInvalidColumns(t *testing.T) {
	for claim, c := range map[string]struct {
		value float64
		group []int
		kinds []resample.Kind
		k     int
	}{
		"one-hot encoded columns":         {1, []int{1}, nil, 5},
		"an infinite number":              {math.Inf(1), nil, nil, 5},
		"a fraction in an integer column": {1.5, nil, []resample.Kind{integer}, 5},
		"one kind too many":               {1, nil, []resample.Kind{integer, integer}, 5},
		"negative neighbours":             {1, nil, nil, -1},
	} {
		_, err := resample.SMOTE(&table.Table{Names: named(1), Group: c.group, X: []float64{c.value}, Y: []float64{0}}, c.kinds, 1, c.k, 0)
		assert.ErrorIs(t, err, resample.ErrRows, claim)
	}
}

func TestSMOTEAgreesWithImbalancedLearn(t *testing.T) {
	raw, err := os.ReadFile("../../../testdata/oracle/resample/smote.json")
	require.NoError(t, err)
	var oracle struct {
		Cases []struct {
			Numbers, Neighbours int
			X                   [][]float64
			Y                   []float64
			Near                map[int][]int
			Votes               map[int][][]float64
			Counts              []int
		}
	}
	require.NoError(t, json.Unmarshal(raw, &oracle))
	require.Len(t, oracle.Cases, 4)
	for k, c := range oracle.Cases {
		tab := &table.Table{Names: named(len(c.X[0])), Y: c.Y}
		kinds := make([]resample.Kind, tab.Cols())
		for j := c.Numbers; j < len(kinds); j++ {
			kinds[j] = category
		}
		for _, row := range c.X {
			tab.X = append(tab.X, row...)
		}
		used := map[[2]int]bool{} // base and neighbour of each synthetic row
		for seed := range uint64(10) {
			got, err := resample.SMOTE(tab, kinds, len(c.Counts), c.Neighbours, seed)
			require.NoError(t, err)
			counts := make([]int, len(c.Counts))
			for i := range got.Rows() {
				counts[int(got.Y[i])]++
			}
			require.Equal(t, c.Counts, counts)
			for i := tab.Rows(); i < got.Rows(); i++ {
				numbers, codes := got.Row(i)[:c.Numbers], got.Row(i)[c.Numbers:]
				pairs := parents(tab, numbers, got.Y[i], c.Near)
				require.NotEmpty(t, pairs, "case %d seed %d: row %d must be on a segment between a row and one of its neighbours", k, seed, i)
				voted := false
				for _, pair := range pairs {
					used[pair] = true
					voted = voted || allowed(c.Votes[pair[0]], codes)
				}
				require.True(t, voted, "case %d seed %d: %v of row %d, parents %v", k, seed, codes, i, pairs)
			}
		}
		pairs := 0
		for _, near := range c.Near {
			pairs += len(near)
		}
		assert.Greater(t, len(used), pairs*8/10, "case %d: number of used segments", k)
	}
}

// parents returns each pair of a row of class y and one of its neighbours whose segment
// contains the point, with a relative tolerance of 1e-9. Mutual neighbours give two pairs.
func parents(tab *table.Table, point []float64, y float64, near map[int][]int) (pairs [][2]int) {
	for base := range tab.Rows() {
		if tab.Y[base] != y {
			continue
		}
		for _, other := range near[base] {
			a, b := tab.Row(base), tab.Row(other)
			share := (point[0] - a[0]) / (b[0] - a[0])
			on := share >= -1e-9 && share <= 1+1e-9
			for j, v := range point {
				on = on && math.Abs(a[j]+share*(b[j]-a[j])-v) <= 1e-9*max(1, math.Abs(a[j]), math.Abs(b[j]))
			}
			if on {
				pairs = append(pairs, [2]int{base, other})
			}
		}
	}
	return pairs
}

func allowed(votes [][]float64, codes []float64) bool {
	for j, code := range codes {
		if !slices.Contains(votes[j], code) {
			return false
		}
	}
	return true
}

// mixed returns a seeded table of numbers, integers and categories with missing cells,
// constant columns and duplicates.
func mixed(rng *rand.Rand, n, bins int) (*table.Table, []resample.Kind) {
	kinds := make([]resample.Kind, 1+rng.IntN(6))
	for j := range kinds {
		kinds[j] = resample.Kind(rng.IntN(3))
	}
	tab := &table.Table{Names: named(len(kinds))}
	for range n {
		tab.Y = append(tab.Y, math.Floor(float64(bins)*rng.Float64()*rng.Float64()))
		for j, kind := range kinds {
			v := float64(rng.IntN(4))
			switch {
			case rng.IntN(10) == 0:
				v = nan
			case j == 4:
				v = 6
			case kind == number:
				v = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
			case kind == integer:
				v = math.Round(rng.NormFloat64() * 1e5)
			}
			tab.X = append(tab.X, v)
		}
	}
	return tab, kinds
}

func FuzzResampling(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed, uint8(3*seed), uint8(seed%5))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size, neighbours uint8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		bins := 1 + rng.IntN(5)
		tab, kinds := mixed(rng, int(size), bins)
		smote, err := resample.SMOTE(tab, kinds, bins, int(neighbours), seed)
		require.NoError(t, err)
		random, err := resample.Random(tab, bins, seed)
		require.NoError(t, err)
		for _, got := range []*table.Table{smote, random} {
			requireInvariants(t, tab, got, kinds, bins)
		}
		again, err := resample.SMOTE(tab, kinds, bins, int(neighbours), seed)
		require.NoError(t, err)
		for i, v := range smote.X {
			require.Equal(t, math.Float64bits(v), math.Float64bits(again.X[i]))
		}
	})
}

func requireInvariants(t *testing.T, tab, got *table.Table, kinds []resample.Kind, bins int) {
	t.Helper()
	require.NoError(t, got.Check())
	for i, v := range tab.X {
		require.Equal(t, math.Float64bits(v), math.Float64bits(got.X[i]), "the original rows come first, unchanged")
	}
	for i, y := range tab.Y {
		require.Equal(t, y, got.Y[i])
	}
	before, after := count(tab, bins), count(got, bins)
	for c, n := range after {
		require.True(t, before[c] == 0 && n == 0 || before[c] > 0 && n == slices.Max(before), "each non-empty class must have as many rows as the largest: the class sizes %v became %v", before, after)
	}
	for j, kind := range kinds {
		values := make([][]float64, bins) // known values by class
		for i := range tab.Rows() {
			if v := tab.Row(i)[j]; !math.IsNaN(v) {
				values[int(tab.Y[i])] = append(values[int(tab.Y[i])], v)
			}
		}
		for i := tab.Rows(); i < got.Rows(); i++ {
			v, known := got.Row(i)[j], values[int(got.Y[i])]
			switch {
			case math.IsNaN(v):
				require.Less(t, len(known), before[int(got.Y[i])], "a cell may be missing only if a row of the class lacks it")
			case kind == category:
				require.Contains(t, known, v, "a synthetic code must be a code of the class")
			default:
				require.True(t, v >= slices.Min(known) && v <= slices.Max(known), "the synthetic value %v must be within the range of %v", v, known)
				require.True(t, kind == number || v == math.Trunc(v), "the synthetic value %v of an integer column must be an integer", v)
			}
		}
	}
}

func count(tab *table.Table, bins int) []int {
	counts := make([]int, bins)
	for _, y := range tab.Y {
		counts[int(y)]++
	}
	return counts
}

func TestSMOTEInterpolatesBetweenTheLargestNumbers(t *testing.T) {
	for _, row := range synthetic(t, minority(50, []float64{-math.MaxFloat64}, []float64{math.MaxFloat64}), nil, 0, 8) {
		assert.Less(t, math.Abs(row[0]), math.MaxFloat64, "the value must be strictly between the parents")
	}
}

func BenchmarkSMOTE1460x30(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	tab := &table.Table{Names: named(30)}
	for i := range 1460 {
		tab.Y = append(tab.Y, float64([]int{0, 0, 0, 0, 0, 0, 1, 1, 1, 2}[i%10]))
		for range 30 {
			tab.X = append(tab.X, rng.NormFloat64())
		}
	}
	for b.Loop() {
		if _, err := resample.SMOTE(tab, nil, 3, 0, 1); err != nil {
			b.Fatal(err)
		}
	}
}
