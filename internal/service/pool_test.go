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

// reportErraticRuns reports runs whose peaks depend on no feature and differ by a factor of up to 1,000.
func (r *replica) reportErraticRuns(name string, from, n int) {
	r.t.Helper()
	r.reportErraticRunsOf(task(name), from, n)
}

func (r *replica) reportErraticRunsOf(key sizing.TaskKey, from, n int) {
	r.t.Helper()
	obs := make([]sizing.Observation, n)
	for i := range obs {
		number := from + i
		obs[i] = sizing.Observation{
			Try: sizing.TryKey{TaskKey: key, RunID: fmt.Sprintf("erratic-%d", number), MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success, Duration: 5 * time.Minute,
			MemoryMax: (gib / 64).Times(float64(1 + number*7919%1000)), Allocated: sizing.Resources{Memory: 64 * gib},
			Requested: sizing.Resources{Memory: gib}, Features: rows(float64(number % 3)),
		}
	}
	r.report(obs...)
}

func assertSameAnswers(t *testing.T, msg string, want *replica, others ...*replica) {
	t.Helper()
	for _, other := range others {
		for _, name := range []string{"six", "sixty"} {
			for x := 1.0; x <= 9; x += 2 {
				question := ask(name, "")
				question.Features = rows(x)
				assertSame(t, want.predict(question), other.predict(question), fmt.Sprint(msg, ": ", name, " ", x))
			}
		}
	}
}

func TestAnswersUseTheModelsOfOtherTasksOfTheDAG(t *testing.T) {
	r := newReplica(t)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	r.trainTask("six", 6)
	r.trainTask("sixty", 60)
	before := r.predict(ask("six", ""))

	for i := range 3 {
		r.reportErraticRuns("sibling", 40*i, 40)
		_, err := r.Train(t.Context(), task("sibling"))
		require.NoError(t, err)
		// The answers of a new replica use the sibling's share even before the replica decodes the sibling's model.
		assertSameAnswers(t, fmt.Sprint("after training ", i), r, joinReplica(t, r.dsn, service.Config{}).start())
		other.waitFor(func() bool { return other.modelVersion("sibling") == i+1 }, "the other replica must read the new version")
		assertSameAnswers(t, fmt.Sprint("on another replica ", i), r, other)
	}
	assert.NotEqual(t, before.Memory, r.predict(ask("six", "")).Memory, "the pool changes the margin of a task with few runs")

	r.reportErraticRuns("sibling", 200, 20) // stored, but in no training
	newReport := success("six", 5, 6)
	newReport.Try.RunID = "late"
	r.report(newReport)
	assertSameAnswers(t, "between trainings", r, joinReplica(t, r.dsn, service.Config{}).start())

	require.NoError(t, r.Activate(t.Context(), task("sibling"), 1))
	assertSameAnswers(t, "after a rollback", r, joinReplica(t, r.dsn, service.Config{}).start())
	require.NoError(t, r.Rename(t.Context(), task("sibling"), task("renamed")))
	assertSameAnswers(t, "after a rename", r, joinReplica(t, r.dsn, service.Config{}).start())
	require.NoError(t, r.DeleteTask(t.Context(), task("renamed")))
	assertSameAnswers(t, "after a deletion", r, joinReplica(t, r.dsn, service.Config{}).start())
}

func TestAnswersUseTheModelsOfOtherDAGs(t *testing.T) {
	r := newReplica(t)
	r.trainTask("six", 6)
	r.trainTask("sixty", 60)
	before := r.predict(ask("six", ""))
	for i := range 4 {
		key := task("erratic")
		key.DAG = fmt.Sprint("other-", i)
		r.reportErraticRunsOf(key, 40*i, 40)
		_, err := r.Train(t.Context(), key)
		require.NoError(t, err)
	}
	first, second := joinReplica(t, r.dsn, service.Config{}).start(), joinReplica(t, r.dsn, service.Config{}).start()
	assertSameAnswers(t, "new replicas", first, second)
	assertSameAnswers(t, "the replica that trained the other DAGs, before its next poll", first, r)
	assert.Greater(t, first.predict(ask("six", "")).Memory.Limit, before.Memory.Limit, "the other DAGs are noisy, so the margin of a task with few runs is wider")

	elsewhere := newReplica(t)
	elsewhere.trainTask("six", 6)
	elsewhere.trainTask("sixty", 60)
	key := task("erratic")
	key.Namespace = "another"
	elsewhere.reportErraticRunsOf(key, 0, 40)
	_, err := elsewhere.Train(t.Context(), key)
	require.NoError(t, err)
	answer := joinReplica(t, elsewhere.dsn, service.Config{}).start().predict(ask("six", ""))
	assert.Equal(t, before.Memory.Limit, answer.Memory.Limit, "another namespace changes nothing")
}

func TestSharesOfModelsOfAnEarlierReleaseAreUsed(t *testing.T) {
	r := newReplica(t)
	r.trainTask("six", 6)
	r.trainTask("sixty", 60)
	r.reportErraticRuns("sibling", 0, 60)
	_, err := r.Train(t.Context(), task("sibling"))
	require.NoError(t, err)
	r.exec(`UPDATE model SET share = NULL`)
	assertSameAnswers(t, "shares read from the models", r, joinReplica(t, r.dsn, service.Config{}).start())
}
