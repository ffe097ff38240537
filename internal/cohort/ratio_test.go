package cohort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// rowWithRatio returns a row of task i. `share` is the ratio of peak to request.
func rowWithRatio(i int, requested sizing.Bytes, share float64) Row {
	return Row{
		Facts: Facts{Task: sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("task", i)}, Requested: sizing.Resources{Memory: requested}},
		Peak:  share * float64(requested),
	}
}

func learned(rows ...Row) *Learner {
	l := NewLearner()
	for i := range rows {
		l.Add(rows[i])
	}
	return l
}

func TestARequestAboveAllOthersIsSizedByItsRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l := NewLearner()
	for i := range 40 {
		l.Add(rowWithRatio(i, 6e9, 0.05*math.Exp(0.5*r.NormFloat64())))
	}
	row := rowWithRatio(100, 400e9, 0.05)
	require.False(t, l.Model().CanSize(row.Facts), "the trees must not size a request far above all known ones")
	a, ok := l.Model().Size(question(&row))
	require.True(t, ok)
	assert.Greater(t, float64(a.Limit), 1.8*0.05*400e9, "the answer must be clearly above the typical share, because one task in twelve needs more than twice this share")
	assert.Less(t, a.Limit, sizing.Bytes(100e9))
	assert.LessOrEqual(t, a.Promised, maxRisk*sizing.DefaultRiskTarget)
	assert.GreaterOrEqual(t, a.Promised, minRisk*sizing.DefaultRiskTarget-1e-6)
	assert.InEpsilon(t, 0.05*400e9, float64(a.Level), 0.2)
	assert.Contains(t, a.Reason, "of its request")

	q := question(&row)
	q.RiskTarget = 0.002
	safer, ok := l.Model().Size(q)
	require.True(t, ok)
	assert.Greater(t, safer.Limit, a.Limit)
	q = question(&row)
	q.Floor = 500e9
	_, ok = l.Model().Size(q)
	assert.False(t, ok, "with a floor above the request there must be no answer, because nothing is saved")
	row.Requested.Memory = 0
	_, ok = l.Model().Size(question(&row))
	assert.True(t, ok, "the trees must answer for a task without a request")
}

func TestRatiosThatDisagreeKeepTheRequest(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	l := NewLearner()
	for i := range 40 {
		l.Add(rowWithRatio(i, 6e9, 0.5*math.Exp(r.NormFloat64())))
	}
	row := rowWithRatio(100, 400e9, 0.3)
	_, ok := l.Model().Size(question(&row))
	assert.False(t, ok)
}

func TestTheLargestRatioOfATaskCounts(t *testing.T) {
	var rows []Row
	for i := range 40 {
		rows = append(rows, rowWithRatio(i, 6e9, 0.04), rowWithRatio(i, 6e9, 0.08), rowWithRatio(i, 6e9, 0.02))
	}
	ratios := learned(rows...).ratios()
	assert.Equal(t, 40, ratios.Tasks)
	assert.InDelta(t, math.Log(0.08), ratios.Mean, 1e-9)
	assert.InDelta(t, 0, ratios.Squares, 1e-9)
}

// The number of kills does not clearly exceed the sum of the promised risks, although the spread of the ratios is
// estimated from few tasks.
func TestAnswersByRatiosAreNotKilledMoreOftenThanPromised(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	sized, kills, promised := 0, 0, 0.0
	for range 400 {
		l, spread := NewLearner(), 0.2+r.Float64()
		n := minRatioTasks + r.IntN(30)
		for i := range n {
			for range 3 { // enough runs for a model
				l.Add(rowWithRatio(i, 6e9, 0.05*math.Exp(spread*r.NormFloat64())))
			}
		}
		share := 0.0
		for range 3 {
			share = max(share, 0.05*math.Exp(spread*r.NormFloat64()))
		}
		row := rowWithRatio(1000, 400e9, share)
		if a, ok := l.Model().Size(question(&row)); ok {
			sized++
			promised += a.Promised
			if float64(a.Limit) < row.Peak {
				kills++
			}
		}
	}
	assert.Greater(t, sized, 300)
	assert.LessOrEqual(t, float64(kills), promised+3*math.Sqrt(promised))
}

// If the ratios of a few tasks are similar, the estimated deviation is small, and so is the granted share.
func TestFewTasksThatAgreeGiveASmallShareOfTheRequest(t *testing.T) {
	for _, c := range []struct {
		tasks          int
		typical, share float64 // of the request
	}{{5, 0.07, 0.25}, {10, 0.07, 0.2}, {14, 0.07, 0.18}, {14, 0.2, 0.6}} {
		l := NewLearner()
		for i := range c.tasks {
			for range 3 { // the ratios go from 0.7 to 1.4 of the typical one
				l.Add(rowWithRatio(i, 64e9, c.typical*math.Exp2(float64(2*i+1)/float64(c.tasks)/2-0.5)))
			}
		}
		row := rowWithRatio(100, 64e9, c.typical)
		a, ok := l.Model().Size(question(&row))
		require.True(t, ok, "%+v", c)
		assert.Less(t, float64(a.Limit), c.share*64e9, "%+v", c)
		assert.Greater(t, float64(a.Limit), 1.4*c.typical*64e9, "%+v: the grant must be above the largest known ratio", c)
	}
}

// Of each 33 tasks, one needs six times as much as the others. A namespace of a few tasks often does not show such a task.
func TestAnswersByRatiosAllowForTasksOfAnotherKind(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 2))
	sized, kills, promised := 0, 0, 0.0
	share := func() float64 {
		share := 0.07 * math.Exp(0.2*r.NormFloat64())
		if r.IntN(33) == 0 {
			share *= 6
		}
		return share
	}
	for range 1500 {
		l := NewLearner()
		for i := range minRatioTasks + r.IntN(MinTasks-minRatioTasks) {
			row := rowWithRatio(i, 64e9, share())
			for range 3 {
				l.Add(row)
			}
		}
		row := rowWithRatio(1000, 64e9, share())
		if a, ok := l.Model().Size(question(&row)); ok {
			sized++
			promised += a.Promised
			kills += int(indicator(float64(a.Limit) < row.Peak))
		}
	}
	assert.Greater(t, sized, 1000)
	assert.LessOrEqual(t, float64(kills), promised+3*math.Sqrt(promised))
}

// With a large risk target, the granted share is not clearly below the typical ratio.
func TestAnswerByRatiosAtALargeRiskTarget(t *testing.T) {
	for _, target := range []float64{0.25, 0.5} {
		var rows []Row
		for i := range 6 {
			rows = append(rows, rowWithRatio(i, 64e9, 0.07), rowWithRatio(i, 64e9, 0.07), rowWithRatio(i, 64e9, 0.07))
		}
		row := rowWithRatio(100, 64e9, 0.07)
		q := question(&row)
		q.RiskTarget = target
		a, ok := learned(rows...).Model().Size(q)
		require.True(t, ok, "%g", target)
		assert.Greater(t, float64(a.Limit), 0.069*64e9, "%g", target)
	}
}

// After a kill, the risk is conditional: only the part of the distribution of ratios counts that is above the killed
// allocation divided by the request of the killed task.
func TestAKillRaisesAShareOfTheRequest(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	l := NewLearner()
	for i := range 40 {
		l.Add(rowWithRatio(i, 6e9, 0.05*math.Exp(0.5*r.NormFloat64())))
	}
	m, row := l.Model(), rowWithRatio(100, 400e9, 0.05)
	q := question(&row)
	before, ok := m.Size(q)
	require.True(t, ok)
	q.Killed = before.Level
	after, ok := m.Size(q)
	require.True(t, ok)
	assert.Greater(t, after.Limit, before.Limit)
	assert.LessOrEqual(t, after.Promised, m.promise(maxRisk*q.RiskTarget))
	assert.Contains(t, after.Reason, "with a peak above the killed 2")
	next := m.ratios.next()
	exceeds := func(b sizing.Bytes) float64 { return next.exceeds(float64(b) / 400e9) }
	assert.InEpsilon(t, m.promise(exceeds(after.Limit)/exceeds(q.Killed)), after.Promised, 1e-6)
	q.Killed = 390e9
	_, ok = m.Size(q)
	assert.False(t, ok, "the model must not answer, because only the whole request is likely to be enough")
}

// After a kill at 80 % of the answer, the next run of the task is not killed more often than promised either.
func TestAnswersByRatiosAfterAKillKeepTheirPromise(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 2))
	sized, kills, promised := 0, 0, 0.0
	for range 2000 {
		l, spread := NewLearner(), 0.2+r.Float64()
		for i := range minRatioTasks + r.IntN(MinTasks-minRatioTasks) {
			for range 3 {
				l.Add(rowWithRatio(i, 6e9, 0.05*math.Exp(spread*r.NormFloat64())))
			}
		}
		row := rowWithRatio(1000, 400e9, 0.05)
		q := question(&row)
		before, ok := l.Model().Size(q)
		if q.Killed = before.Limit * 8 / 10; !ok {
			continue
		}
		for range 300 {
			for range 3 {
				row.Peak = max(row.Peak, 400e9*0.05*math.Exp(spread*r.NormFloat64()))
			}
			if row.Peak > float64(q.Killed) {
				break
			}
			row.Peak = 0
		}
		a, ok := l.Model().Size(q)
		if row.Peak == 0 || !ok {
			continue
		}
		sized++
		promised += a.Promised
		kills += int(indicator(float64(a.Limit) < row.Peak))
	}
	assert.Greater(t, sized, 100)
	assert.LessOrEqual(t, float64(kills), promised+3*math.Sqrt(promised))
}

func TestFewTasksAreSizedByTheirRatios(t *testing.T) {
	var rows []Row
	for i := range minRatioTasks {
		for range 3 {
			rows = append(rows, rowWithRatio(i, 64e9, 0.01))
		}
	}
	row := rowWithRatio(100, 64e9, 0.01)
	for n, m := range map[string]*Model{"stream": learned(rows...).Model(), "history": Fit(rows)} {
		require.NotNil(t, m, n)
		require.False(t, m.CanSize(row.Facts), n)
		a, ok := m.Size(question(&row))
		require.True(t, ok, n)
		assert.Less(t, a.Limit, sizing.Bytes(32e9), n)

		blob, err := m.MarshalBinary()
		require.NoError(t, err)
		opened, err := Open(blob)
		require.NoError(t, err)
		again, ok := opened.Size(question(&row))
		require.True(t, ok)
		assert.Equal(t, a, again)
		m.ratios.Squares = math.NaN()
		blob, err = m.MarshalBinary()
		require.NoError(t, err)
		_, err = Open(blob)
		assert.Error(t, err)
	}
	assert.Nil(t, learned(rows[:len(rows)-3]...).Model(), "too few tasks must give no model")
	assert.Nil(t, learned(rows[0], rows[3], rows[6], rows[9], rows[12]).Model(), "too few runs must give no model")
}

// sizedRequestRows returns three rows for each of n tasks. The requests were chosen for the tasks: each fourth request is
// large, the others are small, and all tasks use similar shares of their requests.
func sizedRequestRows(n int, r *rand.Rand) []Row {
	var rows []Row
	for i := range n {
		requested := sizing.Bytes(6e9)
		if i%4 == 3 {
			requested = []sizing.Bytes{36e9, 72e9, 200e9, 400e9}[r.IntN(4)]
		}
		share := 0.1 * math.Exp(0.4*r.NormFloat64())
		for range 3 {
			rows = append(rows, rowWithRatio(i, requested, share*math.Exp(0.1*r.NormFloat64())))
		}
	}
	return rows
}

func TestTreesPredictTheRatioWhereRequestsAreChosen(t *testing.T) {
	rows := sizedRequestRows(30, rand.New(rand.NewPCG(4, 2)))
	m := Fit(rows)
	require.True(t, m.byRequest)
	row := rowWithRatio(100, 100e9, 0.1)
	a, ok := m.Size(question(&row))
	require.True(t, ok)
	assert.Greater(t, a.Limit, sizing.Bytes(8e9))
	assert.Less(t, a.Limit, sizing.Bytes(60e9))

	blob, err := m.MarshalBinary()
	require.NoError(t, err)
	opened, err := Open(blob)
	require.NoError(t, err)
	again, ok := opened.Size(question(&row))
	require.True(t, ok)
	assert.Equal(t, a, again)
	row.Requested.Memory = 0
	_, ok = m.Size(question(&row))
	assert.False(t, ok, "trees that predict the ratio must not size a task without a request")
}

func TestTreesPredictThePeakWhereRequestsDoNotFollowIt(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	var rows []Row
	for i := range 60 {
		row := task(i, r)
		row.Requested.Memory = sizing.Bytes(4e9 * math.Exp(2*r.NormFloat64()))
		rows = append(rows, row)
	}
	assert.False(t, Fit(rows).byRequest)
	rows = append(sizedRequestRows(30, r), rowWithRatio(100, 0, 0))
	rows[len(rows)-1].Peak = 1e9
	assert.False(t, Fit(rows).byRequest, "the trees must predict the peak if one task has no request")
}

// If the trees predict the ratio, no error is recorded for the first run of a task without a request.
func TestFirstRunsWithoutARequestAddNoErrorOfTheRatio(t *testing.T) {
	l := learned(sizedRequestRows(80, rand.New(rand.NewPCG(6, 2)))...)
	require.True(t, l.Model().byRequest)
	before := len(l.errors)
	row := rowWithRatio(100, 0, 0)
	row.Peak, row.Killed = 1e9, true
	l.Add(row)
	row.Killed = false
	l.Add(row)
	assert.Len(t, l.errors, before)
	for _, e := range l.Model().errors {
		require.False(t, math.IsNaN(e.Error) || math.IsInf(e.Error, 0))
	}
}
