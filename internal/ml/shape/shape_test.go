package shape_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/shape"
)

// generators lists functions that draw normalised runs of eight shapes.
var generators = []func(*rand.Rand) float64{
	func(r *rand.Rand) float64 { return 1 + .03*r.NormFloat64() },                                         // steady
	func(r *rand.Rand) float64 { return math.Exp(.3 * r.NormFloat64()) },                                  // skewed
	func(r *rand.Rand) float64 { return math.Exp(.9 * r.NormFloat64()) },                                  // widely skewed
	func(r *rand.Rand) float64 { return .25 + .05*r.NormFloat64() + 1.25*bit(r, .6) },                     // two modes: cached or not
	func(r *rand.Rand) float64 { return .8 * math.Pow(1-r.Float64(), -1/1.5) },                            // heavy tail
	func(r *rand.Rand) float64 { return .7 + .9*r.Float64() },                                             // uniform
	func(r *rand.Rand) float64 { return .95 + .05*r.NormFloat64() + 3*bit(r, .25) },                       // retries
	func(r *rand.Rand) float64 { return .05 + .01*r.NormFloat64() + bit(r, .6)*(1.2+.2*r.NormFloat64()) }, // two of five runs have nothing to do
}

func bit(r *rand.Rand, p float64) float64 {
	if r.Float64() < p {
		return 1
	}
	return 0
}

func draw(kind, n int, rng *rand.Rand) []float64 {
	runs := make([]float64, n)
	for i := range runs {
		runs[i] = max(0, generators[kind](rng))
	}
	return runs
}

func synthetic(seed uint64) (groups [][]float64, kinds []int) {
	rng := rand.New(rand.NewPCG(seed, 8))
	for g := range 300 {
		n := 3 + int(198*rng.Float64())
		groups, kinds = append(groups, draw(g%len(generators), n, rng)), append(kinds, g%len(generators))
	}
	return groups, kinds
}

var learned = sync.OnceValues(func() (*shape.Set, error) {
	groups, _ := synthetic(1)
	return shape.Learn(shape.Ratio, groups, 1)
})

// truth returns the log density of each generator by bin, estimated from many draws.
func truth() [][]float64 {
	const draws = 100_000
	var logs [][]float64
	for kind := range generators {
		c := shape.Count(shape.Ratio, draw(kind, draws, rand.New(rand.NewPCG(uint64(kind), 9))))
		log := make([]float64, shape.Bins)
		for h, v := range c {
			log[h] = math.Log((float64(v) + .01) / draws)
		}
		logs = append(logs, log)
	}
	return logs
}

// mostLikely returns the generator with the largest likelihood of the runs. If all generators are equally frequent, no rule
// that sees only the histogram is right more often.
func mostLikely(logs [][]float64, c *shape.Counts) int {
	best, most := 0, math.Inf(-1)
	for kind, log := range logs {
		sum := 0.0
		for h, v := range c {
			sum += float64(v) * log[h]
		}
		if sum > most {
			best, most = kind, sum
		}
	}
	return best
}

func TestLearnFindsTheEightShapes(t *testing.T) {
	groups, kinds := synthetic(1)
	s, err := learned()
	require.NoError(t, err)
	logs := truth()
	require.Len(t, s.Shapes, 8)
	shapes := shapesOf(t, s, groups, kinds)
	assert.Len(t, shapes, 8, "number of shapes: one for each generator")

	rng := rand.New(rand.NewPCG(2, 8))
	previous := 0.0
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
		right, possible, total := 0.0, 0.0, 0.0
		for range 100 {
			for kind := range generators {
				c := shape.Count(shape.Ratio, draw(kind, n, rng))
				m := s.Member(c)
				right, possible, total = right+count(m.Best == shapes[kind]), possible+count(mostLikely(logs, c) == kind), total+1
			}
		}
		accuracy := right / total
		t.Logf("%3d runs: %.1f %% of groups have the right shape; %.1f %% with the true densities", n, 100*accuracy, 100*possible/total)
		assert.Greater(t, accuracy, possible/total-.03, "%d runs", n)
		assert.Greater(t, accuracy, previous-.005, "the accuracy must not fall with more runs: %d runs", n)
		previous = accuracy
		if n >= 16 {
			assert.GreaterOrEqual(t, accuracy, .96, "%d runs", n)
		}
	}
}

func count(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// shapesOf returns the shape of each generator: the most frequent one among its groups.
func shapesOf(t *testing.T, s *shape.Set, groups [][]float64, kinds []int) map[int]int {
	votes := map[int]map[int]int{}
	for g, runs := range groups {
		if votes[kinds[g]] == nil {
			votes[kinds[g]] = map[int]int{}
		}
		votes[kinds[g]][s.Member(shape.Count(s.Norm, runs)).Best]++
	}
	shapes, taken := map[int]int{}, map[int]bool{}
	for kind := range generators {
		best := shape.None
		for i := range s.Shapes {
			if best == shape.None || votes[kind][i] > votes[kind][best] {
				best = i
			}
		}
		require.False(t, taken[best], "two generators must not share the shape %d", best)
		shapes[kind], taken[best] = best, true
	}
	return shapes
}

func TestAGroupWithAnUnknownShapeIsNone(t *testing.T) {
	s, err := learned()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(3, 8))
	strange := make([]float64, 60)
	for i := range strange {
		strange[i] = 7 + .1*rng.NormFloat64()
	}
	m := s.Member(shape.Count(shape.Ratio, strange))
	assert.Equal(t, shape.None, m.Best)
	assert.Greater(t, m.Probability(), .99)
	density := predictive(s, shape.Count(shape.Ratio, strange))
	assert.InDelta(t, 7, density.Quantile(shape.Ratio, .5), .3, "the quantile follows the runs of the group itself")
}

func TestMembershipOfAGroupWithoutRunsIsThePrior(t *testing.T) {
	s, err := learned()
	require.NoError(t, err)
	m := s.Member(new(shape.Counts))
	sum := m.None
	for i, p := range m.Posterior {
		assert.InDelta(t, s.Shapes[i].Prior, p, 1e-12)
		sum += p
	}
	assert.InDelta(t, 1, sum, 1e-12)
	assert.InDelta(t, s.None, m.None, 1e-12)
}

// A prior from a classifier determines the shape of a group without runs, but not that of a group with many runs.
func TestTheRunsOfAGroupOutweighTheGivenPrior(t *testing.T) {
	s, err := learned()
	require.NoError(t, err)
	var given shape.Given
	for i := range s.Shapes {
		given[i] = .01
	}
	given[2] = 1 - .01*float64(len(s.Shapes)-1)
	m := s.Posterior(&given, new(shape.Evidence))
	assert.Equal(t, 2, m.Best)
	assert.InDelta(t, s.None, m.None, 1e-12)
	assert.InDelta(t, given[2]*(1-s.None), m.Posterior[2], 1e-12)

	rng, previous := rand.New(rand.NewPCG(12, 8)), 1.
	for _, n := range []int{1, 8, 40} {
		e := s.Evidence(shape.Count(shape.Ratio, draw(0, n, rng)))
		m := s.Posterior(&given, &e)
		assert.Equal(t, n, m.Runs)
		assert.Less(t, m.Posterior[2], previous, "%d runs", n)
		previous = m.Posterior[2]
	}
	assert.Less(t, previous, 1e-6, "after many steady runs, the given shape is unlikely")
}

func predictive(s *shape.Set, c *shape.Counts) *shape.Density { return s.Predictive(c, s.Member(c)) }

// With three runs the tail comes from the shape. With many runs it comes from the runs.
func TestPredictiveQuantiles(t *testing.T) {
	s, err := learned()
	require.NoError(t, err)
	steady, retries := predictive(s, shape.Count(shape.Ratio, []float64{.99, 1.01, 1})), predictive(s, shape.Count(shape.Ratio, []float64{.95, 1, 4}))
	assert.Less(t, steady.Quantile(shape.Ratio, .95), 1.5)
	assert.Greater(t, retries.Quantile(shape.Ratio, .95), 3.5)
	exact := predictive(s, shape.Count(shape.Ratio, draw(5, 200, rand.New(rand.NewPCG(4, 8)))))
	assert.InDelta(t, 1.15, exact.Quantile(shape.Ratio, .5), .07)
	assert.InDelta(t, 1.555, exact.Quantile(shape.Ratio, .95), .06)
}

func TestDensityByHand(t *testing.T) {
	var d shape.Density
	d[20], d[40], d[shape.Bins-1] = .5, .4, .1 // ratios 1 to 1.05, 2 to 2.05, and 9.95 or more
	assert.InDelta(t, 1.025, d.Quantile(shape.Ratio, .25), 1e-9)
	assert.InDelta(t, 2.05, d.Quantile(shape.Ratio, .9), 1e-9)
	assert.InDelta(t, 10, d.Quantile(shape.Ratio, 1), 1e-9)
	assert.InDelta(t, .5, d.Above(shape.Ratio, 1.5), 1e-9)
	assert.InDelta(t, .3, d.Above(shape.Ratio, 2.025), 1e-9)
	assert.InDelta(t, 1, d.Above(shape.Ratio, 0), 1e-9)
	assert.InDelta(t, 0, d.Above(shape.Ratio, 20), 1e-9)
	var same shape.Density
	same[20], same[41], same[shape.Bins-1] = .5, .3, .2
	assert.InDelta(t, .4, d.Distance(&same), 1e-9)
}

func TestTheEndBinsHoldValuesOutsideTheRange(t *testing.T) {
	for _, c := range []struct {
		norm shape.Norm
		x    float64
		want int
	}{
		{shape.Ratio, 0, 0}, {shape.Ratio, 1.0001, 20}, {shape.Ratio, 9.96, 199}, {shape.Ratio, 400, 199}, {shape.Ratio, math.Inf(1), 199},
		{shape.Delta, -5000, 0}, {shape.Delta, -895, 0}, {shape.Delta, 1, 100}, {shape.Delta, 899, 199}, {shape.Delta, 1e9, 199},
	} {
		assert.Equal(t, c.want, c.norm.Bin(c.x), "%v %v", c.norm, c.x)
	}
	assert.InDelta(t, 2, shape.Ratio.Normalise(60, 30), 1e-12)
	assert.InDelta(t, 30, shape.Delta.Normalise(60, 30), 1e-12)
}

func TestLearnFindsShapesOfDeltas(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	var groups [][]float64
	for g := range 60 {
		runs := make([]float64, 40)
		for i := range runs {
			runs[i] = []float64{5, 300}[g%2] * rng.NormFloat64()
		}
		groups = append(groups, runs)
	}
	s, err := shape.Learn(shape.Delta, groups, 1)
	require.NoError(t, err)
	require.Len(t, s.Shapes, 2)
	assert.InDelta(t, 1.645*300, s.Shapes[1].Density.Quantile(shape.Delta, .95), 60)
}

func TestLearnNeedsTwoGroups(t *testing.T) {
	short := make([]float64, shape.MinRuns-1)
	s, err := shape.Learn(shape.Ratio, [][]float64{short, short, make([]float64, shape.MinRuns)}, 1)
	require.NoError(t, err)
	assert.Nil(t, s)
	m := new(shape.Set).Member(new(shape.Counts))
	assert.Equal(t, shape.None, m.Best)
	assert.InDelta(t, 1, m.Probability(), 1e-12)
}

func TestLearnIsDeterministic(t *testing.T) {
	groups, _ := synthetic(7)
	groups = groups[:60]
	a, err := shape.Learn(shape.Ratio, groups, 3)
	require.NoError(t, err)
	b, err := shape.Learn(shape.Ratio, groups, 3)
	require.NoError(t, err)
	assert.Equal(t, a, b)
}

func TestGroupsOfOneGeneratorHaveOneShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 8))
	var groups [][]float64
	for range 80 {
		groups = append(groups, draw(1, 60, rng))
	}
	s, err := shape.Learn(shape.Ratio, groups, 1)
	require.NoError(t, err)
	assert.Len(t, s.Shapes, 1, "Learn must add no shape, because one is sufficient")
}
