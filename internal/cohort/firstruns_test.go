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

// teamTasks returns the rows of the tasks of a team. Each task requests `factor` times its peak, with a scatter of up to
// e^scatter.
func teamTasks(team, tasks, dags int, factor, scatter float64, owner func(i int) string, r *rand.Rand) (rows []Row) {
	for i := range tasks {
		key := sizing.TaskKey{Namespace: "n", DAG: fmt.Sprintf("dag%d-%d", team, i%dags), Task: fmt.Sprintf("task%d-%d", team, i)}
		peak := 3e8 * math.Exp(4*r.Float64())
		request := sizing.Bytes(peak * factor * math.Exp(scatter*(2*r.Float64()-1)))
		for range 5 {
			rows = append(rows, Row{
				Facts: Facts{Task: key, Metadata: sizing.Metadata{"owner": {owner(i)}}, Requested: sizing.Resources{Memory: request}},
				Peak:  peak * math.Exp(0.1*r.NormFloat64()),
			})
		}
	}
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

func knownTeams(r *rand.Rand) []Row {
	return teamTasks(0, 40, 8, 5.5, 0.6, func(i int) string { return fmt.Sprint("team", i%3) }, r)
}

// All known tasks request much more than they need, and the tasks of a new team do not.
func TestAnUnknownTeamMayDifferFromTheKnownOnes(t *testing.T) {
	kills, promised, tasks := 0.0, 0.0, 0.0
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := Fit(knownTeams(r))
		require.NotNil(t, m)
		blob, err := m.MarshalBinary()
		require.NoError(t, err)
		stored, err := Open(blob)
		require.NoError(t, err)
		for _, row := range firstRuns(teamTasks(1, 8, 8, 2, 0, func(int) string { return "new" }, r)) {
			a, ok := m.Size(question(&row))
			require.True(t, ok)
			b, _ := stored.Size(question(&row))
			assert.Equal(t, a, b)
			tasks++
			promised += a.Promised
			kills += indicator(row.Peak > float64(a.Limit))

			row.Task, row.Metadata = sizing.TaskKey{Namespace: "n", DAG: "dag0-1", Task: "x"}, sizing.Metadata{"owner": {"team1"}}
			known, ok := m.Size(question(&row))
			require.True(t, ok)
			assert.Less(t, known.Promised, a.Promised)
			assert.Less(t, known.Limit, a.Limit)
		}
	}
	assert.Greater(t, promised/tasks, 0.01)
	assert.Less(t, kills/tasks, 0.3)
}

func TestKillsOfFirstRunsRaiseTheNextPromises(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 12))
	l := NewLearner()
	for _, row := range knownTeams(r) {
		l.Add(row)
	}
	ask := func() Answer {
		row := Row{Facts: Facts{Task: sizing.TaskKey{Namespace: "n", DAG: "dag0-1", Task: "x"}, Metadata: sizing.Metadata{"owner": {"team1"}}, Requested: sizing.Resources{Memory: 8 << 30}}}
		a, ok := l.Model().Size(question(&row))
		require.True(t, ok)
		return a
	}
	before := ask()
	ratio := l.current.killRatio()
	for i := range 4 {
		l.firstRuns.add(&hypotheticalAnswer{limit: 1, risk: 0.01}, float64(2+i))
	}
	l.current = l.current.withErrors(l.current.errors, l)
	assert.Greater(t, l.current.killRatio(), 2*ratio)
	assert.Greater(t, ask().Promised, 1.5*before.Promised)
	assert.Equal(t, ask().Limit, before.Limit)
	for range 100 {
		l.firstRuns.add(&hypotheticalAnswer{limit: 2, risk: 0.01}, 1)
	}
	l.current = l.current.withErrors(l.current.errors, l)
	assert.InDelta(t, 1, l.current.killRatio(), 0.1, "old kills do not count")
}

func TestALearnerFitsAfterAKill(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 12))
	l := NewLearner()
	for _, row := range knownTeams(r) {
		l.Add(row)
	}
	next := teamTasks(1, 2, 1, 2, 0, func(int) string { return "new" }, r)
	l.Add(next[0])
	require.Less(t, l.fittedAt, l.runs)
	next[1].Killed = true
	l.Add(next[1])
	assert.Equal(t, l.runs, l.fittedAt)
}
