package taskmodel_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// schedule trains a stored model like the trainer: with Update in the background, and with Fit if a caller requests a
// training.
type schedule struct {
	t       *testing.T
	history sizing.History
	blob    []byte
}

func (s *schedule) prefix(n int) *sizing.History {
	h := s.history
	h.Rows = h.Rows[:n]
	h.Total, h.LastSeq = n, h.Rows[n-1].Seq
	return &h
}

// train trains on the first n rows, and stores the new model unless it lost its evaluation.
func (s *schedule) train(n int, fit func(*sizing.History, *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error)) {
	var champion *taskmodel.Model
	if s.blob != nil {
		champion = reopen(s.t, s.blob)
	}
	m, outcome, err := fit(s.prefix(n), champion)
	require.NoError(s.t, err)
	if m == nil {
		require.False(s.t, outcome.Evaluation.Passed, outcome.Reason)
		return
	}
	// The evaluations differ, because they run at the first training after they are due.
	m.LastEvaluation = taskmodel.Evaluation{Passed: true, FittedOn: 1 << 30}
	s.blob = blobOf(s.t, m)
}

// Answers must not depend on the load of the machine: a training that starts late gives the same model, byte for byte.
func TestLateTrainingsGiveTheSameModel(t *testing.T) {
	const rows = 230
	every := func(n int) (after []int) {
		for i := n; i < rows; i += n {
			after = append(after, i)
		}
		return append(after, rows)
	}
	for _, name := range []string{"log-linear in size", "two kinds, eightfold"} {
		draw := generators[name]
		k, rng := newTask(t), newRand(71)
		for i := range rows - 3 {
			f, gibs := draw(rng)
			if i%80 == 60 { // a kill, and its retry
				killed := sizing.HistoryRow{Outcome: sizing.OOMKilled, RunID: retriedRun(i), Allocated: sizing.Resources{Memory: bytes(gibs / 2)}}
				k.row(f, killed)
				retry := measuredRun(gibs)
				retry.RunID, retry.Try = retriedRun(i), 2
				k.row(f, retry)
				continue
			}
			k.row(f, measuredRun(gibs))
		}
		require.Len(t, k.history.Rows, rows)
		run := func(background []int) []byte {
			s := schedule{t: t, history: k.history}
			for n := 1; n <= rows; n++ {
				if n == 110 || n == 190 {
					s.train(n, taskmodel.Fit)
				}
				if slices.Contains(background, n) {
					s.train(n, taskmodel.Update)
				}
			}
			return s.blob
		}
		onTime := run(every(2))
		assert.Equal(t, onTime, run(every(17)), name)
		assert.Equal(t, onTime, run(every(90)), name)
		assert.Equal(t, onTime, run([]int{1, 2, 7, 33, 34, 35, 100, 111, 112, 189, rows}), name)
	}
}

func retriedRun(i int) string { return "killed-" + string(rune('a'+i/80)) }

// A fit is due after an eighth more rows, and from 200 rows on after 25 more rows.
func TestFitsFollowRowCounts(t *testing.T) {
	k, rng := newTask(t), newRand(72)
	var fits []int
	for range 460 {
		f, gibs := growing(rng)
		k.reportSuccess(f, gibs)
		if !k.model.IsFitDue() {
			continue
		}
		m, _, err := taskmodel.Update(&k.history, k.model)
		require.NoError(t, err)
		if m != nil {
			k.model = m
			fits = append(fits, m.Experts.LearnedRows)
		}
		assert.False(t, k.model.IsFitDue())
	}
	assert.Equal(t, []int{20, 22, 24}, fits[:3])
	assert.Equal(t, 25, fits[len(fits)-1]-fits[len(fits)-2])
	assert.Less(t, len(fits), 35)
}

// The inputs of the runs of a campaign may be new to the model, so a few reproduced runs make a fit due.
func TestReproducedRunsAreFittedSoon(t *testing.T) {
	k, rng := newTask(t), newRand(74)
	for range 400 {
		f, gibs := growing(rng)
		k.reportSuccess(f, gibs)
	}
	k.fit()
	for n := range 3 { // 3 is 400/reproducedShare, rounded down
		assert.False(t, k.model.IsFitDue(), "%d runs", n)
		f, gibs := growing(rng)
		r := measuredRun(4 * gibs)
		r.RunID = fmt.Sprint(sizing.ReproductionPrefix, n)
		k.report(f, r)
	}
	assert.True(t, k.model.IsFitDue())
	k.fit()
	assert.False(t, k.model.IsFitDue())
}
