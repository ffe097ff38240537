package postgres

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

var texts = []string{"", "emea", "a \"quote\"", `back\slash`, "<b>&", "für 学", "tab\tand\nline", "\u2028", "\x7f"}

func randomReceipt(r *rand.Rand) sizing.Receipt {
	text := func() string { return texts[r.IntN(len(texts))] }
	number := func() float64 {
		return []float64{0, 1, -2.5, 1e-7, 3e21, math.Copysign(0, -1), math.MaxFloat64, 5e-324, r.Float64(), 1e6 * r.NormFloat64()}[r.IntN(10)]
	}
	integer := func() int64 { return r.Int64N(1<<40) - 1<<39 }
	maybe := func() bool { return r.IntN(3) > 0 }
	when := time.Unix(r.Int64N(1<<31), r.Int64N(1e9)).UTC()
	key := sizing.TaskKey{Namespace: text(), DAG: text(), Task: text()}
	receipt := sizing.Receipt{
		Ask: sizing.Ask{
			Try: sizing.TryKey{TaskKey: key, RunID: text(), MapIndex: int(integer()), Number: int(integer())}, MaxMemory: sizing.Bytes(integer()),
			Requested: sizing.Resources{Memory: sizing.Bytes(integer()), CPU: sizing.Cores(number())},
		},
		Allocation: sizing.Allocation{
			PredictionID: text(), Task: key, Memory: sizing.Grant{Request: sizing.Bytes(integer()), Limit: sizing.Bytes(integer())}, CPU: sizing.Cores(number()),
			Risk: sizing.Risk{Target: number()}, Source: sizing.Source(text()), Mode: sizing.Mode(text()), Reason: text(), Guard: sizing.Guard{Version: integer()},
		},
		At: when,
	}
	a := &receipt.Allocation
	if maybe() {
		receipt.Ask.Features = sizing.Features{}
		for range r.IntN(40) {
			receipt.Ask.Features[text()+text()] = sizing.Value{Kind: sizing.ValueKind(r.IntN(5)), Offset: int8(r.IntN(3)), Num: number(), Text: text()}
		}
	}
	if maybe() {
		a.Duration = &sizing.Duration{Median: time.Duration(integer()), P95: time.Duration(integer())}
		a.Shadow = &sizing.Grant{Request: 1, Limit: 2}
	}
	if maybe() {
		a.Bins = &sizing.BinChoice{Chosen: r.IntN(3)}
		if maybe() {
			a.Bins.Upper, a.Bins.Probabilities = []sizing.Bytes{1, 2}[:r.IntN(3)], []float64{number(), number()}[:r.IntN(3)]
		}
	}
	if maybe() {
		a.Ladder = []sizing.Bytes{sizing.Bytes(integer()), 2}[:r.IntN(3)]
	}
	if maybe() {
		risk := number()
		a.Risk.Promised = &risk
		a.Model = &sizing.ModelRef{Version: int(integer()), Family: text(), Observations: int(integer()), TrainedAt: when}
	}
	return receipt
}

func TestAppendBodyEqualsEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 3000 {
		receipt := randomReceipt(r)
		want, err := json.Marshal(receipt)
		require.NoError(t, err)
		got, err := appendBody(nil, &receipt)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

func TestAppendBodyRejectsNonFiniteNumbers(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		receipt := randomReceipt(rand.New(rand.NewPCG(1, 1)))
		receipt.Ask.Features = sizing.Features{"x": {Kind: sizing.Number, Num: v}}
		_, err := appendBody(nil, &receipt)
		assert.Error(t, err)
	}
}

func BenchmarkBody(b *testing.B) {
	risk := 0.0125
	receipt := sizing.Receipt{Ask: sizing.Ask{Features: sizing.Features{}}, At: time.Unix(1_600_000_000, 0).UTC()}
	for _, name := range []string{"product_count", "days", "region", "full", "store_count", "price_points", "history_weeks", "discount"} {
		receipt.Ask.Features[name] = sizing.NumberValue(1253.25)
	}
	receipt.Allocation.Ladder, receipt.Allocation.Reason, receipt.Allocation.Risk.Promised = []sizing.Bytes{1 << 30, 1 << 36}, "1Gi: boosted trees, by all rows; from days; 1500 runs", &risk
	b.Run("appendBody", func(b *testing.B) {
		var body []byte
		for b.Loop() {
			body, _ = appendBody(body[:0], &receipt)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(receipt)
		}
	})
}
