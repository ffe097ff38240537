package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// deliveries draws runs with a path as their feature. The peak depends on the customer in the path. The date and the hash
// have no effect.
func deliveries(form string) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		customer := rng.IntN(12)
		names := []string{"acme", "bolt", "cora", "dune", "echo", "fern", "gale", "hale", "iris", "jade", "kiwi", "lime"}
		path := fmt.Sprintf(form, names[customer], 1+rng.IntN(12), 1+rng.IntN(28), rng.Uint64())
		return sizing.Features{"path": sizing.TextValue(path)}, 0.5 * math.Exp2(float64(customer)/2.5) * noise(rng, .05)
	}
}

func TestRecurringPartsOfATextAreLearned(t *testing.T) {
	for _, form := range []string{"s3://bucket/customer-%s/2025-%02d-%02d/%016x.parquet", "/in/%s/part-%02d%02d-%x"} {
		draw := deliveries(form)
		k, rng := trainedTask(t, draw, 700, 300)
		used, granted, kills := 0.0, 0.0, 0
		for range 200 {
			f, gibs := draw(rng)
			s := k.model.Size(question(f))
			require.NotContains(t, s.Reason, "was not seen before")
			used, granted = used+gibs, granted+float64(s.Limit)/float64(gib)
			if s.Limit < bytes(gibs) {
				kills++
			}
		}
		t.Logf("%s: %.2f of the granted memory is used, %d kills", form, used/granted, kills)
		assert.Greater(t, used/granted, .6, form)
		assert.LessOrEqual(t, kills, 8, form)
		blob, err := k.model.VerifiedBlob(&k.history)
		require.NoError(t, err)
		assert.NotEmpty(t, blob)
		s := k.model.Size(question(sizing.Features{"path": sizing.TextValue("of another form")}))
		assert.Greater(t, s.Limit, bytes(1), s.Reason)
		assert.Contains(t, s.Reason, "was not seen before")
	}
}

// textForms are texts with a number of rows. `full` is the text of a run whose peak is twice that of a run with the text `other`.
// `name` is the name of the number in a reason.
var textForms = []struct {
	name, full, other string
}{
	{"conf", `{"mode": "full", "rows": %d}`, `{"mode": "new", "rows": %d}`},
	{"conf", "--mode full --rows %d", "--mode new --rows %d"},
	{"conf", "--rows %d --full-refresh", "--rows %d"},
	{"number 2 in conf", "s3://full/%drows.csv", "s3://new/%drows.csv"},
}

func TestNumbersBesideAWordAreLearned(t *testing.T) {
	for i, form := range textForms {
		features := func(isFull bool, rows int) (f sizing.Features, gibs float64) {
			text, gibs := fmt.Sprintf(form.other, rows), .2+float64(rows)/500
			if isFull {
				text, gibs = fmt.Sprintf(form.full, rows), 2*gibs
			}
			return sizing.Features{"conf": sizing.TextValue(text)}, gibs
		}
		draw := func(rng *rand.Rand) (isFull bool, rows int) {
			return rng.IntN(2) == 0, int(1000 * math.Exp(.7*rng.NormFloat64()))
		}
		k, rng, largest := newTask(t), newRand(uint64(i)), 0
		for range 150 {
			isFull, rows := draw(rng)
			f, gibs := features(isFull, rows)
			largest = max(largest, rows)
			k.reportSuccess(f, gibs*noise(rng, .04))
		}
		k.train()
		for range 30 {
			isFull, rows := draw(rng)
			f, gibs := features(isFull, max(200, min(rows, largest)))
			s := k.model.Size(question(f))
			ratio := float64(s.Limit) / float64(bytes(gibs))
			assert.Greater(t, ratio, .9, "%s, %d rows: %s", form.full, rows, s.Reason)
			assert.Less(t, ratio, 1.7, "%s, %d rows: %s", form.full, rows, s.Reason)
			require.NotContains(t, s.Reason, "was not seen before")
		}
		for _, factor := range []int{3, 8} {
			f, gibs := features(true, factor*largest)
			s := sizeUncapped(k, f)
			require.Nil(t, s.Promised, s.Reason)
			require.Contains(t, s.Reason, "outside the known range: "+form.name+" ")
			ratio := float64(s.Limit) / float64(bytes(gibs))
			assert.Greater(t, ratio, 1.0, "%d times: %s", factor, s.Reason)
			assert.Less(t, ratio, 2.5, "%d times: %s", factor, s.Reason)
			require.Equal(t, taskmodel.FormatVersion, k.model.Format(), "earlier releases would read other parts")
			assert.Equal(t, s, sizeUncapped(&task{t: t, model: reopened(t, k.model)}, f))
		}
	}
}

func TestPeriodsInTextsAreLearned(t *testing.T) {
	start := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)
	features := func(day, days int) sizing.Features {
		to := start.AddDate(0, 0, day)
		return sizing.Features{"window": sizing.TextValue(to.AddDate(0, 0, -days).Format(time.DateOnly) + "/" + to.Format(time.DateOnly))}
	}
	lengths := []int{1, 1, 1, 7, 30, 90}
	const seeds = 8
	mean := map[int]float64{} // by number of days: mean ratio of grant to peak, as one history has few rows of a length
	for seed := range uint64(seeds) {
		k, rng := newTask(t), newRand(seed)
		for day := range 150 {
			days := lengths[rng.IntN(len(lengths))]
			k.reportSuccess(features(day, days), (.3+float64(days)/4)*noise(rng, .04))
		}
		k.train()
		for _, days := range []int{1, 7, 30, 90, 360} {
			f := features(150, days)
			s := sizeUncapped(k, f)
			ratio := float64(s.Limit) / float64(bytes(.3+float64(days)/4))
			assert.Greater(t, ratio, .9, "%d days: %s", days, s.Reason)
			mean[days] += ratio / seeds
			require.Equal(t, days > 180, s.Promised == nil, s.Reason)
			if s.Promised == nil {
				require.Contains(t, s.Reason, "outside the known range: days between dates 1 and 2 in window 360 (1 … 90)")
			}
			assert.Equal(t, s, sizeUncapped(&task{t: t, model: reopened(t, k.model)}, f))
		}
	}
	for days, ratio := range mean {
		assert.Less(t, ratio, 2.5, "%d days", days)
	}
}
