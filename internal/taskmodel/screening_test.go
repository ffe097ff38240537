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
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// categories draws runs with n categories, of which only the first has an effect on the peak.
func categories(n, values int) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		f, first := sizing.Features{}, 0
		for j := range n {
			v := rng.IntN(values)
			if j == 0 {
				first = v
			}
			f[fmt.Sprintf("category_%03d", j)] = sizing.TextValue(fmt.Sprint("value-", v))
		}
		return f, float64(1+first%4) * noise(rng, 0.05)
	}
}

// numbers draws runs with n numbers, of which only the first has an effect on the peak. Each of them is missing with the
// probability `missing`.
func numbers(n int, missing float64) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		f, first := sizing.Features{}, 0.0
		for j := range n {
			v := 10 * rng.Float64()
			if j == 0 {
				first = v
			}
			if rng.Float64() >= missing {
				f[fmt.Sprintf("number_%03d", j)] = sizing.NumberValue(v)
			}
		}
		return f, (1 + first) * noise(rng, 0.05)
	}
}

// dates draws runs with n dates. The peak depends only on the days between the first two.
func dates(n int) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		f, days := sizing.Features{}, [2]int{}
		for j := range n {
			day := 20000 + rng.IntN(300)
			if j < len(days) {
				days[j] = day
			}
			f[fmt.Sprintf("date_%03d", j)] = dayValue(day)
		}
		return f, (1 + math.Abs(float64(days[1]-days[0]))/30) * noise(rng, 0.05)
	}
}

// ids draws runs with n long identifiers that never repeat, and a number that the peak is proportional to.
func ids(n int) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		size := 1 + 9*rng.Float64()
		f := sizing.Features{"size": sizing.NumberValue(size)}
		for j := range n {
			f[fmt.Sprintf("id_%03d", j)] = sizing.TextValue(fmt.Sprintf("%016x", rng.Uint64()) + strings.Repeat("x", 480))
		}
		return f, size * noise(rng, 0.05)
	}
}

// renamed draws features whose names change with every run, and a number that the peak is proportional to.
func renamed(n int) generator {
	run := 0
	return func(rng *rand.Rand) (sizing.Features, float64) {
		run++
		size := 1 + 9*rng.Float64()
		f := sizing.Features{"size": sizing.NumberValue(size)}
		for j := range n {
			f[fmt.Sprintf("name_%d_%d", run, j)] = sizing.NumberValue(rng.Float64())
		}
		return f, size * noise(rng, 0.05)
	}
}

// wideHistories lists histories. Most of them need more columns than maxColumns, so that a fit must screen them.
var wideHistories = []struct {
	name string
	draw generator
	runs int

	format int // expected version of the blob; UnitVersion if a number has a unit below 1
}{
	{"30 categories of 20 values", categories(30, 20), 100, taskmodel.ScreenedVersion},
	{"26 categories of 60 values", categories(26, 60), 350, taskmodel.ScreenedVersion},
	{"200 categories of 60 values", categories(200, 60), 400, taskmodel.ScreenedVersion},
	{"180 numbers, 15 % missing", numbers(180, 0.15), 200, taskmodel.UnitVersion},
	{"200 numbers, none missing", numbers(200, 0), 200, taskmodel.UnitVersion},
	{"200 dates", dates(200), 150, taskmodel.ScreenedVersion},
	{"199 identifiers that never repeat", ids(199), 60, taskmodel.UnitVersion}, // few columns, so not screened
	{"2,000 feature names", renamed(20), 100, taskmodel.UnitVersion},
}

const blobAtMost = 5 << 20

func TestStoredWideModelGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range wideHistories {
		t.Run(c.name, func(t *testing.T) {
			rng, k := newRand(61), newTask(t)
			for range c.runs {
				f, gibs := c.draw(rng)
				k.row(f, measuredRun(gibs))
			}
			model, outcome, err := taskmodel.Fit(&k.history, nil)
			require.NoError(t, err)
			require.NotNil(t, model, outcome.Reason)
			blob := blobOf(t, model)
			t.Logf("%d KiB", len(blob)>>10)
			assert.Less(t, len(blob), blobAtMost)
			assert.Equal(t, c.format, model.Format(), "a screened model must have a format that earlier releases reject, because they would misread the columns")
			back := reopen(t, blob)
			kills, distance, used := 0, 0.0, 0.0
			for range 100 {
				f, gibs := c.draw(rng)
				sized := back.Size(question(f))
				require.Equal(t, model.Size(question(f)), sized)
				require.Positive(t, sized.Limit)
				if sized.Limit < bytes(gibs) {
					kills++
				}
				distance, used = distance+math.Abs(float64(sized.Limit)/float64(gib)-gibs), used+gibs
			}
			assert.LessOrEqual(t, kills, 10)
			t.Logf("%d of 100 killed; the grants differ from the peaks by %.2f of the peaks", kills, distance/used)
		})
	}
}
