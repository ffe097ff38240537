package cohort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/sizing"
)

// ownerPeaks has the typical peak of the tasks of each owner, in bytes.
var ownerPeaks = []float64{1e9, 4e9, 9e9, 30e9}

// task returns a row of task i. The peak depends on the owner and varies by 20 %.
func task(i int, r *rand.Rand) Row {
	owner := r.IntN(len(ownerPeaks))
	return Row{
		Facts: Facts{
			Task:      sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("task", i)},
			Metadata:  sizing.Metadata{"owner": {fmt.Sprint(owner)}, "job": {fmt.Sprint(i)}, "tags": {"a", fmt.Sprint(i % 3)}},
			Features:  sizing.Features{"plan": sizing.NumberValue(float64(r.IntN(10)))},
			Requested: sizing.Resources{Memory: 16e9},
		},
		Peak: ownerPeaks[owner] * math.Exp(0.2*r.NormFloat64()),
	}
}

func question(r *Row) Question { return Question{Facts: r.Facts, RiskTarget: sizing.DefaultRiskTarget} }

func TestFirstRunsFollowTheMetadata(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := NewLearner()
	var used, wasted, wastedByRequest, promised float64
	kills, sized := 0, 0
	for i := range 600 {
		row := task(i, r)
		if a, ok := l.Model().Size(question(&row)); ok && i >= 200 {
			sized++
			promised += a.Promised
			used += row.Peak
			wastedByRequest += max(0, 16e9-row.Peak)
			if wasted += max(0, float64(a.Limit)-row.Peak); float64(a.Limit) < row.Peak {
				kills++
			}
		}
		l.Add(row)
	}
	assert.Equal(t, 400, sized)
	assert.LessOrEqual(t, float64(kills), max(promised*1.5, promised+3*math.Sqrt(promised)))
	assert.LessOrEqual(t, kills, 20)
	assert.Greater(t, used/(used+wasted), 0.55)
	assert.Less(t, wasted, wastedByRequest)
}

func TestNoAnswerWithoutEnoughTasksOrOutsideTheRange(t *testing.T) {
	var none *Model
	r := rand.New(rand.NewPCG(2, 1))
	row := task(0, r)
	_, ok := none.Size(question(&row))
	assert.False(t, ok)

	l := NewLearner()
	for i := range MinTasks - 1 {
		l.Add(task(i, r))
	}
	assert.Nil(t, l.Model(), "a Learner must have no model while it knows too few tasks")
	for i := range 100 {
		l.Add(task(MinTasks+i, r))
	}
	row.Requested.Memory = 160e9
	_, ok = l.Model().Size(question(&row))
	assert.False(t, ok, "the model must not answer, because no known task requests as much")
}

func TestAnswerIsWithinItsBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	l := NewLearner()
	for i := range 200 {
		l.Add(task(i, r))
	}
	row := task(1000, r)
	q := question(&row)
	free, _ := l.Model().Size(q)
	assert.Zero(t, free.Limit%sizing.MiB)
	q.Cap = free.Limit / 2
	capped, _ := l.Model().Size(q)
	assert.Equal(t, q.Cap, capped.Limit)
	assert.Contains(t, capped.Reason, "covers the errors on tasks without history, lowered to the cap")
	assert.Greater(t, capped.Promised, free.Promised)
	q.Cap, q.Floor = 0, 2*free.Limit
	raised, _ := l.Model().Size(q)
	assert.Equal(t, q.Floor, raised.Limit)
	assert.Contains(t, raised.Reason, "raised to the floor or the next bin")
	q.Floor, q.Edges = 0, sizing.Bins{sizing.GiB, 64 * sizing.GiB}
	edge, _ := l.Model().Size(q)
	assert.Contains(t, q.Edges, edge.Limit)
	q.Edges, q.Requested.Memory = nil, free.Limit/2
	l.Model().Exceeded = 0 // no learned task has exceeded its request
	requested, _ := l.Model().Size(q)
	assert.Equal(t, q.Requested.Memory, requested.Limit)
	assert.Contains(t, requested.Reason, "; the static request is granted, because such tasks rarely exceed theirs; from")
}

// A task that was killed with an allocation needs more than this allocation. Its grant and its promised risk follow from a part
// of the known tasks: those whose ratio of peak to predicted peak exceeds the ratio of the killed allocation to the predicted
// peak of the killed task.
func TestAKilledTaskIsComparedWithTasksThatNeedMore(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	var rows []Row
	for i := range 600 {
		rows = append(rows, task(i, r))
	}
	m := Fit(rows)
	sized, kills, promised := 0, 0, 0.0
	for i := range 3000 {
		row := task(1000+i, r)
		q := question(&row)
		before, ok := m.Size(q)
		require.True(t, ok)
		q.Killed = before.Level
		if row.Peak <= float64(q.Killed) {
			continue
		}
		a, ok := m.Size(q)
		if !ok { // no grant up to the largest one covers enough of these peaks
			require.GreaterOrEqual(t, float64(before.Limit), maxGrantRatio*m.LargestPeak)
			continue
		}
		require.GreaterOrEqual(t, a.Limit, before.Limit)
		require.LessOrEqual(t, a.Promised, maxRisk*q.RiskTarget)
		require.Contains(t, a.Reason, "with a peak above the killed")
		sized++
		promised += a.Promised
		kills += int(indicator(row.Peak > float64(a.Limit)))
	}
	assert.Greater(t, sized, 1000)
	assert.LessOrEqual(t, float64(kills), promised+3*math.Sqrt(promised))

	row := task(1000, r)
	q := question(&row)
	before, _ := m.Size(q)
	q.Killed = before.Limit * 95 / 100
	_, ok := m.Size(q)
	assert.False(t, ok, "the model must not answer, because too few known tasks needed that much more than predicted")
}

func TestKillsRaiseGrantsAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	l := NewLearner()
	for i := range 400 {
		l.Add(task(i, r))
	}
	row := task(1000, r)
	before, ok := l.Model().Size(question(&row))
	require.True(t, ok)
	for i := range 16 { // with this number of killed new tasks, the risk of the present margin is above the largest accepted one (maxRisk)
		killed := task(2000+i, r)
		a, _ := l.Model().Size(question(&killed))
		killed.Killed, killed.Peak = true, 4*float64(a.Limit)
		l.Add(killed)
	}
	after, _ := l.Model().Size(question(&row))
	assert.Greater(t, after.Limit, before.Limit)
	assert.Greater(t, l.Model().riskOf(math.Log(float64(before.Level)), before.Limit), before.Promised)
}

func TestManyMetadataValuesUseBoundedMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = task(i, r)
		for k := range 27 {
			rows[i].Metadata[fmt.Sprint("name", k)] = []string{fmt.Sprintf("%0200d", i*27+k)}
		}
	}
	m := Fit(rows)
	require.NotNil(t, m)
	assert.LessOrEqual(t, len(m.Values), maxValues)
	assert.LessOrEqual(t, m.columns(), maxNumbers+2*maxCategories)
	blob, err := m.MarshalBinary()
	require.NoError(t, err)
	assert.Less(t, len(blob), 5<<20)

	var last []*taskRows
	for i := range 100_000 { // each task has another owner
		last = []*taskRows{{rows: []Row{task(i, r)}}}
		last[0].rows[0].Metadata["owner"] = []string{fmt.Sprint(i)}
		m.learn(last[0])
	}
	assert.Len(t, m.Values, maxValues)
	a, ok := m.Size(question(&last[0].rows[0]))
	assert.True(t, ok, "an owner that was learned after the limit was reached must count as unseen")
	assert.Positive(t, a.Limit)
}

func TestStoredModelGivesTheSameAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	var rows []Row
	for i := range 150 {
		rows = append(rows, task(i, r))
	}
	m, again := Fit(rows), Fit(rows)
	blob, err := m.MarshalBinary()
	require.NoError(t, err)
	same, err := again.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, blob, same, "the same rows must give the same bytes")
	opened, err := Open(blob)
	require.NoError(t, err)
	for i := range 50 {
		row := task(1000+i, r)
		want, _ := m.Size(question(&row))
		got, ok := opened.Size(question(&row))
		require.True(t, ok)
		assert.Equal(t, want, got)
	}
	_, err = Open(blob[:len(blob)/2])
	assert.Error(t, err)
}

// The cost of a margin is the weighted mean, over the errors, of cost.LadderWastage plus the price (here 3) of a kill, if the
// margin is below the error.
func TestCostMatchesTheMeanOverTheErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	errors := make([]weightedError, 500)
	for i := range errors {
		errors[i] = weightedError{1.5 * r.NormFloat64(), 0.1 + r.Float64()}
	}
	m := (&Model{}).withErrors(errors, NewLearner())
	for _, e := range m.errors {
		sum, total := 0.0, 0.0
		for _, other := range m.errors {
			waste, kills := cost.LadderWastage(math.Exp(other.Error), 0, math.Exp(e.Error))
			total += other.Weight
			if sum += other.Weight * waste; kills > 0 {
				sum += other.Weight * 3
			}
		}
		require.InEpsilon(t, sum/total, m.cost(e.Error, 3), 1e-9)
	}
	assert.Zero(t, (&Model{}).weight())
}

func TestOpenRejectsErrorsThatAreNotFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	var rows []Row
	for i := range 50 {
		rows = append(rows, task(i, r))
	}
	m := Fit(rows)
	for _, damaged := range []float64{math.NaN(), math.Inf(1)} {
		m.errors = append(m.errors[:len(m.errors):len(m.errors)], weightedError{damaged, 1})
		blob, err := m.MarshalBinary()
		require.NoError(t, err)
		_, err = Open(blob)
		require.Error(t, err, "the model must be rejected, because its search for a margin would not end")
	}
}

func BenchmarkSize(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 1))
	var rows []Row
	for i := range 800 {
		rows = append(rows, task(i, r))
	}
	fitted := Fit(rows)
	row := task(1000, r)
	for name, m := range map[string]*Model{"fitted": fitted, "max errors": fitted.withErrors(manyErrors(r, MaxRows), NewLearner())} {
		m.LargestPeak = fitted.LargestPeak
		for _, target := range []float64{sizing.DefaultRiskTarget, 0.2} {
			b.Run(fmt.Sprint(name, " ", target), func(b *testing.B) {
				q := question(&row)
				q.RiskTarget = target
				for b.Loop() {
					m.Size(q)
				}
			})
		}
	}
}

func manyErrors(r *rand.Rand, n int) []weightedError {
	errors := make([]weightedError, n)
	for i := range errors {
		errors[i] = weightedError{r.NormFloat64(), 1}
	}
	return errors
}
