package jsonwriter_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/jsonwriter"
)

func requireEqualJSON(t *testing.T, v any, write func(w *jsonwriter.Writer)) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err)
	var w jsonwriter.Writer
	write(&w)
	require.Equal(t, string(want), string(w.B))
	require.False(t, w.Infinite)
}

func TestWriterEqualsEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 5000 {
		v := math.Float64frombits(r.Uint64())
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			requireEqualJSON(t, v, func(w *jsonwriter.Writer) { w.Number(v) })
		}
		integer := r.Int64() - r.Int64()
		requireEqualJSON(t, integer, func(w *jsonwriter.Writer) { w.Int(integer) })
		text := make([]byte, r.IntN(6))
		for i := range text {
			text[i] = byte(r.IntN(256)) // including invalid UTF-8
		}
		requireEqualJSON(t, string(text), func(w *jsonwriter.Writer) { w.Text(string(text)) })
		when := time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).In(time.FixedZone("", 1800*r.IntN(5)))
		requireEqualJSON(t, when, func(w *jsonwriter.Writer) { w.Time(when) })
	}
	for _, list := range [][]float64{nil, {}, {1}, {0.5, 1e-9, 1e22}} {
		requireEqualJSON(t, list, func(w *jsonwriter.Writer) { w.Numbers(list) })
	}
	for _, list := range [][]int64{nil, {}, {1, -2}} {
		requireEqualJSON(t, list, func(w *jsonwriter.Writer) { jsonwriter.Ints(w, list) })
	}
}

func TestNonFiniteNumbersSetInfinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var w jsonwriter.Writer
		w.Number(v)
		assert.True(t, w.Infinite)
	}
}
