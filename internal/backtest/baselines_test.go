package backtest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	gb  = 1e9
	mib = float64(sizing.MiB)
)

// success is a successful try of a rule's task.
type success struct {
	x, peak float64 // first numeric feature; GB
	hours   float64 // run time; 1 if zero
	day     int     // of the start, from the first day on
}

func trained(r rule, rows ...success) rule {
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range rows {
		if s.hours == 0 {
			s.hours = 1
		}
		q := Question{X: s.x, StartedAt: start.AddDate(0, 0, s.day)}
		r.learn(&Outcome{Question: q, Peak: sizing.Bytes(s.peak * gb), Duration: time.Duration(s.hours * float64(time.Hour))})
	}
	return r
}

func peaks(values ...float64) []success {
	rows := make([]success, len(values))
	for i, v := range values {
		rows[i].peak = v
	}
	return rows
}

// same returns n rows with the same peak. All rows have x = 1.
func same(n int, peak float64) []success {
	rows := make([]success, n)
	for i := range rows {
		rows[i] = success{x: 1, peak: peak}
	}
	return rows
}

func TestBaselinesAllocateByTheirRules(t *testing.T) {
	diagonal := []success{{x: 1, peak: 1}, {x: 2, peak: 2}, {x: 3, peak: 3}, {x: 4, peak: 4}, {x: 5, peak: 5}}
	bent := []success{{x: 1, peak: 1}, {x: 2, peak: 2}, {x: 3, peak: 4}} // line 7/3 + 1.5(x−2), residuals 1/6, −1/3, 1/6
	for claim, c := range map[string]struct {
		rule rule
		x    float64
		want float64 // GB
	}{
		"static without a request has no prediction":                 {trained(static{}, peaks(3)...), 0, 0},
		"max is the largest peak so far":                             {trained(&largest{scale: 1}, peaks(2, 5, 3)...), 0, 5},
		"max without a row has no prediction":                        {&largest{scale: 1}, 0, 0},
		"krr adds 15 %":                                              {trained(&largest{scale: 1.15}, peaks(2, 5, 3)...), 0, 5.75},
		"p95 of three peaks is at position 1.9":                      {trained(&percentile{share: .95}, peaks(3, 1, 2)...), 0, 2.9},
		"p99 of three peaks is at position 1.98":                     {trained(&percentile{share: .99}, peaks(3, 1, 2)...), 0, 2.98},
		"p95 of one peak is that peak":                               {trained(&percentile{share: .95}, peaks(3)...), 0, 3},
		"vpa adds 15 % to the edge of a bucket":                      {trained(&vpa{}, peaks(1)...), 0, 1.15 * .01 * (math.Pow(1.05, 37) - 1) / .05},
		"vpa has a minimum":                                          {trained(&vpa{}, peaks(.005)...), 0, 250 * mib / gb},
		"vpa has a half-life of one day":                             {trained(&vpa{}, success{peak: 10}, success{peak: .005, day: 4}), 0, 250 * mib / gb}, // after four half-lives, the small peak has 16/17 of the weight, more than 90 %
		"vpa keeps a peak for three days":                            {trained(&vpa{}, success{peak: 1}, success{peak: .005, day: 3}), 0, 1.15 * .01 * (math.Pow(1.05, 37) - 1) / .05},
		"vpa's weights do not overflow":                              {trained(&vpa{}, success{peak: 1}, success{peak: .005, day: 3000}, success{peak: 10, day: 3001}), 0, 1.15 * .01 * (math.Pow(1.05, 81) - 1) / .05}, // the peak of 10 GB has 2/3 of the weight
		"tovar retries rare large peaks":                             {trained(&tovar{}, peaks(1, 2, 10)...), 0, 2},                                                                                                     // costs of 2, 1 and 10 GB: 2·3 + 10 < 1·3 + 20 < 10·3
		"tovar weights by duration":                                  {trained(&tovar{}, append(peaks(1, 2), success{peak: 10, hours: 10})...), 0, 10},                                                                  // costs of 10 and 2 GB: 10·12 < 2·12 + 10·10
		"tovar rounds up to 50 MB":                                   {trained(&tovar{}, peaks(1.01)...), 0, 1.05},
		"lr-std adds √(SSE/(n−1))":                                   {trained(&regression{}, bent...), 4, 16./3 + math.Sqrt(1./6/2)},
		"lr-max adds the largest residual":                           {trained(&regression{byMax: true}, bent...), 4, 16./3 + 1./6},
		"lr with one row uses the largest peak":                      {trained(&regression{}, peaks(3)...), 4, 3},
		"lr below 0 uses the largest peak":                           {trained(&regression{}, success{x: 1, peak: 4}, success{x: 2, peak: 2}), 5, 4},
		"ponder without a row has no prediction":                     {&ponder{}, 3, 0},
		"ponder in a cold start below the largest x":                 {trained(&ponder{}, success{x: 5, peak: 2}), 4, 2 + 128*mib/gb},
		"ponder in a cold start at the largest x":                    {trained(&ponder{}, success{x: 5, peak: 2}), 5, 0},
		"ponder without a correlation uses the largest peak":         {trained(&ponder{}, same(5, 2)...), 1, 2 + 128*mib/gb},
		"ponder follows the line":                                    {trained(&ponder{}, diagonal...), 3, 3 + 128*mib/gb},
		"ponder extrapolates beyond the largest x":                   {trained(&ponder{}, diagonal...), 6, 6 + 128*mib/gb},
		"ponder allocates at least the smallest peak and its margin": {trained(&ponder{}, diagonal...), 0.5, 1 + 128*mib/gb},
		"greedy in a cold start allocates 1 GB":                      {trained(&greedy{}, same(9, 3)...), 0, 1},
		"cost-aware has a cold start of eight rows":                  {trained(costAware(), same(7, 2)...), 0, 2.2},
		"cost-aware wastes nothing on equal peaks":                   {trained(costAware(), same(10, 2)...), 0, 2},
		"capped has a cold start of eight rows":                      {trained(capped(), same(7, 2)...), 0, 2.3},
		"capped sets a margin above all of nine ratios":              {trained(capped(), same(10, 2)...), 0, 2 * (1 + .5/3)}, // ⌈.98·10⌉ > 9
	} {
		got := c.rule.allocate(&Question{X: c.x})
		assert.InDelta(t, c.want, got/gb, 1e-6, claim)
	}
}

func TestCostAwareExtrapolatesAPowerLaw(t *testing.T) {
	var rows []success
	for i := range 400 { // the window contains the newest 300 rows; before them, the line has converged
		x := float64(i % 20)
		rows = append(rows, success{x: x, peak: 1 + x}) // log peak = log(1+x)
	}
	assert.InDelta(t, 100, trained(costAware(), rows...).allocate(&Question{X: 99})/gb, 1e-6)
}

func TestPonderStaysWithinTheRequest(t *testing.T) {
	r := trained(&ponder{}, same(5, 3)...)
	q := Question{X: 1, Requested: sizing.Resources{Memory: 2e9}}
	assert.Equal(t, 2e9, r.allocate(&q))
}

// Each of the three values of x has two peaks that differ by 2: 1 and 3 at x = 0, 6 and 8 at x = 0.5,
// 11 and 13 at x = 1. Under-estimates weigh 1 and over-estimates 0.02, so the value v of the line at
// x = 0 solves 3 − v = 0.02 (v − 1).
func TestPonderFitsTheUpperPartOfThePoints(t *testing.T) {
	r := &ponder{}
	for range 3 {
		for _, x := range []float64{0, .5, 1} {
			trained(r, success{x: x, peak: 1 + 10*x}, success{x: x, peak: 3 + 10*x})
		}
	}
	r.fit()
	assert.InDelta(t, 3.02/1.02, r.fitted.at(0)/gb, 1e-9)
	assert.InDelta(t, 10+3.02/1.02, r.fitted.at(1)/gb, 1e-9)

	// Around x = 0 the three groups of six points weigh 1, ½ and 0, and every residual differs by 1 from the
	// mean of the residuals: Σw = 9, Σw² = 7.5.
	assert.InDelta(t, math.Sqrt(9/(9-7.5/9)), r.deviation(0)/gb, 1e-9)
}

// The probability of a bucket is its share of the weight. The ten rows have the weights 1 to 10: the
// nine small peaks have 45 of 55.
func TestGreedySamplesBucketsByTheirWeight(t *testing.T) {
	r := trained(&greedy{rng: rand.New(rand.NewPCG(1, 0))}, append(same(9, 1), success{peak: 10})...)
	small := 0
	for range 1000 {
		switch got := r.allocate(&Question{}); got {
		case 1 * gb:
			small++
		default:
			require.Equal(t, 10*gb, got)
		}
	}
	assert.InDelta(t, 1000*45./55, small, 40, "three standard deviations are 37")
}

func TestExpectedWasteOfGreedyBuckets(t *testing.T) {
	s := newSums([]weightedPeak{{1, 1}, {3, 1}})
	assert.InDelta(t, 1, s.waste(0, 2, 2), 1e-12, "one bucket: 3 for a mean of 2")
	// A run with a peak of 1 gets 1 or 3: the mean waste is 1. A run with a peak of 3 gets 3,
	// or 1 and then 3: the mean waste is 0.5.
	assert.InDelta(t, .75, s.waste(0, 1, 2), 1e-12)
}

func TestReplayedCostCountsEveryAttempt(t *testing.T) {
	w := &window{}
	w.add(1, 1, 1)
	w.add(1, 3, 1)
	assert.InDelta(t, 8, w.cost(1), 1e-12, "both rows get 1, and the second row then gets 2 and 4")
	assert.InDelta(t, 6, w.cost(3), 1e-12, "both rows get 3")
}

func TestWindowDropsTheOldestRow(t *testing.T) {
	w := &window{}
	for i := range referenceWindow + 1 {
		w.add(1, float64(1000-i), 1)
	}
	require.Len(t, w.rows, referenceWindow)
	assert.Equal(t, 999., w.quantile(1), "the first value, 1000, was removed")
	assert.Equal(t, 700., w.quantile(0))
}

func TestHullContainsTheLargestResidual(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var h hull
	var l line
	var points []point
	for range 500 {
		p := point{float64(rng.IntN(40)), rng.NormFloat64()}
		points = append(points, p)
		h.add(p.x, p.y)
		l.add(p.x, p.y)
		want := math.Inf(-1)
		for _, p := range points {
			want = max(want, p.y-l.at(p.x))
		}
		require.InDelta(t, want, h.above(&l), 1e-9)
	}
	assert.Less(t, len(h), 20, "the hull has few points")
}

func TestFallbackLiftsAndCapOfBaselines(t *testing.T) {
	r := newBaseline(func(int) rule { return &largest{scale: 1} })
	q := Question{Static: 8e9, Cap: 20e9}
	assert.Equal(t, sizing.Bytes(8e9), r.Predict(q).Limit, "in a cold start the request must be granted")
	require.NoError(t, r.Learn(Outcome{Question: q, Killed: true, Allocated: 8e9}))
	assert.Equal(t, sizing.Bytes(8e9), r.Predict(q).Limit, "kills are not learned")
	require.NoError(t, r.Learn(Outcome{Question: q, Peak: 30e9}))
	assert.Equal(t, sizing.Bytes(20e9), r.Predict(q).Limit, "the allocation is not above the cap")

	q.Above = 15e9
	assert.Equal(t, sizing.Bytes(20e9), r.Predict(q).Limit, "after a kill the limit doubles, up to the cap")
	q.Static = 25e9
	assert.Equal(t, sizing.Bytes(25e9), r.Predict(q).Limit, "after a kill the limit doubles, up to the request if that is above the cap, because a node has capacity for the request")

	other := q
	other.Above, other.Try.Task = 0, "other"
	assert.Equal(t, sizing.Bytes(20e9), r.Predict(other).Limit, "another task must get its request within the cap, because tasks are independent")
}
