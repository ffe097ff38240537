package taskmodel

import (
	"math/rand/v2"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// twoShapes learns the shapes of steady and of varied run times; the steady one is the first.
func twoShapes(t testing.TB) *Shapes {
	t.Helper()
	rng := rand.New(rand.NewPCG(13, 0))
	var ratios [][]float64
	for g := range 40 {
		runs := make([]float64, 60)
		for i := range runs {
			if runs[i] = 1 + .02*rng.NormFloat64(); g%2 == 1 {
				runs[i] = .5 + 3*rng.Float64()
			}
		}
		ratios = append(ratios, runs)
	}
	s, err := LearnShapes(ratios)
	require.NoError(t, err)
	require.Len(t, s.Shapes, 2)
	for g, want := range []int{0, 1} {
		label, ok := ShapeOf(s, ratios[g])
		assert.True(t, ok)
		assert.Equal(t, want, label)
	}
	_, ok := ShapeOf(s, ratios[0][:shape.MinRuns-1])
	assert.False(t, ok, "a task with too few runs must have no shape")
	return s
}

// A GivenShape holds the prior probabilities of the shapes, which a classifier predicts (package cohort).
func TestGivenShapeDecidesTheTailOfATaskWithFewRuns(t *testing.T) {
	s := twoShapes(t)
	m := New()
	learn := func(to int) {
		for len(m.Overrun.Ring) < to {
			i := len(m.Overrun.Ring)
			m.Learn(timed(int64(i+2), 100, 200*(1+.01*float64(i%2))))
		}
	}
	m.Learn(timed(1, 100, 200))
	learn(2)
	m.SetShapes(s)
	q := Question{Features: sizing.Features{"n": sizing.NumberValue(100)}, RiskTarget: sizing.DefaultRiskTarget}
	var memo Memo
	p95 := func(given GivenShape) float64 {
		q.Shape = given
		d := m.Size(q).Duration
		for range 3 { // the second call stores the answer, and the third returns it
			assert.Equal(t, d, memo.Size(m, q).Duration, "the memo must distinguish given shapes")
		}
		return d.P95.Seconds()
	}
	steady, varied := GivenShape{.95, .05}, GivenShape{.05, .95}
	assert.Greater(t, p95(varied), 1.5*p95(steady)) // after this line, q has the steady shape
	assert.Equal(t, s.Name(0), m.Size(q).Duration.Shape)
	p, ok := m.RunTimeProfile(&varied)
	require.True(t, ok)
	assert.Equal(t, s.Name(1), p.Shapes[0].Name)
	assert.Greater(t, m.RunTimesGiven(&varied, []sizing.Features{q.Features}).Quantile(.95), 1.5*m.RunTimesGiven(&steady, []sizing.Features{q.Features}).Quantile(.95))

	learn(shape.MinRuns)
	member := m.Membership(s, &varied)
	assert.Zero(t, member.Best, "the steady runs must outweigh the prior probabilities")
	assert.True(t, m.UsesGivenShape())
	learn(shape.MinRuns + 1)
	assert.False(t, m.UsesGivenShape())
	assert.InEpsilon(t, p95(steady), p95(varied), 1e-12)
}

// The list of ratios is full after 500 runs. Later runs must still change the membership.
func TestRunsChangeTheShapeAfterTheListOfRatiosIsFull(t *testing.T) {
	s, m := twoShapes(t), New()
	m.SetShapes(s)
	rng := rand.New(rand.NewPCG(1, 0))
	for i := range 1600 {
		seconds := 200 * (1 + .02*rng.NormFloat64())
		if i >= 800 {
			seconds = 200 * (.5 + 3*rng.Float64())
		}
		m.Learn(timed(int64(i+1), 100, seconds))
		if i == 799 {
			require.Equal(t, s.Name(0), m.ratios.member)
		}
	}
	assert.NotEqual(t, s.Name(0), m.ratios.member)
}

func TestShapesOfAnEarlierReleaseHaveNoClassifier(t *testing.T) {
	s := twoShapes(t)
	mode, err := cbor.CoreDetEncOptions().EncMode()
	require.NoError(t, err)
	earlier, err := mode.Marshal(s)
	require.NoError(t, err)
	content, err := EncodeShapes(s, nil)
	require.NoError(t, err)
	assert.Equal(t, earlier, content)
	read, classifier, err := ReadShapes(earlier)
	require.NoError(t, err)
	assert.Equal(t, s, read)
	assert.Nil(t, classifier)

	content, err = EncodeShapes(s, []byte("trees"))
	require.NoError(t, err)
	_, classifier, err = ReadShapes(content)
	require.NoError(t, err)
	assert.Equal(t, []byte("trees"), classifier)
	var byEarlier Shapes
	require.NoError(t, decoding.Unmarshal(content, &byEarlier), "an earlier release must ignore the classifier")
	assert.Equal(t, *s, byEarlier)

	s.Shapes = make([]shape.Shape, shape.MaxShapes+1)
	content, err = EncodeShapes(s, nil)
	require.NoError(t, err)
	_, _, err = ReadShapes(content)
	assert.ErrorIs(t, err, ErrFormat, "too many shapes must be rejected")
}

func BenchmarkSizeWithAGivenShape(b *testing.B) {
	s := twoShapes(b)
	m := New()
	for i := range 10 {
		m.Learn(timed(int64(i+1), 100, 200*(1+.01*float64(i%2))))
	}
	m.SetShapes(s)
	q := Question{Features: sizing.Features{"n": sizing.NumberValue(100)}, RiskTarget: sizing.DefaultRiskTarget}
	for name, given := range map[string][2]GivenShape{"no shape": {}, "the same shape": {{.9, .1}, {.9, .1}}, "two shapes in turn": {{.9, .1}, {.8, .2}}} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				q.Shape = given[i%2]
				m.Size(q)
			}
		})
	}
}
