package taskmodel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// simulatedDAG is a DAG whose tasks run one after another in each run.
type simulatedDAG struct {
	tasks     []*task
	errors    taskmodel.RunErrors
	deviation []float64 // of the logarithm of the peak, by task: the part that all tasks of a run share, and noise
	shared    []float64 // share of the factor of the run in the deviation, by task: the loading
}

func newDAG(t *testing.T, ablation taskmodel.Ablation, deviation, shared []float64) *simulatedDAG {
	d := &simulatedDAG{deviation: deviation, shared: shared}
	for range deviation {
		k := newTask(t)
		k.model = taskmodel.NewAblated(ablation)
		d.tasks = append(d.tasks, k)
	}
	return d
}

func (d *simulatedDAG) key(i int) sizing.TaskKey {
	return sizing.TaskKey{DAG: "d", Task: fmt.Sprint(i)}
}

func (d *simulatedDAG) setPool(i int) {
	var pool taskmodel.Pool
	for _, k := range d.tasks {
		share := k.model.Pool()
		pool.Add(&share)
	}
	d.tasks[i].model.SetPool(&pool, nil)
}

func (d *simulatedDAG) size(i int, run string) (taskmodel.Answer, float64) {
	d.setPool(i)
	q := question(nil)
	q.RunScore = d.errors.Score(d.key(i), sizing.RunHash(run, sizing.NoMap))
	return d.tasks[i].model.Size(q), q.RunScore
}

func (d *simulatedDAG) report(i int, run string, gibs, score float64) {
	k, r := d.tasks[i], measuredRun(gibs)
	r.RunID, r.RunScore = run, score
	k.report(nil, r)
	if e, ok := k.model.RunError(sizing.RunHash(run, sizing.NoMap)); ok {
		d.errors.Add(d.key(i), sizing.RunHash(run, sizing.NoMap), e)
	}
	k.train()
}

type dagResult struct {
	wasted, used float64 // in GiB
	killed       int
	limits       []sizing.Bytes // of the runs after the first quarter
	product      float64        // sum of run score · factor of the run
	squares      float64        // sum of squared run scores
	shifts       float64        // sum of squared shifts in standard deviations of the task's errors
}

// replay runs the DAG `runs` times. A random generator with the seed draws the factors of the runs and the noise. The result is
// that of the runs after the first quarter.
func (d *simulatedDAG) replay(runs int, seed uint64) (s dagResult) {
	rng := newRand(seed)
	for n := range runs {
		run, factor := fmt.Sprint("run-", seed, "-", n), rng.NormFloat64()
		for i := range d.tasks {
			own := math.Sqrt(1-d.shared[i]*d.shared[i]) * rng.NormFloat64()
			gibs := 2 * math.Exp(d.deviation[i]*(d.shared[i]*factor+own))
			sized, score := d.size(i, run)
			if n >= runs/4 {
				s.add(&sized, gibs)
				s.product, s.squares = s.product+score*factor, s.squares+score*score
				s.shifts += math.Pow(d.tasks[i].model.Loading()*score, 2)
			}
			d.report(i, run, gibs, score)
		}
	}
	return s
}

// replays adds the results of ten DAGs of 30 runs each. There are no more runs, because the run score shifts predictions only
// in the cold start.
func replays(t *testing.T, ablation taskmodel.Ablation, deviation, shared []float64) (sum dagResult) {
	for seed := range uint64(10) {
		s := newDAG(t, ablation, deviation, shared).replay(30, seed)
		sum.wasted, sum.used, sum.killed = sum.wasted+s.wasted, sum.used+s.used, sum.killed+s.killed
		sum.limits = append(sum.limits, s.limits...)
		sum.product, sum.squares, sum.shifts = sum.product+s.product, sum.squares+s.squares, sum.shifts+s.shifts
	}
	return sum
}

func (s *dagResult) add(sized *taskmodel.Answer, gibs float64) {
	limit := float64(sized.Limit) / float64(gib)
	s.limits, s.used = append(s.limits, sized.Limit), s.used+gibs
	if gibs > limit {
		s.killed++
		s.wasted += limit
		return
	}
	s.wasted += limit - gibs
}

func TestTasksOfARunWithACommonFactor(t *testing.T) {
	deviation, shared := []float64{0.3, 0.3, 0.3, 0.3}, []float64{0.9, 0.9, 0.9, 0.9}
	with := replays(t, taskmodel.Ablation{}, deviation, shared)
	without := replays(t, taskmodel.Ablation{NoRunScores: true}, deviation, shared)
	t.Logf("with run scores: %.1f GiB wasted, %d killed; without: %.1f GiB, %d killed", with.wasted, with.killed, without.wasted, without.killed)
	assert.LessOrEqual(t, with.wasted, without.wasted)
	assert.Less(t, 2*with.killed, without.killed)
	// A regression score has the slope 1 in the factor that it estimates.
	assert.InDelta(t, 1, with.product/with.squares, 0.35)
}

// Without a common factor, the loadings and therefore the scores shrink, so that the shifts are a small share of the deviation.
func TestTasksOfARunWithoutACommonFactor(t *testing.T) {
	deviation, shared := []float64{0.3, 0.2, 0.1, 0.3}, make([]float64, 4)
	with := replays(t, taskmodel.Ablation{}, deviation, shared)
	without := replays(t, taskmodel.Ablation{NoRunScores: true}, deviation, shared)
	t.Logf("with run scores: %.1f GiB wasted, %d killed; without: %.1f GiB, %d killed", with.wasted, with.killed, without.wasted, without.killed)
	assert.Less(t, with.wasted, 1.02*without.wasted)
	assert.LessOrEqual(t, with.killed, without.killed)
	shift, change := math.Sqrt(with.shifts/float64(len(with.limits))), meanChange(with.limits, without.limits)
	t.Logf("typical shift: %.3f deviations; mean change of the grants: %.3f", shift, change)
	assert.Less(t, shift, 0.1)
	assert.Less(t, change, 0.03)
}

// The errors of a constant task are tiny, so those of other tasks hardly change its grant.
func TestAConstantTaskInARunWithACommonFactor(t *testing.T) {
	deviation, shared := []float64{0.3, 0.3, 0.0001}, []float64{0.95, 0.95, 0}
	with := replays(t, taskmodel.Ablation{}, deviation, shared)
	without := replays(t, taskmodel.Ablation{NoRunScores: true}, deviation, shared)
	constantOf := func(limits []sizing.Bytes) (constant []sizing.Bytes) {
		for i := 2; i < len(limits); i += 3 {
			constant = append(constant, limits[i])
		}
		return constant
	}
	change := meanChange(constantOf(with.limits), constantOf(without.limits))
	t.Logf("mean change of the grants of the constant task: %.4f", change)
	assert.Less(t, change, 0.025)
}

func meanChange(a, b []sizing.Bytes) (mean float64) {
	for i := range a {
		mean += math.Abs(float64(a[i])/float64(b[i])-1) / float64(len(a))
	}
	return mean
}

// A model that is stored and opened again, and one that a training learned from the history, give the same shifted answer.
func TestRunScoresAreLearnedFromTheHistory(t *testing.T) {
	d := newDAG(t, taskmodel.Ablation{}, []float64{0.3, 0.3}, []float64{0.9, 0.9})
	d.replay(28, 3)
	k := d.tasks[1]
	scratch, _, err := taskmodel.Fit(&k.history, nil)
	require.NoError(t, err)
	k.fit()
	q := question(nil)
	plain := k.model.Size(q).Limit
	q.RunScore = 1.5
	shifted := k.model.Size(q)
	assert.Greater(t, shifted.Limit, plain+plain/10)
	assert.Contains(t, shifted.Reason, "because earlier tasks of the run needed more than predicted")
	assert.InDelta(t, k.model.Pool().ScoreProducts, scratch.Pool().ScoreProducts, 0.2*k.model.Pool().ScoreProducts)
	stored, err := taskmodel.Open(blobOf(t, k.model))
	require.NoError(t, err)
	assert.Equal(t, shifted, stored.Size(q))

	q.RunScore = -1.5
	lower := k.model.Size(q)
	assert.Less(t, lower.Limit, plain)
	assert.Contains(t, lower.Reason, "needed less than predicted")
}

// The terms of an explanation contain the shift. A recorded answer is explained with the shift of its receipt, also after the
// pool of the DAG has changed.
func TestExplanationsNameTheRunScore(t *testing.T) {
	d := newDAG(t, taskmodel.Ablation{}, []float64{0.3, 0.3}, []float64{0.9, 0.9})
	for _, runs := range []int{12, 28} { // in the cold start, and while it ends
		d.replay(runs, uint64(runs))
		d.setPool(1)
		model, q := d.tasks[1].model, question(nil)
		plain := model.Explain(q)
		q.RunScore = 1.2
		sized := model.Size(q)
		assert.InDelta(t, 1.2, taskmodel.RunScore(sized.Guard), 0)
		check := func(e taskmodel.Explanation) {
			product, named := float64(e.Base), 0.0
			for _, term := range e.Terms {
				product *= term.Factor
				if term.Name == "the peaks of earlier tasks of the run" {
					named = term.Factor
				}
			}
			assert.InEpsilon(t, float64(sized.Limit), product, 1e-9)
			assert.Greater(t, named, 1.05)
			assert.Equal(t, plain.Base, e.Base, "the shift is no part of the base")
			assert.InEpsilon(t, named*float64(plain.Expected), float64(e.Expected), 1e-6)
		}
		check(model.Explain(q))
		var changed taskmodel.Pool
		changed.RecordScore(2, 5, 0.3)
		model.SetPool(&changed, nil)
		q.RunScore = 0
		e, ok := model.ExplainRecorded(q, taskmodel.RecordedAnswer{Granted: sized.Limit, Guard: sized.Guard})
		require.True(t, ok)
		check(e)
		_, ok = taskmodel.ExplainReceipt(taskmodel.RecordedAnswer{Granted: sized.Limit, Guard: sized.Guard})
		assert.True(t, ok)
	}
}
