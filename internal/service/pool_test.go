package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// erratic reports n runs from run number from on. Their peaks follow no feature and span
// a factor of a thousand.
func (r *replica) erratic(name string, from, n int) {
	r.t.Helper()
	obs := make([]sizing.Observation, n)
	for i := range obs {
		number := from + i
		obs[i] = sizing.Observation{
			Try: try(name, fmt.Sprintf("erratic-%d", number), 1), Outcome: sizing.Success, Duration: 5 * time.Minute,
			MemoryMax: (gib / 64).Times(float64(1 + number*7919%1000)), Allocated: sizing.Resources{Memory: 64 * gib},
			Requested: sizing.Resources{Memory: gib}, Features: rows(float64(number % 3)),
		}
	}
	r.tell(obs...)
}

// answersAlike asks every replica about tasks of the DAG and demands equal answers.
func answersAlike(t *testing.T, msg string, want *replica, others ...*replica) {
	t.Helper()
	for _, other := range others {
		for _, name := range []string{"small", "grown"} {
			for x := 1.0; x <= 9; x += 2 {
				question := ask(name, "")
				question.Features = rows(x)
				same(t, want.answer(question), other.answer(question), fmt.Sprint(msg, ": ", name, " ", x))
			}
		}
	}
}

func TestAnswersFollowWhatSiblingsReportedSince(t *testing.T) {
	r := newReplica(t)
	following := join(t, r.dsn, service.Config{}).start()
	r.taught("small", 6)
	r.taught("grown", 60)
	before := r.answer(ask("small", ""))

	for i := range 3 {
		r.erratic("sibling", 40*i, 40)
		_, err := r.Train(t.Context(), task("sibling"))
		require.NoError(t, err)
		// One that starts now has opened no sibling when it is asked first.
		answersAlike(t, fmt.Sprint("after training ", i), r, join(t, r.dsn, service.Config{}).start())
		following.until(func() bool { return following.version("sibling") == i+1 }, "a publish")
		answersAlike(t, fmt.Sprint("elsewhere ", i), r, following)
	}
	assert.NotEqual(t, before.Memory, r.answer(ask("small", "")).Memory, "the siblings widen the margin of a task of few runs")

	r.erratic("sibling", 200, 20) // stored, not trained yet
	late := success("small", 5, 6)
	late.Try.RunID = "late"
	r.tell(late)
	r.sql(`UPDATE tally SET due_at = NULL`)
	answersAlike(t, "between trainings", r, join(t, r.dsn, service.Config{}).start())

	require.NoError(t, r.Activate(t.Context(), task("sibling"), 1))
	answersAlike(t, "after a rollback", r, join(t, r.dsn, service.Config{}).start())
	require.NoError(t, r.Rename(t.Context(), task("sibling"), task("renamed")))
	answersAlike(t, "after a rename", r, join(t, r.dsn, service.Config{}).start())
	require.NoError(t, r.DeleteTask(t.Context(), task("renamed")))
	answersAlike(t, "after a deletion", r, join(t, r.dsn, service.Config{}).start())
}

func TestSharesOfModelsStoredByAnEarlierReleaseCount(t *testing.T) {
	r := newReplica(t)
	r.taught("small", 6)
	r.taught("grown", 60)
	r.erratic("sibling", 0, 60)
	_, err := r.Train(t.Context(), task("sibling"))
	require.NoError(t, err)
	r.sql(`UPDATE model SET share = NULL`)
	answersAlike(t, "shares read from the models", r, join(t, r.dsn, service.Config{}).start())
}
