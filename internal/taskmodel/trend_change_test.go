package taskmodel_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The table of a daily task grows. Its only feature is the month as a number, so that 202601 is 89 above 202512, while all
// earlier months differ by 1.
func TestANumberThatCountsTimeIsNotExtrapolatedAlongASteepTrend(t *testing.T) {
	for _, growth := range []float64{.0005, .001, .002} {
		k, rng := newTask(t), newRand(140)
		day := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)
		for i := 0; ; i++ {
			f := sizing.Features{"year_month": sizing.NumberValue(float64(day.Year()*100 + int(day.Month())))}
			size := math.Exp(growth * float64(i))
			if day.Year() == 2026 {
				q := question(f)
				q.Cap = 0
				s := k.model.Size(q)
				line := fmt.Sprintf("%v, %v: %s", growth, day, s.Reason)
				assert.Greater(t, s.Limit, bytes(size), line)
				assert.Less(t, s.Limit, bytes(1.5*size), line)
				assert.InEpsilon(t, size*3600, s.Duration.Median.Seconds(), .3, line)
			}
			if day.Month() == 1 && day.Day() == 10 && day.Year() == 2026 {
				break
			}
			run := measuredRun(size * noise(rng, .04))
			run.Duration = time.Duration(size * noise(rng, .04) * float64(time.Hour))
			k.report(f, run)
			k.train()
			day = day.AddDate(0, 0, 1)
		}
	}
}
