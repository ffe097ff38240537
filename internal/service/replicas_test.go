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

// version is that of the model which answers here; 0 without one.
func (r *replica) version(name string) int {
	a, err := r.Predict(r.t.Context(), ptr(ask(name, "")))
	if err != nil || a.Model == nil {
		return 0
	}
	return a.Model.Version
}

func ptr[T any](v T) *T { return &v }

// same compares answers but for what is drawn anew for each.
func same(t *testing.T, want, got *sizing.Allocation, msg string) {
	t.Helper()
	w, g := *want, *got
	w.PredictionID, g.PredictionID = "", ""
	assert.Equal(t, w, g, msg)
}

func TestTrainAnswersWhenWhatItPublishedAnswers(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 30)
	for version := 1; version <= 3; version++ {
		report, err := r.Train(t.Context(), task("load"))
		require.NoError(t, err)
		require.Equal(t, version, report.Version)
		assert.Equal(t, version, r.version("load"))
	}
	require.NoError(t, r.Activate(t.Context(), task("load"), 2))
	assert.Equal(t, 2, r.version("load"), "and so does a rollback")
	assert.Equal(t, sizing.NotFound, sizing.KindOf(r.Activate(t.Context(), task("load"), 9)))
	_, err := r.Train(t.Context(), task("nobody"))
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
}

func TestARestartAnswersTheSame(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 60)
	for i := range 15 { // not trained yet: told again to the model that was stored
		late := success("load", i, 15)
		late.Try.RunID = fmt.Sprintf("late-%d", i)
		r.tell(late)
	}
	r.tell(sizing.Observation{Try: try("load", "killed", 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: gib}, Features: rows(8)})
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib / 8}))
	r.sql(`UPDATE tally SET due_at = NULL`) // a kill is due at once, and would be trained by the new process
	again := join(t, r.dsn, service.Config{}).start()
	for x := 1.0; x <= 10; x++ {
		question := ask("load", "")
		question.Features = rows(x)
		same(t, r.answer(question), again.answer(question), fmt.Sprint(x))
	}
	assert.Equal(t, 76, again.told("load"))
}

func TestAnotherReplicaFollows(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	other := join(t, r.dsn, service.Config{}).start()
	assert.Equal(t, 1, other.version("load"))

	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.until(func() bool { return other.version("load") == 2 }, "a publish")

	require.NoError(t, r.Activate(t.Context(), task("load"), 1))
	other.until(func() bool { return other.version("load") == 1 }, "a rollback")

	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: 50 * gib}))
	other.until(func() bool { return other.answer(ask("load", "")).Memory.Limit == 50*gib }, "a policy")

	require.NoError(t, r.Rename(t.Context(), task("load"), task("moved")))
	assert.Equal(t, []int{0, 1}, []int{r.version("load"), r.version("moved")})
	other.until(func() bool { return other.version("load") == 0 && other.version("moved") == 1 }, "a rename")
	assert.Equal(t, 50*gib, other.answer(ask("moved", "")).Memory.Limit, "the policy has moved, too")
	assert.Equal(t, sizing.FromRequested, other.answer(ask("load", "")).Source)

	require.NoError(t, r.DeleteTask(t.Context(), task("moved")))
	for _, each := range []*replica{r, other} {
		each.until(func() bool { return each.version("moved") == 0 }, "a deletion")
		same(t, each.answer(ask("never heard of", "")), withTask(each.answer(ask("moved", "")), "never heard of"), "nothing is left")
	}
}

func withTask(a *sizing.Allocation, name string) *sizing.Allocation {
	a.Task = task(name)
	return a
}

// What this replica was told itself, and nobody trained, must go, too.
// Callers come to any replica: most tries are asked about at one and reported to
// another, and the first must not remember them for ever.
func TestATryThatEndedElsewhereIsForgottenHere(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	other := join(t, r.dsn, service.Config{}).start()
	for i := range 40 {
		other.answer(ask("load", fmt.Sprint("elsewhere-", i)))
	}
	other.answer(ask("load", "still running"))
	require.Equal(t, 41, other.InFlight())
	for i := range 40 {
		ended := success("load", i, 40)
		ended.Try = try("load", fmt.Sprint("elsewhere-", i), 1)
		r.tell(ended)
	}
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.until(func() bool { return other.InFlight() == 1 }, "only one is under way")
}

func TestATaskThatIsDeletedElsewhereIsForgottenHere(t *testing.T) {
	r := newReplica(t)
	other := join(t, r.dsn, service.Config{}).start()
	other.teach("young", 10)
	require.NotEqual(t, sizing.FromRequested, other.answer(ask("young", "")).Source)
	require.NoError(t, r.DeleteTask(t.Context(), task("young")))
	other.until(func() bool { return other.answer(ask("young", "")).Source == sizing.FromRequested }, "forgotten")
}

func TestAYoungTaskKeepsWhatItLearnedUnderANewName(t *testing.T) {
	r := newReplica(t)
	r.teach("young", 10)
	before := r.answer(ask("young", ""))
	require.NoError(t, r.Rename(t.Context(), task("young"), task("named")))
	same(t, withTask(before, "named"), r.answer(ask("named", "")), "renamed")
}

func TestAPublishThatWasMissedIsReadAfterReconnecting(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	other := join(t, r.dsn, service.Config{}).start()
	r.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	_, err := r.Train(t.Context(), task("load")) // while nobody listens
	require.NoError(t, err)
	r.taught("new", 30)
	r.teach("gone", 5)
	require.NoError(t, r.DeleteTask(t.Context(), task("gone")))
	other.until(func() bool { return other.version("load") == 2 && other.version("new") == 1 }, "read anew")
	_, err = r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.until(func() bool { return other.version("load") == 3 }, "and it listens again")
}

func TestASlowLookHealsWhatNobodyAnnounced(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other := join(t, r.dsn, service.Config{Poll: 20 * time.Millisecond}).start()
	require.Equal(t, 2, other.version("load"))
	r.sql(`UPDATE task SET active_version = 1, policy = '{"Floor": 53687091200}'`) // 50 GiB
	other.until(func() bool {
		a := other.answer(ask("load", ""))
		return a.Model.Version == 1 && a.Memory.Limit == 50*gib
	}, "seen")
	r.sql(`DELETE FROM task`)
	other.until(func() bool { return other.version("load") == 0 }, "gone")
}

func TestAModelThatCannotBeOpenedLeavesTheLastGoodOneAnswering(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	other := join(t, r.dsn, service.Config{}).start()
	good := other.answer(ask("load", ""))

	// One flipped byte in the next version.
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.until(func() bool { return other.version("load") == 2 }, "followed")
	require.NoError(t, r.Activate(t.Context(), task("load"), 1))
	other.until(func() bool { return other.version("load") == 1 }, "followed")
	r.sql(`UPDATE model SET blob = set_byte(blob, 100, get_byte(blob, 100) # 1) WHERE version = 2`)
	require.Error(t, r.Activate(t.Context(), task("load"), 2), "it does not answer here, and says so")

	for _, each := range []*replica{r, other} {
		require.NoError(t, each.SetPolicy(t.Context(), task("load"), sizing.Policy{}), "a policy does not need the model")
		each.teach("other", 1) // it goes on
		assert.Equal(t, good.Memory, each.answer(ask("load", "")).Memory)
		assert.Equal(t, 1, each.version("load"))
	}
	same(t, good, join(t, r.dsn, service.Config{}).start().answer(ask("load", "")), "the activation was undone for all")

	r.sql(`UPDATE task SET active_version = 2`)
	fresh := join(t, r.dsn, service.Config{}).start()
	assert.Equal(t, sizing.FromRequested, fresh.answer(ask("load", "")).Source, "who never had a good one answers the request")

	report, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, 3, report.Version, "trained anew")
	fresh.until(func() bool { return fresh.version("load") == 3 }, "healed")
	assert.Equal(t, 30, fresh.told("load"))
}
