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

func (r *replica) modelVersion(name string) int {
	a, err := r.Predict(r.t.Context(), ptr(ask(name, "")))
	if err != nil || a.Model == nil {
		return 0
	}
	return a.Model.Version
}

func ptr[T any](v T) *T { return &v }

func assertSame(t *testing.T, want, got *sizing.Allocation, msg string) {
	t.Helper()
	w, g := *want, *got
	w.PredictionID, g.PredictionID = "", ""
	assert.Equal(t, w, g, msg)
}

func TestTrainReturnsWhenTheModelIsInUse(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 30)
	for version := 1; version <= 3; version++ {
		report, err := r.Train(t.Context(), task("load"))
		require.NoError(t, err)
		require.Equal(t, version, report.Version)
		assert.Equal(t, version, r.modelVersion("load"))
	}
	require.NoError(t, r.Activate(t.Context(), task("load"), 2))
	assert.Equal(t, 2, r.modelVersion("load"), "after Activate the model is in use")
	assert.Equal(t, sizing.NotFound, sizing.KindOf(r.Activate(t.Context(), task("load"), 9)))
	_, err := r.Train(t.Context(), task("unknown"))
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
}

func TestAnswersSurviveARestart(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	for i := range 15 { // no training has read these reports: after the restart, the replica lets the stored model learn them
		newReport := success("load", i, 15)
		newReport.Try.RunID = fmt.Sprintf("late-%d", i)
		r.report(newReport)
	}
	r.report(sizing.Observation{Try: try("load", "killed", 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: gib}, Features: rows(8)})
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib / 8}))
	restarted := joinReplica(t, r.dsn, service.Config{}).start()
	for x := 1.0; x <= 10; x++ {
		question := ask("load", "")
		question.Features = rows(x)
		assertSame(t, r.predict(question), restarted.predict(question), fmt.Sprint(x))
	}
	assert.Equal(t, 76, restarted.learnedRows("load"))
}

func TestAnotherReplicaReadsChanges(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	assert.Equal(t, 1, other.modelVersion("load"))

	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.waitFor(func() bool { return other.modelVersion("load") == 2 }, "the other replica must read a new version")

	require.NoError(t, r.Activate(t.Context(), task("load"), 1))
	other.waitFor(func() bool { return other.modelVersion("load") == 1 }, "the other replica must read a rollback")

	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: 50 * gib}))
	other.waitFor(func() bool { return other.predict(ask("load", "")).Memory.Limit == 50*gib }, "the other replica must read a policy")

	require.NoError(t, r.Rename(t.Context(), task("load"), task("renamed")))
	assert.Equal(t, []int{0, 1}, []int{r.modelVersion("load"), r.modelVersion("renamed")})
	other.waitFor(func() bool { return other.modelVersion("load") == 0 && other.modelVersion("renamed") == 1 }, "the other replica must read a rename")
	assert.Equal(t, 50*gib, other.predict(ask("renamed", "")).Memory.Limit, "the policy is renamed too")
	assert.Equal(t, sizing.FromRequested, other.predict(ask("load", "")).Source)

	require.NoError(t, r.DeleteTask(t.Context(), task("renamed")))
	for _, each := range []*replica{r, other} {
		each.waitFor(func() bool { return each.modelVersion("renamed") == 0 }, "each replica must read a deletion")
		assertSame(t, each.predict(ask("unknown", "")), withTask(each.predict(ask("renamed", "")), "unknown"), "the task is removed")
	}
}

func withTask(a *sizing.Allocation, name string) *sizing.Allocation {
	a.Task = task(name)
	return a
}

// With a load balancer, many tries are predicted by one replica and reported to another. The replica that predicted a
// try must not keep it in flight forever.
func TestATryReportedToAnotherReplicaEnds(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	for i := range 40 {
		other.predict(ask("load", fmt.Sprint("routed-", i)))
	}
	other.predict(ask("load", "still running"))
	require.Equal(t, 41, other.InFlight())
	for i := range 40 {
		ended := success("load", i, 40)
		ended.Try = try("load", fmt.Sprint("routed-", i), 1)
		r.report(ended)
	}
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.waitFor(func() bool { return other.InFlight() == 1 }, "only one try must stay in flight")
}

// The removal of a task also removes the rows that only one replica has learned.
func TestATaskDeletedByAnotherReplicaIsRemoved(t *testing.T) {
	r := newReplica(t)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	other.reportRuns("new", 10)
	require.NotEqual(t, sizing.FromRequested, other.predict(ask("new", "")).Source)
	require.NoError(t, r.DeleteTask(t.Context(), task("new")))
	other.waitFor(func() bool { return other.predict(ask("new", "")).Source == sizing.FromRequested }, "the task must be removed")
}

func TestATaskWithoutAModelKeepsItsRowsAfterARename(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("new", 10)
	before := r.predict(ask("new", ""))
	require.NoError(t, r.Rename(t.Context(), task("new"), task("named")))
	assertSame(t, withTask(before, "named"), r.predict(ask("named", "")), "the answers must stay the same after the rename")
}

func TestAMissedChangeIsReadAfterReconnecting(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	r.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	_, err := r.Train(t.Context(), task("load")) // while no replica is subscribed
	require.NoError(t, err)
	r.trainTask("new", 30)
	r.reportRuns("removed", 5)
	require.NoError(t, r.DeleteTask(t.Context(), task("removed")))
	other.waitFor(func() bool { return other.modelVersion("load") == 2 && other.modelVersion("new") == 1 }, "the replica must read the missed changes")
	_, err = r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.waitFor(func() bool { return other.modelVersion("load") == 3 }, "the subscription must work again")
}

func TestPollFindsChangesWithoutANotification(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other := joinReplica(t, r.dsn, service.Config{PollInterval: 20 * time.Millisecond}).start()
	require.Equal(t, 2, other.modelVersion("load"))
	r.exec(`UPDATE task SET active_version = 1, policy = '{"Floor": 53687091200}'`) // 50 GiB
	other.waitFor(func() bool {
		a := other.predict(ask("load", ""))
		return a.Model.Version == 1 && a.Memory.Limit == 50*gib
	}, "the poll must find the change")
	r.exec(`DELETE FROM task`)
	other.waitFor(func() bool { return other.modelVersion("load") == 0 }, "the task must be removed")
}

// The arrival of a report is no evidence of when its try started: a busy caller reports late.
func TestAnswersDoNotDependOnWhenReportsArrive(t *testing.T) {
	quick, slow := newReplica(t), newReplica(t)
	for _, r := range []*replica{quick, slow} {
		for k := range 3 { // DAG runs
			for i := range 8 {
				instance := success("mapped", i, 8)
				instance.Try.RunID, instance.Try.MapIndex, instance.Duration = fmt.Sprint("day-", k), i, 13*time.Second
				instance.Features = nil
				r.report(instance)
				if r == slow {
					r.clockOffset += time.Minute
				}
			}
		}
	}
	assertSame(t, quick.predict(ask("mapped", "")), slow.predict(ask("mapped", "")), "the pace of the reports must not matter")
	restarted := joinReplica(t, slow.dsn, service.Config{}).start()
	assertSame(t, slow.predict(ask("mapped", "")), restarted.predict(ask("mapped", "")), "a restart must not change the answer")
}

func TestACorruptModelLeavesTheLastIntactModelInUse(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	good := other.predict(ask("load", ""))

	// Change one byte of the next version.
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.waitFor(func() bool { return other.modelVersion("load") == 2 }, "version 2 must be in use")
	require.NoError(t, r.Activate(t.Context(), task("load"), 1))
	other.waitFor(func() bool { return other.modelVersion("load") == 1 }, "version 1 must be in use again")
	r.exec(`UPDATE model SET blob = set_byte(blob, 100, get_byte(blob, 100) # 1) WHERE version = 2`)
	require.Error(t, r.Activate(t.Context(), task("load"), 2), "Activate rejects the model")

	for _, each := range []*replica{r, other} {
		require.NoError(t, each.SetPolicy(t.Context(), task("load"), sizing.Policy{}), "a policy can be set")
		each.reportRuns("other", 1) // other tasks work
		assert.Equal(t, good.Memory, each.predict(ask("load", "")).Memory)
		assert.Equal(t, 1, each.modelVersion("load"))
	}
	assertSame(t, good, joinReplica(t, r.dsn, service.Config{}).start().predict(ask("load", "")), "no replica uses the corrupt model")

	r.exec(`UPDATE task SET active_version = 2`)
	restarted := joinReplica(t, r.dsn, service.Config{}).start()
	assert.Equal(t, sizing.FromRequested, restarted.predict(ask("load", "")).Source, "without an intact model the answer is the request")

	report, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, 3, report.Version, "the training must publish version 3, trained from scratch")
	restarted.waitFor(func() bool { return restarted.modelVersion("load") == 3 }, "version 3 must replace the corrupt version")
	assert.Equal(t, 30, restarted.learnedRows("load"))
}

// manyRuns reports more runs than a refresh learns: 2,100 with a peak of 1 GiB, and then 100 with 32 GiB.
func (r *replica) manyRuns(name string) {
	r.t.Helper()
	obs := make([]sizing.Observation, 2_200)
	for i := range obs {
		obs[i] = success(name, 0, 1)
		obs[i].Try.RunID, obs[i].MemoryMax, obs[i].Features = fmt.Sprint("later-", i), gib, rows(4)
		if i >= 2_100 {
			obs[i].MemoryMax = 32 * gib
		}
	}
	r.report(obs...)
}

func TestARefreshLearnsTheNewestReports(t *testing.T) {
	r := newReplica(t)
	r.trainTask("trained", 40)
	r.manyRuns("trained")
	r.manyRuns("untrained")
	other := joinReplica(t, r.dsn, service.Config{DecodeWait: time.Minute}).start()
	for _, name := range []string{"trained", "untrained"} {
		assert.GreaterOrEqual(t, other.predict(ask(name, "")).Memory.Limit, 32*gib, name)
	}
}

func TestARefreshEndsTheTriesOfAllReports(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	r.trainTask("evicting", 40)
	other := startBounded(t, r.dsn, service.Config{DecodeWait: time.Minute})
	for _, run := range []string{"later-0", "later-2199", "unreported"} {
		other.predict(ask("load", run))
	}
	require.Equal(t, 3, other.InFlight())
	r.manyRuns("load")
	other.waitFor(func() bool { // each round evicts the model of "load" and decodes it again, because the preload may have decoded this model before all reports were stored
		other.predict(ask("evicting", ""))
		other.predict(ask("load", ""))
		return other.InFlight() == 1
	}, "only one try must stay in flight")
}
