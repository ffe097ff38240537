package taskmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// startUpTask returns a model fitted on 250 runs. A run takes seconds(rows) with a noise of 10 %. The rows are log-uniform from
// 10 to a million.
func startUpTask(t *testing.T, seconds func(rows float64) float64) *Model {
	rng := rand.New(rand.NewPCG(6, 1))
	h := sizing.History{}
	for i := range 250 {
		rows := math.Pow(10, 1+5*rng.Float64())
		f := sizing.Features{"rows": sizing.NumberValue(rows)}
		h.LastSeq, h.Total = int64(i+1), i+1
		h.Schema.Extend(f)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: int64(i + 1), At: time.Unix(int64(i)*86_400, 0), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Try: 1, Outcome: sizing.Success, Weight: 1,
			MemoryMax: sizing.GiB, Duration: time.Duration(seconds(rows) * math.Exp(0.1*rng.NormFloat64()) * float64(time.Second)), Features: h.Schema.Row(f, nil),
		})
	}
	m, _, err := Fit(&h, nil)
	require.NoError(t, err)
	return m
}

func tenSecondsAndRows(rows float64) float64 { return 10 + .005*rows }

func TestTheRunTimeHasAStartUpTime(t *testing.T) {
	m := startUpTask(t, tenSecondsAndRows)
	require.InEpsilon(t, 11, m.Models.RunTimeOffset, .1, "one second plus the start-up time")
	for _, rows := range []float64{20, 200, 2000, 20_000, 200_000} {
		f := sizing.Features{"rows": sizing.NumberValue(rows)}
		median := m.Size(Question{Features: f, RiskTarget: sizing.DefaultRiskTarget}).Duration.Median
		require.InEpsilon(t, tenSecondsAndRows(rows), median.Seconds(), .12, "%v rows", rows)
	}
}

func TestARunTimeThatIsAPowerOfItsInputHasNoStartUpTime(t *testing.T) {
	m := startUpTask(t, func(rows float64) float64 { return 10 * math.Sqrt(rows) })
	require.Zero(t, m.Models.RunTimeOffset)
	require.Nil(t, m.Models.RunTimeAbove)
}

// The format of a blob does not depend on the start-up time, because earlier releases can use the model without it.
func TestABlobKeepsTheStartUpTime(t *testing.T) {
	m := startUpTask(t, tenSecondsAndRows)
	blob, err := m.Blob()
	require.NoError(t, err)
	format, offset, above := m.Format(), m.Models.RunTimeOffset, m.Models.RunTimeAbove
	m.Models.RunTimeOffset, m.Models.RunTimeAbove = 0, nil
	require.Equal(t, m.Format(), format)
	m.Models.RunTimeOffset, m.Models.RunTimeAbove = offset, above
	back, err := Open(blob)
	require.NoError(t, err)
	q := Question{Features: sizing.Features{"rows": sizing.NumberValue(500)}, RiskTarget: sizing.DefaultRiskTarget}
	require.Equal(t, m.Size(q).Duration, back.Size(q).Duration)

	for _, damaged := range []float64{0, -1, math.Inf(1), math.NaN()} {
		m.Models.RunTimeOffset = damaged
		blob, err = m.Blob()
		require.NoError(t, err)
		_, err = Open(blob)
		require.ErrorIs(t, err, ErrFormat, damaged)
	}
}
