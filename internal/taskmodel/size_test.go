package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestTaskWithoutHistoryGetsItsRequest(t *testing.T) {
	f := sizing.Features{"rows": sizing.NumberValue(5)}
	for name, c := range map[string]struct {
		q    taskmodel.Question
		want sizing.Bytes
	}{
		"the request":               {taskmodel.Question{Features: f, Requested: sizing.Resources{Memory: 350 * gib}}, 350 * gib},
		"zero without a request":    {taskmodel.Question{Features: f}, 0},
		"the cap if it is smaller":  {taskmodel.Question{Requested: sizing.Resources{Memory: 350 * gib}, Cap: 100 * gib}, 100 * gib},
		"the floor if it is larger": {taskmodel.Question{Requested: sizing.Resources{Memory: gib}, Floor: 2 * gib}, 2 * gib},
	} {
		s := taskmodel.New().Size(c.q)
		assert.Equal(t, c.want, s.Limit, name)
		assert.Equal(t, sizing.FromRequested, s.Source, name)
		assert.Nil(t, s.Promised, name)
		assert.NotEmpty(t, s.Reason, name)
	}
	assert.Nil(t, taskmodel.New().Risk(taskmodel.Question{Features: f}, gib))

	lifted := taskmodel.New().Size(taskmodel.Question{Requested: sizing.Resources{Memory: gib}, Above: 3 * gib})
	assert.Equal(t, 6*gib, lifted.Limit, "without history, a lift must be twice the killed allocation")
	assert.Equal(t, sizing.FromLift, lifted.Source)
	assert.InDelta(t, 0.9/8, *lifted.Promised, 1e-9, "without data, the promise of a lift must be killedRisk · (killed/limit)³")
}

// The runs need about 10 GiB and request 350 GiB.
func TestColdStartMarginsShrink(t *testing.T) {
	k := newTask(t)
	f := sizing.Features{"rows": sizing.NumberValue(5)}
	q := question(f)
	q.Requested.Memory, q.Cap = 350*gib, 350*gib
	last := 350 * gib
	for n := 1; n <= 31; n++ {
		k.reportSuccess(f, 10*(1+0.01*float64(n%3)))
		s := k.model.Size(q)
		require.Equal(t, sizing.FromProfile, s.Source, "after %d runs", n)
		require.Greater(t, s.Limit, 10*gib, "after %d runs", n)
		require.NotNil(t, s.Promised)
		require.LessOrEqual(t, *s.Promised, 0.2, "after %d runs", n)
		require.LessOrEqual(t, s.Limit, last+gib/4, "the grant must rise by at most a quarter of a GiB, after %d runs", n)
		last = s.Limit
	}
	assert.Less(t, last, 13*gib)
	k.reportSuccess(f, 10)
	assert.Equal(t, sizing.FromModel, k.model.Size(q).Source)
}

// sampleTasks returns tasks with different numbers of runs, some of them with many kills, and one task with unusual reports.
func sampleTasks(t *testing.T) []*task {
	t.Helper()
	var tasks []*task
	for i, n := range []int{1, 2, 5, 17, 31, 33, 120} {
		k, rng := trainedTask(t, growing, uint64(i), n)
		if n%2 == 0 {
			for range 12 {
				f, gibs := kinds(rng)
				k.report(f, killed(gibs))
			}
		}
		tasks = append(tasks, k)
	}
	odd, rng := trainedTask(t, kinds, 9, 60)
	odd.reportSuccess(sizing.Features{"kind": sizing.TextValue("never seen"), "new": sizing.BoolValue(true)}, 1e-9)
	odd.report(sizing.Features{}, killed(2000))
	odd.reportSuccess(sizing.Features{}, rng.Float64())
	return append(tasks, odd)
}

func randomFeatures(rng *rand.Rand) sizing.Features {
	f := sizing.Features{}
	for _, name := range []string{"rows", "kind", "new", "other"} {
		switch rng.IntN(7) {
		case 0:
			f[name] = sizing.NumberValue(math.Exp(80*rng.Float64() - 10))
		case 1:
			f[name] = sizing.NumberValue(-math.MaxFloat64)
		case 2:
			f[name] = sizing.TextValue([]string{"", "small", "large", "2020-01-03", "0000-01-01", "\xff"}[rng.IntN(6)])
		case 3:
			f[name] = sizing.BoolValue(rng.IntN(2) == 0)
		case 4:
			f[name] = sizing.NumberValue(50_000 * rng.Float64())
		case 5:
			f[name] = sizing.Value{}
		}
	}
	return f
}

func randomQuestion(rng *rand.Rand) taskmodel.Question {
	amount := func() sizing.Bytes {
		if rng.IntN(3) == 0 {
			return 0
		}
		return sizing.Bytes(math.Exp(math.Log(sizing.MaxBytes) * rng.Float64()))
	}
	q := taskmodel.Question{
		Features: randomFeatures(rng), Requested: sizing.Resources{Memory: amount()}, Floor: amount(), Cap: amount(),
		RiskTarget: math.Exp(math.Log(0.0001) * rng.Float64()), Lifts: rng.IntN(7),
	}
	if rng.IntN(3) == 0 {
		q.GuardFactor = 5 * rng.Float64()
	}
	if q.Cap > 0 && q.Floor > q.Cap {
		q.Floor, q.Cap = q.Cap, q.Floor
	}
	if rng.IntN(2) == 0 {
		q.Above = amount()
	}
	if rng.IntN(3) == 0 {
		q.Edges = sizing.Bins{gib, 2 * gib, 4 * gib, 16 * gib}
	}
	return q
}

func requireValid(t *testing.T, m *taskmodel.Model, q taskmodel.Question) {
	t.Helper()
	s := m.Size(q)
	about := fmt.Sprintf("%+v\n→ %+v", q, s)
	if q.Cap > 0 {
		require.LessOrEqual(t, s.Limit, q.Cap, about)
	}
	require.GreaterOrEqual(t, s.Limit, q.Floor, about)
	if q.Above > 0 && (q.Cap == 0 || q.Cap > q.Above) {
		require.Greater(t, s.Limit, q.Above, about)
	}
	if len(s.Ladder) > 0 {
		require.Equal(t, s.Limit, s.Ladder[0], about)
	}
	require.LessOrEqual(t, len(s.Ladder), 1+max(q.Lifts, 0), about)
	for i := range s.Ladder {
		require.True(t, i == 0 || s.Ladder[i] > s.Ladder[i-1], about)
		require.True(t, q.Cap == 0 || s.Ladder[i] <= q.Cap, about)
	}
	if q.Cap > s.Limit && q.Lifts > 0 && q.Above == 0 {
		require.Equal(t, q.Cap, s.Ladder[len(s.Ladder)-1], "the last lift must grant the cap\n"+about)
	}
	if s.Promised == nil {
		require.Contains(t, s.Reason, "no risk can be stated", about)
	} else {
		require.True(t, *s.Promised >= 1e-4 && *s.Promised <= 1-1e-4, about)
	}
	require.Equal(t, s.Promised, m.Risk(q, s.Limit), "Risk of the granted limit must be the promise\n"+about)
	if s.Bins != nil {
		sum := 0.0
		for _, p := range s.Bins.Probabilities {
			require.True(t, p >= 0 && p <= 1, about)
			sum += p
		}
		require.InDelta(t, 1, sum, 1e-9, about)
		require.True(t, sizing.Bins(s.Bins.Upper).Valid(), about)
		require.Less(t, s.Bins.Chosen, len(s.Bins.Upper), about)
	}
	if s.Duration != nil {
		require.True(t, s.Duration.Median >= 0 && s.Duration.P95 >= s.Duration.Median && s.Duration.P95 <= sizing.MaxDuration, about)
	}
	require.GreaterOrEqual(t, s.CPU, sizing.Cores(0))
	require.NotEmpty(t, s.Reason)
	for _, v := range s.Guard.Params {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0), about)
	}
}

func TestEveryAnswerIsValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 77))
	for _, k := range sampleTasks(t) {
		for range 300 {
			requireValid(t, k.model, randomQuestion(rng))
		}
	}
}

func TestPredictedDurationIsBounded(t *testing.T) {
	k := newTask(t)
	for i := range 12 {
		r := measuredRun(1)
		r.Duration = []time.Duration{time.Second, sizing.MaxDuration}[i%2]
		k.report(nil, r)
	}
	requireValid(t, k.model, question(nil))
	assert.Equal(t, sizing.MaxDuration, k.model.Size(question(nil)).Duration.P95)
}

func FuzzEveryAnswerIsValid(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Add(uint64(2), uint8(7))
	var once sync.Once
	var tasks []*task
	f.Fuzz(func(t *testing.T, seed uint64, index uint8) {
		once.Do(func() { tasks = sampleTasks(t) })
		requireValid(t, tasks[int(index)%len(tasks)].model, randomQuestion(rand.New(rand.NewPCG(seed, 1))))
	})
}

func TestHigherRiskTargetIsCheaperOnAverage(t *testing.T) {
	for _, n := range []int{6, 200} {
		k, rng := trainedTask(t, growing, 8, n)
		targets, sums := []float64{0.001, 0.015, 0.1, 0.3}, make([]float64, 4)
		for range 100 {
			f, _ := growing(rng)
			for i, risk := range targets {
				q := question(f)
				q.RiskTarget = risk
				sums[i] += float64(k.model.Size(q).Limit) / float64(gib)
			}
		}
		assert.True(t, slices.IsSortedFunc(sums, func(a, b float64) int { return int(math.Copysign(1, b-a)) }), "%v", sums)
		assert.Less(t, sums[3], sums[0])
	}
}

func TestALargerLimitIsNeverRiskier(t *testing.T) {
	for _, n := range []int{1, 5, 40, 200} {
		k, rng := trainedTask(t, growing, 10, n)
		for i := range 6 {
			f, gibs := growing(rng)
			q := question(f)
			if i%2 == 0 {
				q.Above = bytes(gibs / 2)
			}
			last := 1.0
			for limit := gibs / 2; limit < 40*gibs; limit *= 1.07 {
				risk := *k.model.Risk(q, bytes(limit))
				require.True(t, risk >= 0 && risk <= last, "P(peak > %.3f GiB) = %v after %v", limit, risk, last)
				last = risk
			}
			assert.Less(t, last, 0.05, "%d runs", n)
		}
	}
}

func TestPromisedRiskBelongsToTheGrant(t *testing.T) {
	k, _ := trainedTask(t, constant, 15, 100) // all peaks are within a few percent of 2 GiB
	q := question(sizing.Features{"region": sizing.TextValue("emea")})
	q.Cap = gib
	assert.Greater(t, *k.model.Size(q).Promised, 0.9, "with a cap of half of the peak, the promise must be near 1")
	q.Cap, q.Floor = 64*gib, 8*gib
	assert.Less(t, *k.model.Size(q).Promised, 0.01, "with a floor of four times the peak, the promise must be near 0")
	q.Floor, q.Above = 0, 4*gib
	assert.Greater(t, *k.model.Risk(q, 4*gib+1), 0.99, "one byte more than the killed allocation must have a risk near 1")
}

func TestBinsAreCalibrated(t *testing.T) {
	const tries = 400
	k, rng := trainedTask(t, kinds, 16, 150)
	hit, expected, actual, variance := 0.0, 0.0, 0.0, 0.0
	for range tries {
		f, gibs := kinds(rng)
		q := question(f)
		bins := k.model.Size(q).Bins
		last := len(bins.Upper) - 1
		at := min(sizing.Bins(bins.Upper).Index(bytes(gibs)), last)
		hit += bins.Probabilities[at] / tries
		above := 1.0 // P(peak > the edge), from the probabilities of the bins
		q.Above = 1  // after a kill at one byte, Risk does not use the experts' promise
		for i, edge := range bins.Upper[:last] {
			above -= bins.Probabilities[i]
			// The probabilities are not equal, because the bins use all experts with trees, and Risk uses the selected experts.
			assert.InDelta(t, *k.model.Risk(q, edge), above, 0.15)
			expected, variance = expected+above, variance+above*(1-above)
			if at > i {
				actual++
			}
		}
	}
	assert.Greater(t, hit, 0.5, "mean probability of the bin of the peak")
	assert.InDelta(t, actual, expected, 3*math.Sqrt(variance)+0.02*tries, "number of peaks above the edges, and the sum of their probabilities")
}

func TestGuardWidensAmounts(t *testing.T) {
	for _, n := range []int{5, 100} {
		k, rng := trainedTask(t, growing, 14, n)
		f, _ := growing(rng)
		q := question(f)
		before := k.model.Size(q)
		q.GuardFactor = 1.5
		after := k.model.Size(q)
		assert.InDelta(t, 1.5*float64(before.Limit), float64(after.Limit), 3*float64(sizing.MiB))
		assert.LessOrEqual(t, *after.Promised, *before.Promised)
		assert.Contains(t, after.Reason, "widened by 50 %")
	}
}

func TestGrantsAreRoundedUpToTheBins(t *testing.T) {
	k, rng := trainedTask(t, growing, 11, 100)
	edges := sizing.Bins{gib, 2 * gib, 4 * gib, 8 * gib, 64 * gib}
	for range 50 {
		f, _ := growing(rng)
		q := question(f)
		free := k.model.Size(q).Limit
		q.Edges = edges
		s := k.model.Size(q)
		assert.Equal(t, edges[edges.Index(free)], s.Limit, "the edge above %s", free.Approx())
		for _, rung := range s.Ladder {
			assert.Contains(t, edges, rung)
		}
	}
}

func TestReasonSaysThatAGrantIsAboveTheBins(t *testing.T) {
	k, rng := trainedTask(t, growing, 11, 100)
	f, _ := growing(rng)
	q := question(f)
	for _, edge := range []sizing.Bytes{64 * sizing.MiB, 64 * gib} {
		q.Edges = sizing.Bins{32 * sizing.MiB, edge}
		s := k.model.Size(q)
		assert.Equal(t, s.Limit > edge, strings.Contains(s.Reason, "; above the largest of the task's bins, 64Mi"), s.Reason)
	}
}

func TestCPUFollowsUse(t *testing.T) {
	for name, c := range map[string]struct {
		used, want sizing.Cores
	}{
		"a single thread gets one core":         {1.1, 1},
		"a parallel task gets its use":          {3.6, 3.75},
		"an idle task gets a quarter of a core": {0.05, 0.25},
	} {
		k := newTask(t)
		for i := range 20 {
			r := measuredRun(1)
			r.CPUMax = c.used * sizing.Cores(1-0.01*float64(i%2))
			k.report(nil, r)
			if i < 4 {
				assert.Zero(t, k.model.Size(question(nil)).CPU, "four runs must be too few")
			}
		}
		assert.Equal(t, c.want, k.model.Size(question(nil)).CPU, name)
	}
}

// A rule without features would grant eight cores to every run.
func TestCPUFollowsTheFeatures(t *testing.T) {
	for name, feature := range map[string]func(workers float64) sizing.Value{
		"a number":   sizing.NumberValue,
		"a category": func(workers float64) sizing.Value { return sizing.TextValue(fmt.Sprint(workers, " workers")) },
	} {
		k, rng := newTask(t), rand.New(rand.NewPCG(21, 0))
		predict := func(workers float64) sizing.Cores {
			return k.model.Size(question(sizing.Features{"workers": feature(workers)})).CPU
		}
		for i := range 120 {
			workers := float64(2 + 2*rng.IntN(4))
			r := measuredRun(1)
			r.CPUMax = 0
			if i%10 > 0 {
				r.CPUMax = sizing.Cores(workers * (0.9 + 0.1*rng.Float64()))
			}
			k.report(sizing.Features{"workers": feature(workers)}, r)
		}
		k.fit()
		assert.InDelta(t, 2.1, float64(predict(2)), 0.2, name)
		assert.InDelta(t, 8.1, float64(predict(8)), 0.3, name)
	}
}

// If no feature explains the CPU use, the grant is its 99th percentile, rounded up.
func TestCPUIgnoresIrrelevantFeatures(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(22, 0))
	for range 300 {
		r := measuredRun(1)
		r.CPUMax = sizing.Cores(2 + 2*rng.Float64())
		k.report(sizing.Features{"noise": sizing.NumberValue(rng.Float64())}, r)
	}
	k.fit()
	for range 20 {
		assert.Equal(t, sizing.Cores(4), k.model.Size(question(sizing.Features{"noise": sizing.NumberValue(rng.Float64())})).CPU)
	}
}

func TestDurationIsPredicted(t *testing.T) {
	k, rng := trainedTask(t, growing, 12, 100) // all runs take two minutes
	f, _ := growing(rng)
	d := k.model.Size(question(f)).Duration
	require.NotNil(t, d)
	assert.InDelta(t, 120, d.Median.Seconds(), 2)
	assert.InDelta(t, 120, d.P95.Seconds(), 5)
}

// Run with -race if cgo is available.
func TestSizeIsSafeForConcurrentUse(t *testing.T) {
	k, rng := trainedTask(t, growing, 13, 150)
	questions, want := make([]taskmodel.Question, 40), make([]taskmodel.Answer, 40)
	for i := range questions {
		f, gibs := growing(rng)
		questions[i] = question(f)
		if i%3 == 0 {
			questions[i].Above = bytes(gibs)
		}
		want[i] = k.model.Size(questions[i])
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 5 {
				for i, q := range questions {
					assert.Equal(t, want[i], k.model.Size(q))
				}
			}
		})
	}
	wait.Wait()
}

func TestReportsWithoutARunTimeDoNotChangeRunTimes(t *testing.T) {
	for name, isUnknown := range map[string]func(i, n int) bool{
		"the first":   func(i, _ int) bool { return i == 0 },
		"the last":    func(i, n int) bool { return i == n-1 },
		"every third": func(i, _ int) bool { return i%3 == 2 },
	} {
		for _, n := range []int{12, 60} {
			k := newTask(t)
			for i := range n {
				f := sizing.Features{"n": sizing.NumberValue(float64(i % 7))}
				r := sizing.HistoryRow{Outcome: sizing.Success, MemoryMax: gib + sizing.Bytes(i)*sizing.MiB, Duration: time.Hour}
				if isUnknown(i, n) {
					r.Duration = 0
				}
				k.report(f, r)
			}
			k.fit()
			d := k.model.Size(question(sizing.Features{"n": sizing.NumberValue(3)})).Duration
			require.NotNil(t, d)
			assert.InEpsilon(t, time.Hour, d.Median, 0.02, "%s of %d reports", name, n)
			assert.Less(t, d.P99, 3*time.Hour, "%s of %d reports", name, n)
		}
	}
}
