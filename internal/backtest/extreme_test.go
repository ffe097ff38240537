package backtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

type extremeRow struct {
	input   float64 // the numeric feature
	peak    sizing.Bytes
	seconds float64       // run time
	gap     time.Duration // since the start of the previous row
}

// extremeTrace returns a trace of these rows. Its cap is the one that Read would set.
func extremeTrace(rows []extremeRow) *Trace {
	t := &Trace{Name: "extreme", Cap: minCap}
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, r := range rows {
		at = at.Add(r.gap)
		o := sizing.Observation{
			Try:     sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "d", Task: "a"}, RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, StartedAt: at, Duration: time.Duration(r.seconds * float64(time.Second)), MemoryMax: r.peak,
			Features: sizing.Features{"input": sizing.NumberValue(r.input)},
		}
		t.rows = append(t.rows, row{Observation: o, x: r.input})
		t.Cap = max(t.Cap, r.peak.Times(1.0001))
	}
	return t
}

// boundedPolicy fails the test if a limit is outside the bounds of the question, or if a promise is not a probability.
type boundedPolicy struct {
	Policy
	t    *testing.T
	name string
}

func (p boundedPolicy) Predict(q Question) Answer {
	answer := p.Policy.Predict(q)
	require.GreaterOrEqual(p.t, answer.Limit, sizing.Bytes(0), p.name)
	if q.Above == 0 {
		require.Positive(p.t, answer.Limit, p.name)
	}
	require.LessOrEqual(p.t, answer.Limit, q.maxLift(), p.name)
	if answer.Promised != nil {
		require.GreaterOrEqual(p.t, *answer.Promised, 0.0, p.name)
		require.LessOrEqual(p.t, *answer.Promised, 1.0, p.name)
	}
	return answer
}

func replayExtreme(t *testing.T, name string, rows []extremeRow, delayed bool) {
	policy, err := newPolicy(name, Config{}.withDefaults())
	require.NoError(t, err)
	trace, costs := extremeTrace(rows), newPolicyCosts()
	cfg := Config{Delayed: delayed}.withDefaults()
	r := replay{trace: trace, cfg: cfg, policy: boundedPolicy{policy, t, name}, costs: costs}
	require.NoError(t, r.run(t.Context()), name)
	result := costs.result(name)
	assert.Equal(t, len(rows), result.Rows, name)
	_, err = json.Marshal(result) // fails on a figure that is not finite
	assert.NoError(t, err, name)
}

func repeatRows(n int, build func(i int) extremeRow) []extremeRow {
	rows := make([]extremeRow, n)
	for i := range rows {
		rows[i] = build(i)
	}
	return rows
}

func extremeHistories(seed uint64) map[string][]extremeRow {
	random := rand.New(rand.NewPCG(seed, 0))
	power := func(low, high float64) float64 { return math.Pow(10, low+(high-low)*random.Float64()) }
	anyPeak := func() sizing.Bytes { return sizing.Bytes(min(power(0, 16), float64(sizing.MaxBytes))) }
	edge := []float64{0, 1, -1, 1e13, -1e13, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e308, 1e200}
	n := 40 + random.IntN(120)
	return map[string][]extremeRow{
		"one row":                   repeatRows(1, func(int) extremeRow { return extremeRow{power(0, 13), anyPeak(), power(-6, 5), 0} }),
		"equal rows at equal times": repeatRows(n, func(int) extremeRow { return extremeRow{5, 1e9, 60, 0} }),
		"peaks of one byte":         repeatRows(n, func(int) extremeRow { return extremeRow{power(0, 13), 1, 60, time.Hour} }),
		"peaks of 8 PiB":            repeatRows(n, func(int) extremeRow { return extremeRow{power(0, 13), sizing.MaxBytes, 60, time.Hour} }),
		"peaks of at most 1000 bytes, inputs to 1e13": repeatRows(n, func(int) extremeRow {
			return extremeRow{math.Floor(power(-1, 13)), sizing.Bytes(1 + random.IntN(1000)), 60, time.Hour}
		}),
		"inputs of zero and 1e13": repeatRows(n, func(i int) extremeRow {
			return extremeRow{1e13 * float64(min(1, i%(1+n/3))), sizing.Bytes(1 + i%7), 60, time.Hour}
		}),
		"decreasing peaks": repeatRows(n, func(i int) extremeRow {
			return extremeRow{float64(i), sizing.Bytes(1 + 1e12/float64(i+1)), 60, time.Hour}
		}),
		"peaks that fall as the input grows": repeatRows(n, func(i int) extremeRow { return extremeRow{float64(n - i), sizing.Bytes(1 + i*1e9), 60, 0} }),
		"inputs at the ends of float64": repeatRows(n, func(int) extremeRow {
			return extremeRow{edge[random.IntN(len(edge))], anyPeak(), power(-6, 5), time.Duration(random.IntN(int(time.Hour)))}
		}),
		"two extremes in alternation": repeatRows(n, func(i int) extremeRow {
			return extremeRow{float64(i % 2), []sizing.Bytes{1, sizing.MaxBytes}[i%2], []float64{1e-6, 3e8}[i%2], 0}
		}),
		"run times of a microsecond to ten years": repeatRows(n, func(int) extremeRow { return extremeRow{power(-300, 300), anyPeak(), power(-6, 8.49), 0} }),
		"starts up to 19 years apart": repeatRows(n, func(int) extremeRow {
			return extremeRow{power(0, 3), anyPeak(), 60, time.Duration(random.IntN(20)) * 24 * 365 * time.Hour}
		}),
	}
}

// The histories drive logarithms, ratios and extrapolations to zero, infinity and NaN.
func TestPoliciesGiveFiniteAnswersOnExtremeHistories(t *testing.T) {
	for _, name := range Policies() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				for claim, rows := range extremeHistories(seed) {
					for _, delayed := range []bool{false, true} {
						replayExtreme(t, name, rows, delayed)
						require.Falsef(t, t.Failed(), "seed %d: %s, delayed %v", seed, claim, delayed)
					}
				}
			}
		})
	}
}

// FuzzPolicies decodes a history from bytes, 26 bytes per row.
func FuzzPolicies(f *testing.F) {
	const size = 26
	add := func(rows []extremeRow) {
		var text []byte
		for _, r := range rows {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(r.input))
			text = binary.LittleEndian.AppendUint64(text, uint64(r.peak))
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(r.seconds))
			text = binary.LittleEndian.AppendUint16(text, uint16(r.gap/time.Minute))
		}
		f.Add(text)
	}
	for _, rows := range extremeHistories(0) {
		add(rows)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var rows []extremeRow
		for ; len(text) >= size && len(rows) < 200; text = text[size:] {
			input := math.Float64frombits(binary.LittleEndian.Uint64(text))
			if math.IsNaN(input) || math.IsInf(input, 0) {
				input = 0 // Read drops numbers that are not finite
			}
			seconds := math.Abs(math.Float64frombits(binary.LittleEndian.Uint64(text[16:])))
			if !(seconds >= 1e-6 && seconds <= sizing.MaxDuration.Seconds()) {
				seconds = 1e-6
			}
			rows = append(rows, extremeRow{
				input: input, peak: 1 + sizing.Bytes(binary.LittleEndian.Uint64(text[8:])%uint64(sizing.MaxBytes)), seconds: seconds,
				gap: time.Duration(binary.LittleEndian.Uint16(text[24:])) * time.Minute,
			})
		}
		if len(rows) == 0 {
			return
		}
		for _, name := range Policies() {
			replayExtreme(t, name, rows, len(rows)%2 == 0)
		}
	})
}
