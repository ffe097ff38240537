package plainjson_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/plainjson"
)

// alike demands that what was written is what the library writes of v.
func alike(t *testing.T, v any, write func(w *plainjson.Writer)) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err)
	var w plainjson.Writer
	write(&w)
	require.Equal(t, string(want), string(w.B))
	require.False(t, w.Infinite)
}

func TestValuesAreWrittenAsTheLibraryWritesThem(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 5000 {
		v := math.Float64frombits(r.Uint64())
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			alike(t, v, func(w *plainjson.Writer) { w.Number(v) })
		}
		whole := r.Int64() - r.Int64()
		alike(t, whole, func(w *plainjson.Writer) { w.Whole(whole) })
		text := make([]byte, r.IntN(6))
		for i := range text {
			text[i] = byte(r.IntN(256)) // broken UTF-8 among them
		}
		alike(t, string(text), func(w *plainjson.Writer) { w.Text(string(text)) })
		when := time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).In(time.FixedZone("", 1800*r.IntN(5)))
		alike(t, when, func(w *plainjson.Writer) { w.Time(when) })
	}
	for _, list := range [][]float64{nil, {}, {1}, {0.5, 1e-9, 1e22}} {
		alike(t, list, func(w *plainjson.Writer) { w.Numbers(list) })
	}
	for _, list := range [][]int64{nil, {}, {1, -2}} {
		alike(t, list, func(w *plainjson.Writer) { plainjson.Wholes(w, list) })
	}
}

func TestWhatIsNotFiniteIsTold(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var w plainjson.Writer
		w.Number(v)
		assert.True(t, w.Infinite)
	}
}
