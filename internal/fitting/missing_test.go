package fitting_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// forecast is a task of a sales pipeline: products and the days of the sale drive usage,
// the number of stores follows the products, the rest drives nothing.
func forecast(rng *rand.Rand) (sizing.Features, float64) {
	products := math.Exp(5 + 2.5*rng.Float64())
	execution := 20000 + rng.IntN(300)
	from := execution + 3 + rng.IntN(4)
	days := 3 + rng.IntN(40)
	gibs := 0.5 + 0.0006*products*math.Sqrt(float64(days))*noise(rng, 0.08)
	return sizing.Features{
		"product_count":  sizing.NumberValue(math.Round(products)),
		"store_count":    sizing.NumberValue(math.Ceil(products / 100 * noise(rng, 0.3))),
		"region":         sizing.TextValue([]string{"emea", "apac", "other"}[rng.IntN(3)]),
		"execution_date": dayValue(execution), "sale_start": dayValue(from), "sale_end": dayValue(from + days),
	}, gibs
}

func TestAMissingFeatureCostsWhatItIsWorth(t *testing.T) {
	const seeds, asked = 4, 60
	for _, runs := range []int{5, 10, 14, 20, 40, 150} {
		for _, c := range []struct {
			lost   []string
			atMost float64 // of the memory that is granted with all features
		}{
			{[]string{"store_count"}, 1.1},
			{[]string{"region"}, 1.1},
			{[]string{"execution_date"}, 1.3}, // beside the other dates it tells the days of a sale to a line of ten runs
			{[]string{"store_count", "execution_date"}, 1.3},
			{[]string{"product_count"}, 2},
			{[]string{"sale_end"}, 2},
		} {
			whole, lacking, kills, killsWhole, promised := 0.0, 0.0, 0.0, 0.0, 0.0
			for seed := range uint64(seeds) {
				k, rng := known(t, forecast, 70+seed, runs)
				for range asked {
					f, gibs := forecast(rng)
					all, sized := k.model.Size(question(f)), k.model.Size(question(without(f, c.lost...)))
					require.NotNil(t, sized.Promised)
					whole, lacking, promised = whole+float64(all.Limit), lacking+float64(sized.Limit), promised+*sized.Promised
					if bytes(gibs) > sized.Limit {
						kills++
					}
					if bytes(gibs) > all.Limit {
						killsWhole++
					}
				}
			}
			about := fmt.Sprintf("%d runs, without %v: %.2f of the memory, %v of %d killed, %v with all features, %.1f promised",
				runs, c.lost, lacking/whole, kills, seeds*asked, killsWhole, promised)
			assert.LessOrEqual(t, lacking/whole, c.atMost, about)
			assert.LessOrEqual(t, kills, max(promised, killsWhole)+3*math.Sqrt(promised), about)
		}
	}
}

// A feature is sent for the first time in runs that lack another, such as after a renaming.
func TestANewFeatureBesideAMissingOneCostsNoMoreThanTheMissingOne(t *testing.T) {
	const asked = 20
	fresh := func(f sizing.Features, gibs float64) sizing.Features {
		f = without(f)
		f["fresh"] = sizing.NumberValue(math.Round(7000 * gibs))
		return f
	}
	for _, runs := range []int{14, 40, 150} {
		for _, lost := range []string{"product_count", "store_count", "region"} {
			for _, told := range []int{0, 1, 4, 12} {
				with, rng := known(t, forecast, 70, runs)
				alone, _ := known(t, forecast, 70, runs)
				for range told {
					f, gibs := forecast(rng)
					f = without(f, lost)
					alone.success(f, gibs)
					with.success(fresh(f, gibs), gibs)
				}
				alone.fit()
				with.fit()
				var missing, both, whole, beside float64
				for range asked {
					f, gibs := forecast(rng)
					whole += float64(alone.model.Size(question(f)).Limit)
					beside += float64(with.model.Size(question(fresh(f, gibs))).Limit)
					f = without(f, lost)
					missing += float64(alone.model.Size(question(f)).Limit)
					both += float64(with.model.Size(question(fresh(f, gibs))).Limit)
				}
				about := fmt.Sprintf("%d runs, %d of them since without %s", runs, told, lost)
				assert.InDelta(t, 1, both/missing, 0.2, about)
				if told < 8 {
					assert.InDelta(t, 1, beside/whole, 0.1, "%s, beside all others", about)
				}
			}
		}
	}
}

// The most telling feature was always there, and then never again: the runs are told as
// they end, and the task is trained as often as a service would.
func TestARunWithoutTheMostTellingFeatureIsSafe(t *testing.T) {
	const seeds, asked = 8, 80
	kills, promised, granted, used := 0.0, 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		k, rng := known(t, forecast, 80+seed, 120)
		for i := range asked {
			f, gibs := forecast(rng)
			f = without(f, "product_count")
			sized := k.model.Size(question(f))
			promised += *sized.Promised
			granted, used = granted+float64(sized.Limit)/float64(gib), used+gibs
			if bytes(gibs) > sized.Limit {
				kills++
				k.told(f, killed(float64(sized.Limit)/float64(gib)))
			}
			k.success(f, gibs)
			if i%10 == 9 {
				k.fit()
			}
		}
	}
	t.Logf("%v of %d killed, %.1f promised, %.2f granted per used", kills, seeds*asked, promised, granted/used)
	assert.LessOrEqual(t, kills, promised+3*math.Sqrt(promised))
	assert.Less(t, granted/used, 5.0)
}

func TestAReasonSaysWhatAMissingFeatureCosts(t *testing.T) {
	k, rng := known(t, forecast, 90, 60)
	f, _ := forecast(rng)
	assert.NotContains(t, k.model.Size(question(f)).Reason, "missing")
	assert.Regexp(t, `; feature product_count is missing \(present in 100 % of runs\): imputed from similar runs, adds [0-9.]+(Gi|Mi); 60 runs`,
		k.model.Size(question(without(f, "product_count"))).Reason)
	assert.Regexp(t, `; features product_count, region are missing \(present in 100 % of runs\): imputed from similar runs`,
		k.model.Size(question(without(f, "product_count", "region"))).Reason)
}

func TestAQuestionWithMissingFeaturesAllocatesNoMoreThanAnother(t *testing.T) {
	k, rng := known(t, forecast, 91, 60)
	f, _ := forecast(rng)
	all, lacking := question(f), question(without(f, "product_count"))
	whole := testing.AllocsPerRun(100, func() { k.model.Size(all) })
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { k.model.Size(lacking) }), whole+12, "but for its reason")
}

// BenchmarkSizeWithMissingFeatures is a question that lacks the most telling feature.
func BenchmarkSizeWithMissingFeatures(b *testing.B) {
	rng, k := newRand(92), newTask(nil)
	for range 150 {
		f, gibs := forecast(rng)
		k.row(f, withoutImputed(gibs))
	}
	model, _, err := fitting.Fit(&k.history, nil)
	require.NoError(b, err)
	f, _ := forecast(rng)
	for name, q := range map[string]fitting.Question{"none": question(f), "one": question(without(f, "product_count"))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				model.Size(q)
			}
		})
	}
}
