package service

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The peaks scatter by 10 %, so a grant must be well above the expected peak.
func TestWidthOfPredictionsShowsTheMargin(t *testing.T) {
	rng, model := rand.New(rand.NewPCG(1, 1)), taskmodel.New()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var inputs []sizing.Features
	for run := range 100 {
		rows := 100 + 900*rng.Float64()
		features := sizing.Features{"rows": sizing.NumberValue(rows)}
		inputs = append(inputs, features)
		model.Learn(taskmodel.TrainingRow{
			Seq: int64(run + 1), At: start.Add(time.Duration(run) * time.Hour).Unix(), Features: features, Outcome: sizing.Success,
			Peak: sizing.Bytes(rows * 10e6 * math.Exp(0.1*rng.NormFloat64())), Censoring: sizing.Exact, Duration: time.Minute,
			Allocated: sizing.Resources{Memory: 64 * sizing.GiB}, FirstTry: true, Run: sizing.RunHash(fmt.Sprint(run), sizing.NoMap), Try: 1,
		})
	}
	p := summarise(&store.Model{}, model, inputs)
	assert.Greater(t, p.Width, 1.1)
	assert.Less(t, p.Width, 2.0)
}
