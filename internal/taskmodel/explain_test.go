package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// requireExact requires that the grant of an explanation is `granted`, and the product of its base and its factors.
func requireExact(t *testing.T, e taskmodel.Explanation, granted sizing.Bytes, about any) {
	t.Helper()
	require.Equal(t, granted, e.Granted, about)
	product := float64(e.Base)
	for i, term := range e.Terms {
		require.NotEmpty(t, term.Name, about)
		require.Greater(t, term.Factor, 0.0, about)
		product *= term.Factor
		require.InDelta(t, min(product, sizing.MaxBytes), float64(term.After), 0.5+1e-9*product, "%v: term %d", about, i)
	}
	require.InEpsilon(t, float64(granted), product, 1e-9, about)
	if n := len(e.Terms); n > 0 {
		require.Equal(t, granted, e.Terms[n-1].After, about)
	}
}

// anyQuestion returns a random question: its features are those of f, of which some are missing or changed, and each of its
// other fields may be set.
func anyQuestion(rng *rand.Rand, f sizing.Features) taskmodel.Question {
	q := question(f)
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch v := f[name]; {
		case rng.IntN(8) == 0:
			q.Features = without(q.Features, name)
		case rng.IntN(8) == 0 && v.Kind == sizing.Number:
			q.Features = with(q.Features, name, sizing.NumberValue(v.Num*math.Exp(4*rng.NormFloat64())))
		case rng.IntN(12) == 0 && v.Kind == sizing.Category:
			q.Features = with(q.Features, name, sizing.TextValue("never seen"))
		}
	}
	if rng.IntN(3) == 0 {
		q.Requested.Memory = bytes(8 * rng.Float64())
	}
	if rng.IntN(4) == 0 {
		q.Floor = bytes(3 * rng.Float64())
	}
	if rng.IntN(4) == 0 {
		q.MinGrant = bytes(2 * rng.Float64())
	}
	if rng.IntN(4) == 0 {
		q.Cap = max(q.Floor, bytes(0.1+4*rng.Float64()))
	}
	if rng.IntN(4) == 0 {
		q.GuardFactor = 1 + rng.Float64()
	}
	if rng.IntN(4) == 0 {
		q.RiskTarget = []float64{0.001, 0.005, 0.05, 0.2}[rng.IntN(4)]
	}
	if rng.IntN(4) == 0 {
		q.Edges = sizing.Bins{gib, 2 * gib, 4 * gib, 16 * gib}
	}
	if rng.IntN(6) == 0 {
		q.Above = bytes(0.1 + 6*rng.Float64())
	}
	return q
}

func TestFactorsMultiplyToTheGrant(t *testing.T) {
	t.Parallel()
	draws := map[string]generator{"sales with dates": salesForecast, "sale": sale, "extreme": extreme}
	for name, draw := range generators {
		draws[name] = draw
	}
	for name, draw := range draws {
		t.Run(name, func(t *testing.T) {
			rng, k := rand.New(rand.NewPCG(3, 1)), newTask(t)
			k.reportSuccess(sizing.Features{}, 1)
			k.model = taskmodel.New() // the first questions go to a model that has learned no peak
			kinds := map[taskmodel.TermKind]int{}
			for n := range 150 {
				f, gibs := draw(rng)
				for range 4 {
					q := anyQuestion(rng, f)
					e := k.model.Explain(q)
					requireExact(t, e, k.model.Size(q).Limit, fmt.Sprintf("after %d runs: %+v\n%+v", n, q, e))
					for _, term := range e.Terms {
						kinds[term.Kind]++
					}
				}
				switch {
				case n%10 == 7:
					k.report(f, killed(gibs/2))
				case n < 3:
					k.report(f, sizing.HistoryRow{Outcome: sizing.Success, Allocated: sizing.Resources{Memory: 4 * gib}})
				default:
					k.reportSuccess(f, gibs)
				}
				if n == 60 || n == 120 {
					k.train()
				}
			}
			for _, kind := range []taskmodel.TermKind{taskmodel.TermMargin, taskmodel.TermRounding, taskmodel.TermGuard, taskmodel.TermFloor, taskmodel.TermCap, taskmodel.TermLift} {
				assert.Positivef(t, kinds[kind], "no question led to a term of kind %s", kind)
			}
		})
	}
}

// The peak depends on the feature `rows` only. Its factor is the largest, and the factor of the feature `unrelated` is about 1.
func TestTheDriverHasTheLargestFactor(t *testing.T) {
	rng, k := rand.New(rand.NewPCG(5, 1)), newTask(t)
	draw := func() (sizing.Features, float64) {
		f, gibs := growing(rng)
		return with(f, "unrelated", sizing.NumberValue(math.Floor(100*rng.Float64()))), gibs
	}
	for range 300 {
		k.reportSuccess(draw())
	}
	k.train()
	f, _ := draw()
	e := k.model.Explain(question(with(f, "rows", sizing.NumberValue(50_000))))
	require.Equal(t, taskmodel.TermFeature, e.Terms[0].Kind)
	assert.Equal(t, []string{"rows", "50000"}, []string{e.Terms[0].Name, e.Terms[0].Value})
	assert.Greater(t, e.Terms[0].Factor, 1.8)
	for _, term := range e.Terms[1:] {
		if term.Name == "unrelated" {
			assert.InDelta(t, 1, term.Factor, 0.1)
		}
	}
}

func TestAPastAnswerIsNotExplainedByALaterModel(t *testing.T) {
	rng, k := rand.New(rand.NewPCG(9, 1)), newTask(t)
	for range 80 {
		k.reportSuccess(growing(rng))
	}
	k.train()
	f, _ := growing(rng)
	q := question(f)
	answer := k.model.Size(q)
	recorded := taskmodel.RecordedAnswer{Granted: answer.Limit, Guard: answer.Guard}
	e, ok := k.model.ExplainRecorded(q, recorded)
	require.True(t, ok)
	assert.Equal(t, k.model.Explain(q), e)

	changed := q
	changed.Cap = answer.Limit / 2 // a policy that was set after the answer
	e, ok = k.model.ExplainRecorded(changed, recorded)
	require.True(t, ok)
	requireExact(t, e, answer.Limit, "a later cap does not change a recorded answer")

	for range 20 {
		k.reportSuccess(growing(rng))
	}
	_, ok = k.model.ExplainRecorded(q, recorded)
	assert.False(t, ok, "a model that has learned more runs since the answer must not explain the answer")
	e, ok = taskmodel.ExplainReceipt(recorded)
	require.True(t, ok)
	requireExact(t, e, answer.Limit, "explained by the receipt alone")
	assert.NotEmpty(t, e.BaseName)
}

func BenchmarkExplain(b *testing.B) {
	k := wideHistory(1460)
	blob := championBlob(b, k)
	m, err := taskmodel.Open(blob)
	require.NoError(b, err)
	q := question(k.history.Schema.Features(k.history.Rows[7].Features))
	for b.Loop() {
		m.Explain(q)
	}
}

// The peaks fall to a quarter. The grants follow this fall earlier than the predictions of the models. While the grant is below
// the prediction, the expected peak comes from the newest peaks.
func TestExpectedPeakIsNotAboveTheGrantAfterAFall(t *testing.T) {
	for name, draw := range map[string]generator{"constant": constant, "kinds": kinds} {
		k, rng := newTask(t), newRand(1)
		lowered := 0
		for i := range 360 {
			f, gibs := draw(rng)
			if i >= 200 {
				gibs /= 4
			}
			if i >= 200 {
				q := question(f)
				e := k.model.Explain(q)
				require.LessOrEqual(t, e.Expected, e.Granted, "%s, run %d: %+v", name, i, e.Terms)
				if slices.ContainsFunc(e.Terms, func(term taskmodel.Term) bool { return term.Name == "the level of the newest peaks" }) {
					lowered++
				}
				if i >= 330 {
					require.InEpsilon(t, gibs, float64(e.Expected)/float64(gib), 0.4, "%s, run %d: %+v", name, i, e.Terms)
				}
				recorded := taskmodel.RecordedAnswer{Granted: e.Granted, Guard: k.model.Size(q).Guard}
				receipt, ok := taskmodel.ExplainReceipt(recorded)
				require.True(t, ok)
				require.LessOrEqual(t, receipt.Expected, receipt.Granted, "%s, run %d", name, i)
				q.Above = e.Granted
				lift := k.model.Explain(q)
				require.LessOrEqual(t, lift.Expected, lift.Granted, "%s, lift of run %d", name, i)
			}
			k.run(f, gibs)
			k.train()
		}
		require.Positive(t, lowered, name)
	}
}
