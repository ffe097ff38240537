package taskmodel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Each run is for one of forty customers, drawn at random. The peak depends on the customer, but the name of the customer
// does not show how.
func TestRecurringCustomersGetTheirOwnAmounts(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	needs := func(customer int) float64 { return []float64{1, 9, 3, 27, 2}[customer%5] * (1 + float64(customer)/80) }
	for name, features := range map[string]func(customer, run int) sizing.Features{
		"without a date": func(customer, _ int) sizing.Features {
			return sizing.Features{"customer": sizing.TextValue(fmt.Sprint("customer ", customer))}
		},
		"with a date": func(customer, run int) sizing.Features {
			return sizing.Features{
				"customer": sizing.TextValue(fmt.Sprint("customer ", customer)),
				"ds":       sizing.TextValue(day.AddDate(0, 0, run/40).Format(time.DateOnly)),
			}
		},
		"with the id of the run": func(customer, run int) sizing.Features {
			return sizing.Features{
				"customer": sizing.TextValue(fmt.Sprint("customer ", customer)),
				"id":       sizing.NumberValue(float64(1000 + run)),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, rng := newTask(t), newRand(6)
			granted, used, kills := 0.0, 0.0, 0
			for run := range 600 {
				customer := rng.IntN(40)
				f, peak := features(customer, run), needs(customer)*noise(rng, 0.005)
				if limit := float64(k.model.Size(question(f)).Limit) / float64(gib); run >= 200 && limit < peak {
					kills++
				} else if run >= 200 {
					granted, used = granted+limit, used+peak
				}
				k.reportSuccess(f, peak)
				if run%50 == 49 {
					k.train()
				}
			}
			assert.Greater(t, used/granted, 0.85, "the grants must be near the peaks")
			assert.LessOrEqual(t, kills, 6, "number of killed runs, of 400")
		})
	}
}
