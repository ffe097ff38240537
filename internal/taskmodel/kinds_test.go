package taskmodel_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// grantedPerUsed trains a task on runs of `draw`, and returns the ratio of granted to used memory of 100 further runs, and the
// task. In the first runs, the values in `odd` replace those of the feature "size".
func grantedPerUsed(t *testing.T, draw generator, runs int, odd ...sizing.Value) (perUsed float64, k *task) {
	t.Helper()
	rng := newRand(95)
	k = newTask(t)
	for i := range runs {
		f, gibs := draw(rng)
		if i < len(odd) {
			f["size"] = odd[i]
		}
		k.reportSuccess(f, gibs)
		if i%40 == 39 {
			k.fit()
		}
	}
	k.fit()
	limits, used := 0.0, 0.0
	for range 100 {
		f, gibs := draw(rng)
		limits += float64(k.model.Size(question(f)).Limit) / float64(gib)
		used += gibs
	}
	return limits / used, k
}

// sizes returns a generator whose runs need one GiB per unit of size.
func sizes(value func(int) sizing.Value) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		size := 1 + rng.IntN(9)
		return sizing.Features{"size": value(size), "other": sizing.NumberValue(rng.Float64())}, float64(size) * noise(rng, 0.05)
	}
}

func TestFeatureKindFollowsTheMajority(t *testing.T) {
	t.Parallel()
	number := func(size int) sizing.Value { return sizing.NumberValue(float64(size)) }
	amount := func(size int) sizing.Value { return sizing.TextValue(fmt.Sprintf("%d GB", size)) }
	day := func(size int) sizing.Value { return dayValue(20000 + 7*size) }
	name := func(size int) sizing.Value { return sizing.TextValue(fmt.Sprint("size ", size)) }
	for name, c := range map[string]struct {
		value func(int) sizing.Value
		odd   []sizing.Value
	}{
		"a text among amounts":            {amount, []sizing.Value{sizing.TextValue("n/a")}},
		"an amount among texts":           {name, []sizing.Value{sizing.TextValue("2GB")}},
		"a number among amounts":          {amount, []sizing.Value{sizing.NumberValue(3e9)}},
		"a text among numbers":            {number, []sizing.Value{sizing.TextValue("n/a")}},
		"ten texts among numbers":         {number, ten(sizing.TextValue("n/a"))},
		"a date among numbers":            {number, []sizing.Value{sizing.TextValue("2020-01-03")}},
		"a bool among numbers":            {number, []sizing.Value{sizing.BoolValue(true)}},
		"a number among texts":            {name, []sizing.Value{sizing.NumberValue(7)}},
		"a text among dates":              {day, []sizing.Value{sizing.TextValue("n/a")}},
		"a date among texts":              {name, []sizing.Value{sizing.TextValue("2020-01-03")}},
		"a number and a text among dates": {day, []sizing.Value{sizing.NumberValue(3), sizing.TextValue("n/a")}},
		"a bool and a date among numbers": {number, []sizing.Value{sizing.BoolValue(false), sizing.TextValue("2020-01-03")}},
	} {
		clean, _ := grantedPerUsed(t, sizes(c.value), 200)
		odd, k := grantedPerUsed(t, sizes(c.value), 200, c.odd...)
		assert.InDelta(t, clean, odd, 0.15*clean, name)
		back := reopen(t, blobOf(t, k.model))
		f, _ := sizes(c.value)(newRand(96))
		require.Equal(t, k.model.Size(question(f)), back.Size(question(f)), name)
	}
}

func ten(v sizing.Value) (values []sizing.Value) {
	for range 10 {
		values = append(values, v)
	}
	return values
}

// A text that recurs among numbers, such as ALL, is a level of its own, and differs from a missing value.
func TestTextAmongNumbersIsALevel(t *testing.T) {
	draw := func(rng *rand.Rand) (sizing.Features, float64) {
		f := sizing.Features{"other": sizing.NumberValue(rng.Float64())}
		switch rng.IntN(4) {
		case 0:
			f["part"] = sizing.TextValue("ALL")
			return f, 20 * noise(rng, 0.02)
		case 1:
			return f, 0.5 * noise(rng, 0.02)
		}
		n := 1 + rng.IntN(100)
		f["part"] = sizing.NumberValue(float64(n))
		return f, (0.5 + 0.03*float64(n)) * noise(rng, 0.02)
	}
	perUsed, _ := grantedPerUsed(t, draw, 300)
	assert.Less(t, perUsed, 1.3)
}

func TestAmountsInTextsAreLearnedAsNumbers(t *testing.T) {
	draw := func(value func(gibs float64) sizing.Value) generator {
		return func(rng *rand.Rand) (sizing.Features, float64) {
			gibs := 1 + 99*rng.Float64() // nearly each value is new
			return sizing.Features{"size": value(gibs)}, gibs * noise(rng, 0.02)
		}
	}
	numbers, _ := grantedPerUsed(t, draw(sizing.NumberValue), 200)
	for _, format := range []string{"%.3f", "%.3fGB", "%.3f hours", "%.3f files", "s3://in/size=%.3f/part.parquet"} {
		amounts, _ := grantedPerUsed(t, draw(func(gibs float64) sizing.Value { return sizing.TextValue(fmt.Sprintf(format, gibs)) }), 200)
		assert.InDelta(t, numbers, amounts, 0.1*numbers, format)
	}
}

func TestWarningNamesAValueOfAnotherKind(t *testing.T) {
	_, k := grantedPerUsed(t, sizes(func(size int) sizing.Value { return sizing.NumberValue(float64(size)) }), 100, sizing.TextValue("n/a"))
	assert.Empty(t, k.model.Warnings(sizing.Features{"size": sizing.NumberValue(3), "other": sizing.BoolValue(true), "new": sizing.TextValue("x")}))
	assert.Equal(t, []sizing.FieldError{{
		Field: "features.size", Detail: `"abc" is a category, and this feature is a number: it counts as missing; send a number, or leave it out`,
	}}, k.model.Warnings(sizing.Features{"size": sizing.TextValue("abc"), "other": sizing.NumberValue(1)}))
	assert.Empty(t, taskmodel.New().Warnings(sizing.Features{"size": sizing.TextValue("abc")}))
}

func TestWarningNamesUnusedFeatures(t *testing.T) {
	rng, k := newRand(97), newTask(t)
	draw := renamed(9)
	first, _ := draw(rng)
	k.row(first, measuredRun(1))
	last := first
	for range 40 {
		f, gibs := draw(rng)
		k.row(f, measuredRun(gibs))
		last = f
	}
	model, outcome, err := taskmodel.Fit(&k.history, nil)
	require.NoError(t, err)
	require.Len(t, outcome.Warnings, 1)
	assert.Contains(t, outcome.Warnings[0], "the task has sent 370 feature names: only the 256 most recent ones are used")
	assert.Empty(t, model.Warnings(last))
	assert.Len(t, model.Warnings(first), len(first)-1, "each feature of the first run must have a warning, except the one that every run has")
}

func TestNoWarningIfAnyFieldOfTheFeatureReadsTheValue(t *testing.T) {
	k, rng := newTask(t), newRand(97)
	for i := range 120 {
		size := sizing.NumberValue(float64(1 + rng.IntN(9)))
		if i%4 == 0 {
			size = sizing.TextValue("ALL")
		}
		k.reportSuccess(sizing.Features{"size": size, "other": sizing.NumberValue(rng.Float64())}, 1+rng.Float64())
	}
	k.fit()
	for _, size := range []sizing.Value{sizing.TextValue("ALL"), sizing.NumberValue(5)} {
		f := sizing.Features{"size": size, "other": sizing.NumberValue(1)}
		assert.Empty(t, k.model.Warnings(f))
		assert.Empty(t, k.model.AskWarnings(f))
		assert.Empty(t, k.model.UnreadableFeatures(f))
	}
}

// A feature of texts such as "3" is encoded as a number and as a category. A number that is sent without a text has no
// category.
func TestWarningNamesANumberWhoseTextIsACategory(t *testing.T) {
	code := func(size int) sizing.Value { return sizing.TextValue(fmt.Sprint(size)) }
	_, k := grantedPerUsed(t, sizes(code), 100)
	f := sizing.Features{"size": code(3), "other": sizing.NumberValue(1)}
	assert.Empty(t, k.model.AskWarnings(f))
	assert.Empty(t, k.model.UnreadableFeatures(f))
	f["size"] = sizing.NumberValue(3)
	assert.True(t, k.model.Size(question(f)).HasMissing)
	assert.Equal(t, []sizing.FieldError{{
		Field: "features.size", Detail: "3 is a number, but the learned runs have texts, which the model uses as a number and as a category: the number is used, and the category counts as missing; send a text",
	}}, k.model.AskWarnings(f))
	assert.Equal(t, "; size was sent as a number, and is a category", k.model.UnreadableFeatures(f))
}

// If the category was never a number, the warning gives the general advice.
func TestWarningOfANumberInsteadOfAPlainCategory(t *testing.T) {
	region := func(size int) sizing.Value { return sizing.TextValue(fmt.Sprint("region ", size)) }
	_, k := grantedPerUsed(t, sizes(region), 100)
	f := sizing.Features{"size": sizing.NumberValue(3), "other": sizing.NumberValue(1)}
	warnings := k.model.AskWarnings(f)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].Detail, "3 is a number, and this feature is a category")
}

// A bool counts as 0 or 1 among numbers, which is right only if the numbers are 0 and 1.
func TestWarningOfABoolInsteadOfANumber(t *testing.T) {
	f := sizing.Features{"size": sizing.BoolValue(true), "other": sizing.NumberValue(1)}
	_, sized := grantedPerUsed(t, sizes(func(size int) sizing.Value { return sizing.NumberValue(float64(size)) }), 100)
	want := []sizing.FieldError{{Field: "features.size", Detail: "true is a bool, and this feature is a number: it counts as 1; send a number, or leave it out"}}
	assert.Equal(t, want, sized.model.BoolWarnings(f))
	assert.Equal(t, want, sized.model.Warnings(f))
	for name, value := range map[string]func(int) sizing.Value{
		"numbers 0 and 1": func(size int) sizing.Value { return sizing.NumberValue(float64(size % 2)) },
		"bools":           func(size int) sizing.Value { return sizing.BoolValue(size%2 == 0) },
	} {
		_, k := grantedPerUsed(t, sizes(value), 100)
		assert.Empty(t, k.model.BoolWarnings(f), name)
	}
}

// A date that is sent as a number has the same effect as a date in a text: the peaks are larger at weekends.
func TestNumbersInTheFormOfADateAreDates(t *testing.T) {
	k, rng := newTask(t), newRand(96)
	day := func(i int) (sizing.Features, float64) {
		at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		v, _ := sizing.ParseNumber(at.Format("20060102"))
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			return sizing.Features{"day": v}, 4
		}
		return sizing.Features{"day": v}, 1
	}
	for i := range 150 {
		f, gibs := day(i)
		k.reportSuccess(f, gibs*noise(rng, 0.05))
		k.train()
	}
	for i := 150; i < 157; i++ {
		f, gibs := day(i)
		assert.InEpsilon(t, 1.15*gibs, limit(k, f), 0.3, "day %d", i)
	}
}

// The date is the only feature, and one day of the week needs eight times as much. The column of the
// month is constant, because in the first two years the month counts as missing.
func TestADateAloneShowsTheLargeWeekday(t *testing.T) {
	used, granted := 0.0, 0.0 // of all days: the margins of one day depend on a single kill
	for _, large := range []time.Weekday{time.Monday, time.Thursday, time.Sunday} {
		k, rng := newTask(t), newRand(98)
		for i := range 200 {
			at, gibs := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i), noise(rng, 0.08)
			if at.Weekday() == large {
				gibs *= 8
			}
			f := sizing.Features{"execution_date": sizing.TextValue(at.Format(time.DateOnly))}
			if i >= 100 {
				used, granted = used+gibs, granted+limit(k, f)
			}
			k.reportSuccess(f, gibs)
			k.train()
		}
	}
	assert.Less(t, granted/used, 1.7)
}

// Some counts of about 20 million have the form of a date. They are numbers, as the other counts are.
func TestCountsInTheFormOfADateAreNumbers(t *testing.T) {
	k, rng := newTask(t), newRand(97)
	count := func(n int) (sizing.Features, float64) {
		v, _ := sizing.ParseNumber(strconv.Itoa(n))
		return sizing.Features{"rows": v}, float64(n) / 5e6
	}
	for i := range 200 {
		n := 1_000_000 + rng.IntN(40_000_000)
		if i%20 == 0 {
			n = 20_200_100 + rng.IntN(30)
		}
		f, gibs := count(n)
		k.reportSuccess(f, gibs*noise(rng, 0.03))
		k.train()
	}
	k.fit()
	f, _ := count(20_200_135) // does not have the form of a date
	want := limit(k, f)
	f, _ = count(20_200_115)
	assert.InEpsilon(t, want, limit(k, f), 0.02)
	assert.Empty(t, k.model.AskWarnings(f))
}
