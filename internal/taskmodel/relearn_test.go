package taskmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// growingRenamed draws runs of growing. The runs before `from` send the feature under the name `before`, and the others under
// the name `after`; with an empty name they do not send it. All runs have a feature that is always the same.
func growingRenamed(rng *rand.Rand, run, from int, before, after string) (sizing.Features, float64) {
	f, gibs := growing(rng)
	name := before
	if run >= from {
		name = after
	}
	sent := sizing.Features{"env": sizing.TextValue("prod")}
	if name != "" {
		sent[name] = f["rows"]
	}
	return sent, gibs
}

// runInOrder returns the sums of the grants and of the peaks of the last `counted` runs, in GiB.
func (k *task) runInOrder(n, counted int, draw func(run int) (sizing.Features, float64)) (granted, used float64) {
	for run := range n {
		f, gibs := draw(run)
		if run >= n-counted {
			granted, used = granted+float64(k.model.Size(question(f)).Limit)/float64(gib), used+gibs
		}
		k.reportSuccess(f, gibs)
		if k.model.IsFitDue() {
			m, _, err := taskmodel.Update(&k.history, k.model)
			require.NoError(k.t, err)
			if m != nil {
				k.model = m
			}
		}
	}
	return granted, used
}

// A task whose decisive feature is renamed, or sent for the first time, soon gets grants like those of a new task.
func TestNewDecisiveFeatureIsSoonUsed(t *testing.T) {
	const seeds, counted = 4, 10
	sum := func(known, since int, before string) float64 {
		granted, used := 0.0, 0.0
		for seed := range uint64(seeds) {
			k, rng := newTask(t), newRand(300+seed)
			g, u := k.runInOrder(known+since, counted, func(run int) (sizing.Features, float64) { return growingRenamed(rng, run, known, before, "n_rows") })
			granted, used = granted+g, used+u
		}
		return granted / used
	}
	fresh := sum(0, 24, "")
	for _, known := range []int{60, 250} {
		assert.Less(t, sum(known, 24, "rows"), 1.2*fresh, "renamed after %d runs", known)
		assert.Less(t, sum(known, 40, ""), 1.4*fresh, "first sent after %d runs", known)
	}
}

func TestNewFeatureWithoutInfluenceKeepsTheModel(t *testing.T) {
	for name, draw := range generators {
		k, rng := newTask(t), newRand(310)
		k.runInOrder(140, 0, func(run int) (sizing.Features, float64) {
			f, gibs := draw(rng)
			if run >= 100 {
				f["new"] = sizing.NumberValue(float64(rng.IntN(1000)))
			}
			return f, gibs
		})
		assert.Zero(t, k.model.Relearned, name)
		assert.Equal(t, 140, k.model.Experts.LearnedRows, name)
	}
}

// A kill before the first relearned row (Model.Relearned) still raises the grants of runs with the same features.
func TestKnownKillsStayAfterRelearning(t *testing.T) {
	k, rng := newTask(t), newRand(315)
	old := sizing.Features{"env": sizing.TextValue("prod"), "rows": sizing.NumberValue(4000)}
	k.runInOrder(130, 0, func(run int) (sizing.Features, float64) {
		if run == 90 {
			k.report(old, killed(20))
		}
		return growingRenamed(rng, run, 100, "rows", "n_rows")
	})
	require.NotZero(t, k.model.Relearned)
	assert.Greater(t, limit(k, old), 20.0)
}

// Late trainings replace the model by a fresh one after the same row as trainings on time, and a further training keeps the fresh
// model.
func TestLateTrainingsRelearnAtTheSameRow(t *testing.T) {
	const rows = 150
	k, rng := newTask(t), newRand(320)
	for run := range rows {
		f, gibs := growingRenamed(rng, run, 100, "rows", "n_rows")
		k.row(f, measuredRun(gibs))
	}
	run := func(every int) []byte {
		s := schedule{t: t, history: k.history}
		for n := every; n < rows; n += every {
			s.train(n, taskmodel.Update)
		}
		s.train(rows, taskmodel.Update)
		return s.blob
	}
	onTime := run(1)
	assert.Equal(t, onTime, run(7))
	assert.Equal(t, onTime, run(70))
	m := reopen(t, onTime)
	require.Equal(t, int64(101), m.Relearned)
	require.Equal(t, 50, m.Experts.LearnedRows)
	again, outcome, err := taskmodel.Fit(&k.history, m)
	require.NoError(t, err)
	require.NotNil(t, again)
	assert.Equal(t, 50, again.Experts.LearnedRows)
	assert.Contains(t, outcome.Reason, "learned from 50 runs since a new feature appeared")
}

// The instances of one DAG run do not replace the model, however many they are: their peaks have a common cause.
func TestInstancesOfOneDAGRunDoNotReplaceTheModel(t *testing.T) {
	for _, instances := range []int{4, 40} {
		k, rng := newTask(t), newRand(330)
		report := func(dagRun, n int, name string) {
			var features []sizing.Features
			var peaks []float64
			for range n {
				f, gibs := growing(rng)
				features, peaks = append(features, sizing.Features{name: f["rows"]}), append(peaks, gibs)
			}
			k.reportMapped(dagRun, features, peaks)
		}
		for dagRun := range 20 {
			report(dagRun, instances, "rows")
			k.fit()
		}
		report(20, 2*instances, "n_rows")
		k.fit()
		assert.Zero(t, k.model.Relearned)
		for dagRun := 21; dagRun < 26; dagRun++ {
			report(dagRun, instances, "n_rows")
			k.fit()
		}
		assert.NotZero(t, k.model.Relearned, "%d instances", instances)
	}
}
