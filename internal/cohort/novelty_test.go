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

// teamDAGs returns the rows of n DAGs. Each DAG has ten tasks and a scale of its own, and no task has the name of another.
func teamDAGs(n int, prefix string, r *rand.Rand) []Row {
	var rows []Row
	for dag := range n {
		scale := 2e9 * math.Exp(r.NormFloat64())
		for task := range 10 {
			key := sizing.TaskKey{Namespace: "n", DAG: fmt.Sprint(prefix, dag), Task: fmt.Sprintf("%s%d-%d", prefix, dag, task)}
			peak := scale * math.Exp(0.4*r.NormFloat64())
			for range 4 {
				rows = append(rows, Row{Facts: Facts{Task: key}, Peak: peak * math.Exp(0.1*r.NormFloat64())})
			}
		}
	}
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// firstRuns returns the first row of each task.
func firstRuns(rows []Row) (first []Row) {
	seen := map[sizing.TaskKey]bool{}
	for _, r := range rows {
		if !seen[r.Task] {
			first = append(first, r)
		}
		seen[r.Task] = true
	}
	return first
}

// newSteps returns a row for each of salesSteps, in a known DAG and under a new name.
func newSteps(r *rand.Rand) (rows []Row) {
	for i, s := range salesSteps {
		row := s.run(fmt.Sprint("sales", i), r)
		row.Task.Task = "other_" + s.name
		rows = append(rows, row)
	}
	return rows
}

func TestFewTasksOfNewDAGsOrWithNewNamesAreKilled(t *testing.T) {
	for name, c := range map[string]struct {
		known  func(r *rand.Rand) []Row
		unseen func(r *rand.Rand) []Row
	}{
		"new DAGs of other scales":                {func(r *rand.Rand) []Row { return teamDAGs(6, "team", r) }, func(r *rand.Rand) []Row { return firstRuns(teamDAGs(8, "other", r)) }},
		"new names, errors of a cross-validation": {func(*rand.Rand) []Row { return salesDAGs(12, salesSteps) }, newSteps},
		"new names, errors on unseen tasks":       {func(*rand.Rand) []Row { return salesDAGs(30, salesSteps) }, newSteps},
	} {
		t.Run(name, func(t *testing.T) {
			kills, promised := 0.0, 0.0
			for seed := range uint64(3) {
				r := rand.New(rand.NewPCG(seed, 7))
				m := Fit(c.known(r))
				require.NotNil(t, m)
				blob, err := m.MarshalBinary()
				require.NoError(t, err)
				stored, err := Open(blob)
				require.NoError(t, err)
				for _, row := range c.unseen(r) {
					a, ok := m.Size(question(&row))
					require.True(t, ok)
					kills += indicator(row.Peak > float64(a.Limit))
					promised += a.Promised
					b, _ := stored.Size(question(&row))
					assert.Equal(t, a, b)
				}
			}
			assert.LessOrEqual(t, kills, promised+3*math.Sqrt(promised))
		})
	}
}

func TestWideningComparesTheErrorsOnNewTasksWithAllErrors(t *testing.T) {
	errorsOf := func(n int, size float64) (errors []weightedError) {
		for range n {
			errors = append(errors, weightedError{size, 1})
		}
		return errors
	}
	all := errorsOf(100, 0.5)
	w := wideningOf(all, &[novelties][]weightedError{newDAG: errorsOf(1000, 2), newName: errorsOf(1000, 0.1)}, widening{})
	assert.InDelta(t, 4, w[newDAG], 0.1)
	assert.Less(t, w[newName], 1.0)
	assert.InDelta(t, w[newDAG], w[newDAG|newName], 1e-9, "the DAG is new, too")
	few := wideningOf(all, &[novelties][]weightedError{newDAG: errorsOf(5, 2)}, widening{newDAG: 3, newName: 2})
	assert.InDelta(t, 3, few[newDAG], 1e-9, "with five errors, the factor is at least the one before")
	assert.InDelta(t, 2, few[newName], 1e-9)
	assert.Equal(t, few, wideningOf(errorsOf(100, 0), &[novelties][]weightedError{}, few), "errors of 0 say nothing")

	lists := few.lists(newErrorList(all))
	assert.Equal(t, all, lists[0].errors)
	assert.InDelta(t, 1.5, lists[newDAG].errors[0].Error, 1e-9)
	for _, factor := range []float64{math.NaN(), math.Inf(1), -1} {
		assert.False(t, (&widening{1, factor}).isValid())
	}
}
