package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Forty past runs have the inputs "full", "region", "ds", "ts" and "rows". Each case has a task that runs only with some inputs.
func TestAlikeKeepsTheRunsThatAgreeWithTheInputs(t *testing.T) {
	past, at := make([]sizing.Features, 40), make([]time.Time, 40)
	for k := range past {
		at[k] = time.Date(2026, 3, 1, 6*(k%4), 0, 0, 0, time.UTC).AddDate(0, 0, k)
		past[k] = sizing.Features{
			"full": sizing.BoolValue(k%3 == 0), "region": sizing.TextValue([]string{"eu", "us", "ap", "sa"}[k*7%4]),
			"ds": sizing.TextValue(at[k].Format(time.DateOnly)), "ts": sizing.TextValue(at[k].Format(time.RFC3339)), "rows": sizing.NumberValue(float64(k)),
		}
	}
	isFull, isSunday := func(k int) bool { return k%3 == 0 }, func(k int) bool { return at[k].Weekday() == time.Sunday }
	isUS, isMorning := func(k int) bool { return past[k]["region"].Text == "us" }, func(k int) bool { return at[k].Hour() == 6 }
	not := func(of func(int) bool) func(int) bool { return func(k int) bool { return !of(k) } }
	all := func(int) bool { return true }
	date := func(s string) sizing.Features { return sizing.Features{"ds": sizing.TextValue(s)} }
	for name, c := range map[string]struct {
		ran    func(k int) bool
		inputs sizing.Features
		want   func(k int) bool
	}{
		"a bool":                 {isFull, sizing.Features{"full": sizing.BoolValue(true), "region": sizing.TextValue("eu")}, isFull},
		"the other bool":         {isFull, sizing.Features{"full": sizing.BoolValue(false)}, not(isFull)},
		"a category":             {isUS, sizing.Features{"region": sizing.TextValue("us")}, isUS},
		"another category":       {isUS, sizing.Features{"region": sizing.TextValue("ap")}, not(isUS)},
		"an unknown category":    {isUS, sizing.Features{"region": sizing.TextValue("cn")}, not(isUS)},
		"a Sunday":               {isSunday, date("2026-11-29"), isSunday},
		"a Monday":               {isSunday, date("2026-11-30"), not(isSunday)},
		"an hour":                {isMorning, sizing.Features{"ts": sizing.TextValue("2026-11-29T06:30:00Z")}, isMorning},
		"an hour with an offset": {isMorning, sizing.Features{"ts": sizing.TextValue("2026-11-29T06:30:00+02:00")}, isMorning},
		"no such input":          {isFull, sizing.Features{"rows": sizing.NumberValue(3), "other": sizing.BoolValue(true)}, all},
		"another kind of input":  {isFull, sizing.Features{"full": sizing.TextValue("yes")}, all},
		"a task that always ran": {all, sizing.Features{"full": sizing.BoolValue(true)}, all},
	} {
		ran, want := make([]bool, 40), make([]bool, 40)
		for k := range ran {
			ran[k], want[k] = c.ran(k), c.want(k)
		}
		assert.Equal(t, want, forecast.Alike([][]bool{ran}, past, c.inputs), name)
	}
	assert.NotContains(t, forecast.Alike(nil, past, date("2026-11-29")), false, "no run skipped a task")
}

// Inputs that have nothing to do with the branches seldom exclude runs.
func TestAlikeIgnoresNoise(t *testing.T) {
	rng, excluded := rand.New(rand.NewPCG(1, 2)), 0
	for range 500 {
		ran, past := [][]bool{make([]bool, 40), make([]bool, 40)}, make([]sizing.Features, 40)
		for k := range past {
			ran[0][k], ran[1][k] = rng.IntN(4) == 0, rng.IntN(2) == 0
			past[k] = sizing.Features{"full": sizing.BoolValue(rng.IntN(3) == 0), "region": sizing.TextValue(fmt.Sprint("r", rng.IntN(5))), "ds": sizing.TextValue(time.Date(2026, 1, k, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))}
		}
		alike := forecast.Alike(ran, past, sizing.Features{"full": sizing.BoolValue(true), "region": sizing.TextValue("r1"), "ds": sizing.TextValue("2026-11-29")})
		for _, is := range alike {
			if !is {
				excluded++
				break
			}
		}
	}
	assert.LessOrEqual(t, excluded, 10, "of 500, at a significance of 1 %")
}
