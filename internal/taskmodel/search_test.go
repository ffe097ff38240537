package taskmodel_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// interaction draws runs whose peak depends on the combination of six of twelve switches. Few runs have the same twelve
// values. The default trees, which use half of the columns in each round, do not learn the 64 levels from a few hundred rows.
func interaction(rng *rand.Rand) (sizing.Features, float64) {
	f, setting := sizing.Features{}, uint64(0)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		on := rng.IntN(2)
		if name <= "f" {
			setting = 2*setting + uint64(on)
		}
		f[name] = sizing.NumberValue(float64(on))
	}
	level := rand.New(rand.NewPCG(setting, 5)).NormFloat64()
	return f, 4 * math.Exp(1.2*level) * noise(rng, 0.03)
}

func searchableTask(t *testing.T, draw generator, n int) *task {
	k, rng := newTask(t), newRand(8)
	for range n {
		f, gibs := draw(rng)
		k.row(f, measuredRun(gibs))
	}
	k.fit()
	return k
}

func (k *task) search() taskmodel.SearchResult {
	found, err := taskmodel.Search(k.t.Context(), &k.history, k.model)
	require.NoError(k.t, err)
	return found
}

func TestSearchImprovesUnsuitableTrees(t *testing.T) {
	t.Parallel()
	k := searchableTask(t, interaction, 600)
	before := blobOf(t, k.model)
	found := k.search()
	require.True(t, found.Evaluation.Passed, found.Evaluation.Reason)
	assert.NotEqual(t, taskmodel.TreeParams{}, found.Trees)
	assert.Equal(t, []int{450, 150}, []int{found.Evaluation.FittedOn, found.Evaluation.Rows})
	require.Len(t, found.Evaluation.Candidates, 3)
	for _, other := range found.Evaluation.Candidates[1:] {
		assert.Less(t, found.Evaluation.Candidates[0].Waste, 0.9*other.Waste, other.Name)
	}
	assert.Equal(t, before, blobOf(t, k.model), "Search must not change the champion")

	m, outcome, err := found.Fit(&k.history, k.model)
	require.NoError(t, err)
	assert.Equal(t, found.Evaluation, outcome.Evaluation)
	assert.Contains(t, outcome.Reason, "better trees")
	back := reopen(t, blobOf(t, m))
	assert.Equal(t, found.Trees, back.Trees)
	k.history.Rows = append(k.history.Rows[:350], k.history.Rows[351:]...) // voided: the task is learned from scratch
	m, _, err = taskmodel.Fit(&k.history, back)
	require.NoError(t, err)
	assert.Equal(t, found.Trees, m.Trees, "later trainings must keep the parameters")
	assert.Equal(t, 599, m.Experts.LearnedRows)
}

// The peaks of `growing` follow a line, and those of `constant` depend on nothing, so other trees cannot be better.
func TestSearchKeepsSuitableTrees(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]generator{"growing": growing, "constant": constant} {
		k := searchableTask(t, draw, 300)
		found := k.search()
		assert.False(t, found.Evaluation.Passed, name)
		assert.Equal(t, found, k.search(), "%s: another search must find the same", name)
		assert.Contains(t, found.Evaluation.Reason, "no better trees", name)
	}
}

func TestSearchNeedsEnoughRuns(t *testing.T) {
	found := searchableTask(t, interaction, 199).search()
	assert.False(t, found.Evaluation.Passed)
	assert.Contains(t, found.Evaluation.Reason, "there are 199")
}

// countedContext is cancelled after a number of calls of Err.
type countedContext struct {
	context.Context
	checks int
}

func (c *countedContext) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

func TestSearchStopsBetweenTwoTrials(t *testing.T) {
	k := searchableTask(t, growing, 200)
	for _, checks := range []int{0, 1, 5} {
		ctx := &countedContext{t.Context(), checks}
		_, err := taskmodel.Search(ctx, &k.history, k.model)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, -1, ctx.checks, "there must be no check and no trial after the cancellation")
	}
}
