package postgres

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// typicalReceipt returns a receipt with random numbers that the compact form can represent.
func typicalReceipt(r *rand.Rand, i int) sizing.Receipt {
	key := sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: "extract_prices"}
	promised := r.Float64()
	limit := sizing.Bytes(r.IntN(1<<20)) << pageShift
	receipt := sizing.Receipt{
		Ask: sizing.Ask{
			Try: sizing.TryKey{TaskKey: key, RunID: fmt.Sprintf("scheduled__2026-01-01T00:00:00+00:00__%d", i), MapIndex: i, Number: 1},
			Features: sizing.Features{
				"products": sizing.NumberValue(float64(r.IntN(5000))), "share": sizing.NumberValue(r.NormFloat64()), "full": sizing.BoolValue(i%2 == 0),
				"market": sizing.TextValue([]string{"UK", "für", "emea"}[r.IntN(3)]), "day": sizing.TextValue("2020-01-03"), "at": sizing.TextValue("2020-01-03T10:11:12Z"), "none": {},
				"rows": sizing.TextValue("1253"), "size": sizing.TextValue("37.5GB"), "force": sizing.TextValue("True"),
			},
			Requested: sizing.Resources{Memory: 20_000_000_000, CPU: 1.5}, MaxMemory: 128_000_000_000,
		},
		Allocation: sizing.Allocation{
			Task: key, Memory: sizing.Grant{Request: limit, Limit: limit}, CPU: 1,
			Duration: &sizing.Duration{Median: 95435 * time.Millisecond, P95: 328280 * time.Millisecond},
			Bins:     &sizing.BinChoice{Upper: []sizing.Bytes{limit, 2 * limit}, Probabilities: []float64{r.Float64(), r.Float64()}, Chosen: 1},
			Ladder:   []sizing.Bytes{limit, 128_000_000_000}, Risk: sizing.Risk{Promised: &promised, Target: 0.015}, Source: sizing.FromModel, Mode: sizing.Enforce,
			Model:  &sizing.ModelRef{Version: i, Family: "experts", Observations: 38, TrainedAt: time.Unix(1_700_000_000, 264_493_000).UTC()},
			Reason: fmt.Sprintf("%dMi: a Bayesian average of simple models; from products, market; %d runs; saves %.1fGi of the 18.60Gi requested, 007 0", r.IntN(2000), i, 20*r.Float64()),
			Guard:  sizing.Guard{Version: int64(i), Params: []float64{r.NormFloat64(), promised, math.Inf(1), 1, -1, r.NormFloat64(), math.NaN()}},
		},
		At: time.Unix(r.Int64N(1<<31), r.Int64N(1e9)).UTC(),
	}
	return receipt
}

func columnFields(receipt *sizing.Receipt) sizing.Receipt {
	return sizing.Receipt{
		Ask: sizing.Ask{Try: receipt.Ask.Try},
		Allocation: sizing.Allocation{
			PredictionID: receipt.Allocation.PredictionID, Task: receipt.Allocation.Task, Memory: sizing.Grant{Limit: receipt.Allocation.Memory.Limit},
			Risk: sizing.Risk{Promised: receipt.Allocation.Risk.Promised}, Guard: sizing.Guard{Version: receipt.Allocation.Guard.Version},
		},
		At: receipt.At.Truncate(time.Microsecond),
	}
}

func requireReadBack(t *testing.T, w *compactWriter, receipt *sizing.Receipt) {
	t.Helper()
	got := columnFields(receipt)
	require.NoError(t, decodeCompact(w.b, w.words.words, &got))
	want, err := appendBody(nil, withoutParams(receipt))
	require.NoError(t, err)
	read, err := appendBody(nil, withoutParams(&got))
	require.NoError(t, err)
	require.Equal(t, string(want), string(read))
	require.Equal(t, receipt.Allocation.Guard.Params == nil, got.Allocation.Guard.Params == nil)
	require.Len(t, got.Allocation.Guard.Params, len(receipt.Allocation.Guard.Params))
	for i, v := range receipt.Allocation.Guard.Params {
		require.Equal(t, math.Float64bits(v), math.Float64bits(got.Allocation.Guard.Params[i]))
	}
}

func withoutParams(receipt *sizing.Receipt) *sizing.Receipt {
	copied := *receipt
	copied.Allocation.Guard.Params = nil
	return &copied
}

// The vocabulary grows as in the store: a text becomes a word after it was written twice.
func TestTypicalReceiptsAreReadBackBitForBit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	w := compactWriter{words: newVocabulary(1, nil)}
	first, last := 0, 0
	for i := range 2000 {
		receipt := typicalReceipt(r, i)
		w.b = w.b[:0]
		require.True(t, w.encode(&receipt))
		requireReadBack(t, &w, &receipt)
		w.words.add(w.words.pendingWords)
		w.words.pendingWords = nil
		if last = len(w.b); i == 0 {
			first = last
		}
	}
	assert.Less(t, last, first/2, "the last receipt must be shorter than the first, because repeated texts become words")
	assert.Less(t, len(w.words.words), 20)
}

func TestARepeatedTextBecomesAWordOnlyOnce(t *testing.T) {
	v := newVocabulary(1, nil)
	write := func(s string) {
		_, isWord := v.position(s)
		require.False(t, isWord)
	}
	for round := range 2 {
		write("repeated")
		write("repeated")
		for i := range maxLiteralTexts { // fills literalTexts
			write(fmt.Sprintf("once %d %d", round, i))
		}
	}
	assert.Equal(t, []string{"repeated"}, v.pendingWords)
}

func TestRandomReceiptsAreReadBackOrRejected(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	w := compactWriter{words: newVocabulary(1, []string{"emea", "für 学"})}
	encoded := 0
	for range 5000 {
		receipt := randomReceipt(r)
		w.b = w.b[:0]
		if w.encode(&receipt) {
			encoded++
			requireReadBack(t, &w, &receipt)
		}
	}
	assert.Greater(t, encoded, 500)
}

// The test changes each field of the receipt that encoding/json encodes, one at a time. The compact form must read the
// change back or reject the receipt. So the test fails if the compact form ignores a field that is added later.
func TestTheCompactFormLosesNoField(t *testing.T) {
	receipt := typicalReceipt(rand.New(rand.NewPCG(4, 4)), 1)
	receipt.Allocation.Shadow = &sizing.Grant{Request: 1 << 30, Limit: 2 << 30}
	changed := 0
	for name, field := range leaves("", reflect.ValueOf(&receipt).Elem()) {
		before := field.Interface()
		field.Set(different(t, field))
		w := compactWriter{words: newVocabulary(1, nil)}
		if w.encode(&receipt) {
			got := columnFields(&receipt)
			require.NoError(t, decodeCompact(w.b, w.words.words, &got), name)
			want, err := json.Marshal(withoutParams(&receipt))
			require.NoError(t, err, name)
			read, err := json.Marshal(withoutParams(&got))
			require.NoError(t, err, name)
			assert.Equal(t, string(want), string(read), name)
		}
		field.Set(reflect.ValueOf(before))
		changed++
	}
	assert.Greater(t, changed, 25)
}

// leaves yields the fields of a struct that encoding/json encodes, with their paths. In place of a nested struct other than
// a time it yields the fields of that struct.
func leaves(path string, v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			field, name := v.Field(i), path+"."+v.Type().Field(i).Name
			if v.Type().Field(i).Tag.Get("json") == "-" {
				continue
			}
			if field.Kind() == reflect.Pointer && !field.IsNil() {
				field = field.Elem()
			}
			if _, isTime := field.Interface().(time.Time); field.Kind() != reflect.Struct || isTime {
				if !yield(name, field) {
					return
				}
				continue
			}
			for name, leaf := range leaves(name, field) {
				if !yield(name, leaf) {
					return
				}
			}
		}
	}
}

func different(t *testing.T, v reflect.Value) reflect.Value {
	t.Helper()
	next := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		next.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		next.SetInt(v.Int() + 1_000_000) // whole milliseconds, if it is a duration
	case reflect.Float64:
		next.SetFloat(v.Float() + 1)
	case reflect.Bool:
		next.SetBool(!v.Bool())
	case reflect.Pointer:
		next.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice, reflect.Map: // next is nil
		require.NotZero(t, v.Len())
	case reflect.Struct:
		next.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Second)))
	default:
		require.Fail(t, "different has no case for type "+v.Type().String())
	}
	return next
}

func TestReasonsKeepTheirText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	reasons := []string{"", "1.", ".5", "0.050", "00", "12345678901234567890.12345678901234567890", "1.2.3", "v1..2", "risk 0.0", "1e-05 and 7"}
	for range 2000 {
		text := make([]byte, r.IntN(40))
		for i := range text {
			text[i] = "00123456789..., x"[r.IntN(17)]
		}
		reasons = append(reasons, string(text))
	}
	for _, reason := range reasons {
		w := compactWriter{words: newVocabulary(1, nil)}
		w.reason(reason)
		reader := compactReader{rest: w.b}
		require.Equal(t, reason, reader.reason())
		require.NoError(t, reader.err)
		require.Empty(t, reader.rest)
	}
}

func TestNumbersKeepTheirBits(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 0.015, 1e-7, math.MaxFloat64, 5e-324, math.Inf(-1), math.NaN(), 2147483647, 2147483648, 0.30000000000000004}
	r := rand.New(rand.NewPCG(9, 9))
	for range 500 {
		values = append(values, r.NormFloat64(), math.Float64frombits(r.Uint64()), math.Round(1e4*r.Float64())/1e3, values[r.IntN(len(values))])
		values = append(values, 1.5*values[len(values)-1])
	}
	w := compactWriter{}
	w.numbers(values)
	reader := compactReader{rest: w.b}
	for i, got := range reader.numbers() {
		require.Equal(t, math.Float64bits(values[i]), math.Float64bits(got), "%v", values[i])
	}
	require.NoError(t, reader.err)
	require.Empty(t, reader.rest)
}

// A short decimal has up to maxDecimals decimals, and its digits without the point are below maxDecimal.
func TestShortDecimalsAreRecognised(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for range 100_000 {
		digits, decimals := r.Int64N(2*maxDecimal-1)-maxDecimal+1, r.IntN(maxDecimals+1)
		v := float64(digits) / powersOfTen[decimals]
		gotDigits, gotDecimals, ok := decimal(v)
		require.True(t, ok, "%v", v)
		require.Equal(t, v, float64(gotDigits)/powersOfTen[gotDecimals])
	}
}

func FuzzDecodeCompact(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 5 {
		receipt := typicalReceipt(r, i)
		w := compactWriter{words: newVocabulary(1, []string{"emea"})}
		w.encode(&receipt)
		f.Add(w.b)
	}
	f.Fuzz(func(_ *testing.T, content []byte) {
		var receipt sizing.Receipt
		_ = decodeCompact(content, []string{"emea", "a1\nb2\nc3\n"}, &receipt)
	})
}

func BenchmarkCompact(b *testing.B) {
	receipt := typicalReceipt(rand.New(rand.NewPCG(1, 1)), 1)
	w := compactWriter{words: newVocabulary(1, nil)}
	for range 3 {
		w.encode(&receipt)
		w.words.add(w.words.pendingWords)
		w.words.pendingWords = nil
	}
	b.ReportAllocs()
	for b.Loop() {
		w.b = w.b[:0]
		w.encode(&receipt)
	}
}
