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

// habitRequestRow returns a row of task i, whose request is set out of habit: it does not depend on the peak.
func habitRequestRow(i int, r *rand.Rand) Row {
	row := task(i, r)
	row.Requested.Memory = sizing.Bytes(1e9 * (1 + 15*r.Float64()))
	return row
}

// measured returns a row of DAG "measured", in which somebody has set the requests by measured peaks: a task uses a fifth of
// its request. No other fact predicts the peak.
func measured(i int, requested sizing.Bytes, r *rand.Rand) Row {
	return Row{
		Facts: Facts{
			Task:      sizing.TaskKey{Namespace: "n", DAG: "measured", Task: fmt.Sprint("step", i)},
			Requested: sizing.Resources{Memory: requested},
		},
		Peak: float64(requested) / 5 * math.Exp(0.1*r.NormFloat64()),
	}
}

// twoDAGs returns rows of 300 tasks of one DAG, and then rows of n tasks of DAG "measured".
func twoDAGs(n int) []Row {
	r := rand.New(rand.NewPCG(7, 3))
	var rows []Row
	for i := range 300 {
		rows = append(rows, habitRequestRow(i, r))
	}
	for i := range n {
		rows = append(rows, measured(i, sizing.Bytes(1e9*(1+15*r.Float64())), r))
	}
	return rows
}

func TestATaskIsComparedWithTheTasksOfItsDAGFirst(t *testing.T) {
	for _, tasks := range []int{14, 30} { // 14 tasks are too few for trees (MinTasks), so the ratios of peak to request in the DAG size the task; with 30 tasks, its trees do
		rows := twoDAGs(tasks)
		unseen := measured(1000, 8e9, rand.New(rand.NewPCG(8, 3)))
		l := NewLearner()
		for i := range rows {
			l.Add(rows[i])
		}
		for name, m := range map[string]*Model{"stream": l.Model(), "training": Fit(rows)} {
			a, ok := m.Size(question(&unseen))
			require.True(t, ok, name)
			assert.Greater(t, a.Limit, sizing.Bytes(1.6e9), name)
			assert.Less(t, a.Limit, sizing.Bytes(6e9), name)
			assert.Contains(t, a.Reason, "tasks of this DAG", name)
			assert.LessOrEqual(t, a.Tasks, tasks, name)
			assert.Contains(t, a.Reason, fmt.Sprintf("from %d tasks, %d runs", a.Tasks, a.Runs), name)
		}
	}
}

// similarTaskRows returns six rows for each of n tasks, in DAGs of eight tasks. Every task uses about a tenth of its request,
// whatever its DAG.
func similarTaskRows(n int, r *rand.Rand) []Row {
	var rows []Row
	for i := range n {
		requested := sizing.Bytes(10e9 * math.Exp(3*r.Float64()-1))
		for range 6 {
			row := rowWithRatio(i, requested, 0.1*math.Exp(0.2*r.NormFloat64()))
			row.Task.DAG = fmt.Sprint("dag", i%(n/8))
			rows = append(rows, row)
		}
	}
	return rows
}

// The model of a DAG of a few tasks predicts them well, but its margin is wide because it knows few tasks. If the DAG is
// like the others, a new task gets about as little memory as a task of an unknown DAG.
func TestADAGLikeTheOthersIsSizedByTheNamespace(t *testing.T) {
	for seed := range uint64(2) {
		rows := similarTaskRows(64, rand.New(rand.NewPCG(seed, 5)))
		for name, m := range map[string]*Model{"stream": learned(rows...).Model(), "training": Fit(rows)} {
			elsewhere := rowWithRatio(1000, 20e9, 0.1)
			want, ok := m.Size(question(&elsewhere))
			require.True(t, ok)
			wide := 0
			for dag := range 8 {
				row := elsewhere
				row.Task.DAG = fmt.Sprint("dag", dag)
				a, ok := m.Size(question(&row))
				require.True(t, ok)
				if float64(a.Limit) > 1.4*float64(want.Limit) {
					wide++
				}
			}
			assert.LessOrEqual(t, wide, 1, "%s, seed %d: at most one DAG has a much larger grant, because by chance its tasks needed more than the namespace granted", name, seed)
		}
	}
}

// A kill costs more than the memory that the killed grant wastes, but a single kill among few answers does not decide.
func TestTheCostOfHypotheticalAnswers(t *testing.T) {
	of := func(limit, risk float64, peaks ...float64) float64 {
		var s answerTotals
		for _, p := range peaks {
			s.add(hypotheticalAnswer{limit: limit, level: 1, risk: risk}, p)
		}
		return s.cost()
	}
	price := 1 / (expectedRisk * sizing.DefaultRiskTarget)
	assert.InEpsilon(t, 1+price*0.02*promisedTasks/(4+promisedTasks), of(2, 0.02, 1, 1, 1, 1), 1e-9)
	assert.Less(t, of(1.7, 0.02, 1, 1, 1, 1, 1, 1, 1, 1), of(4, 0.035, 1, 1, 1, 1, 1, 1, 1, 1))
	assert.Less(t, of(1.7, 0.02, 2, 1, 1, 1, 1, 1, 1, 1), of(4, 0.035, 2, 1, 1, 1, 1, 1, 1, 1), "with one kill among eight, the smaller limit costs less")
	assert.Greater(t, of(1.7, 0.02, 2, 2, 2, 1, 1, 1, 1, 1), of(4, 0.035, 2, 2, 2, 1, 1, 1, 1, 1), "with three kills among eight, it costs more")
}

func TestRequestAboveThoseOfTheNamespaceIsComparedWithItsDAG(t *testing.T) {
	rows := twoDAGs(14)
	m := Fit(rows)
	unseen := measured(1000, 400e9, rand.New(rand.NewPCG(8, 3)))
	a, ok := m.Size(question(&unseen))
	require.True(t, ok)
	assert.Less(t, a.Limit, sizing.Bytes(300e9))
	assert.Greater(t, a.Limit, sizing.Bytes(80e9))
}

// The namespace answers first for a DAG that is like the others. If a
// request is more than maxRequestRatio times the largest learned one, the DAG answers first.
func TestAnswerNamesTheTasksOfTheModelThatAnswered(t *testing.T) {
	m := Fit(similarTaskRows(64, rand.New(rand.NewPCG(0, 5))))
	for dag := range 8 {
		unseen := rowWithRatio(1000, 900e9, 0.1)
		unseen.Task.DAG = fmt.Sprint("dag", dag)
		a, ok := m.Size(question(&unseen))
		require.True(t, ok)
		assert.Contains(t, a.Reason, "tasks of this DAG")
		assert.Equal(t, 8, a.Tasks)
		assert.Equal(t, 48, a.Runs)
	}
}

func TestSingleDAGHasNoModelOfItsOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 3))
	var rows []Row
	for i := range 60 {
		rows = append(rows, task(i, r))
	}
	assert.Empty(t, Fit(rows).dags)
}

func TestKillsRaiseTheNextGrantOfTheirDAG(t *testing.T) {
	m := Fit(twoDAGs(40))
	unseen := measured(1000, 8e9, rand.New(rand.NewPCG(8, 3)))
	before, ok := m.Size(question(&unseen))
	require.True(t, ok)
	require.True(t, before.ofDAG)
	for i := range 6 {
		killed := measured(2000+i, 8e9, rand.New(rand.NewPCG(11, 3)))
		killed.Killed, killed.Peak = true, 3*float64(before.Limit)
		m = m.Learn(&killed, m.Level(&killed.Facts))
	}
	after, ok := m.Size(question(&unseen))
	require.True(t, ok)
	assert.Greater(t, after.Limit, before.Limit)
	other := habitRequestRow(1000, rand.New(rand.NewPCG(9, 3)))
	_, ok = m.Size(question(&other))
	assert.True(t, ok)
}

func TestStoredModelsOfDAGsGiveTheSameAnswers(t *testing.T) {
	for _, tasks := range []int{14, 30} {
		m := Fit(twoDAGs(tasks))
		blob, err := m.MarshalBinary()
		require.NoError(t, err)
		opened, err := Open(blob)
		require.NoError(t, err)
		again, err := opened.MarshalBinary()
		require.NoError(t, err)
		assert.Equal(t, blob, again)
		for _, requested := range []sizing.Bytes{2e9, 8e9, 400e9} {
			unseen := measured(1000, requested, rand.New(rand.NewPCG(8, 3)))
			q := question(&unseen)
			want, ok := m.Size(q)
			require.True(t, ok)
			got, _ := opened.Size(q)
			assert.Equal(t, want, got)
			explained, ok := m.Explain(&q, &want)
			fromOpened, _ := opened.Explain(&q, &got)
			assert.Equal(t, explained, fromOpened)
			if ok {
				sum := explained.Base
				for _, s := range explained.Steps {
					sum += s.Log
				}
				assert.InDelta(t, math.Log(float64(want.unbounded)), sum, 1e-6)
			}
		}
	}
}

// A training must not publish a model that no replica can open, not even if a DAG has too few tasks for
// trees and these tasks have no requests.
func TestModelsOfTasksWithoutRequestsAreStored(t *testing.T) {
	rows := twoDAGs(6)
	for i := range rows {
		if rows[i].Task.DAG == "measured" {
			rows[i].Requested = sizing.Resources{}
		}
	}
	for name, rows := range map[string][]Row{"beside another DAG": rows, "alone": sixRunsEach(rows[300:])} {
		m := Fit(rows)
		require.NotNil(t, m, name)
		data, err := m.MarshalBinary()
		require.NoError(t, err, name)
		opened, err := Open(data)
		require.NoError(t, err, name)
		unseen := habitRequestRow(1000, rand.New(rand.NewPCG(9, 3)))
		before, ok := m.Size(question(&unseen))
		after, okAfter := opened.Size(question(&unseen))
		require.Equal(t, ok, okAfter, name)
		require.Equal(t, before, after, name)
	}
}

func sixRunsEach(rows []Row) (repeated []Row) {
	for range 6 {
		repeated = append(repeated, rows...)
	}
	return repeated
}
