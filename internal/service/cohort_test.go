package service_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/trainer"
)

// owned returns the report of one run of task i. Every second task belongs to the team "large" and needs much
// memory; the others belong to the team "small".
func owned(i int, run string) sizing.Observation {
	factor := 1 + 0.01*float64(i*7%11)
	o := sizing.Observation{
		Try: try(fmt.Sprint("task", i), run, 1), Outcome: sizing.Success, MemoryMax: sizing.Bytes(2e8 * factor), Duration: time.Duration(30 * factor * 1e9),
		CPUMax: sizing.Cores(0.5 * factor), Requested: sizing.Resources{Memory: 64 * gib, CPU: 8}, Allocated: sizing.Resources{Memory: 64 * gib}, Metadata: sizing.Metadata{"owner": {"small"}},
	}
	if i%2 == 1 {
		o.MemoryMax, o.Duration, o.CPUMax = sizing.Bytes(30e9*factor), time.Duration(4000*factor*1e9), sizing.Cores(4*factor)
		o.Usage = o.Usage.Set(sizing.GPUMemoryMax, 8e9*factor)
		o.Metadata = sizing.Metadata{"owner": {"large"}}
	}
	return o
}

func askOwned(name, run, owner string) sizing.Ask {
	return sizing.Ask{Try: try(name, run, 1), Requested: sizing.Resources{Memory: 64 * gib, CPU: 8}, Metadata: sizing.Metadata{"owner": {owner}}}
}

func (r *replica) trainCohort(first, last int) {
	r.t.Helper()
	var reports []sizing.Observation
	for i := first; i < last; i++ {
		reports = append(reports, owned(i, "first"))
	}
	r.report(reports...)
	_, err := r.Train(r.t.Context(), task(fmt.Sprint("task", last-1)))
	require.NoError(r.t, err)
}

func TestAFirstRunIsSizedAndExplainedBySimilarTasks(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	small, large := askOwned("new", "", "small"), askOwned("new", "", "large")
	a := r.predict(large)
	require.Equal(t, sizing.FromCohort, a.Source, a.Reason)
	assert.Greater(t, a.Memory.Limit, 8*r.predict(small).Memory.Limit)
	require.NotNil(t, a.Cohort)
	assert.Equal(t, 200, a.Cohort.Tasks)
	assert.Equal(t, 200, a.Cohort.Runs)
	assert.Zero(t, a.Cohort.Confidence, "the confidence must be 0 before usage profiles are found")
	require.NotNil(t, a.Duration)
	assert.InEpsilon(t, 4200, a.Duration.Median.Seconds(), 0.3)

	policies := map[string]sizing.Policy{"model": {}, "floor": {Floor: 60 * gib}, "cap": {Cap: gib}, "limit ratio": {LimitRatio: 2}, "shadow": {Mode: sizing.Shadow}, "bins": {Grid: sizing.OnBins, Edges: sizing.Bins{50 * gib}}}
	for name, policy := range policies {
		require.NoError(t, r.SetPolicy(t.Context(), task("new"), policy))
		answer, e := r.predict(large), r.explain(large)
		granted, factors := answer.Memory.Limit, e.Factors
		if answer.Shadow != nil {
			granted, factors = answer.Shadow.Limit, *e.Shadow
		}
		requireFactors(t, granted, factors)
		require.Equal(t, taskmodel.TermFeature, factors.Terms[0].Kind, name)
		assert.Equal(t, "metadata.owner", factors.Terms[0].Name)
		assert.Equal(t, "large", factors.Terms[0].Value)
		assert.Positive(t, factors.Expected)
		if past := r.explainPrediction(answer.PredictionID); answer.Shadow != nil {
			assert.Contains(t, past.Note, "the reason of the answer")
			assert.Contains(t, past.Allocation.Reason, "similar tasks")
		} else {
			assert.Empty(t, past.Note, name)
		}
	}
}

// Similar tasks predict the run time of a first run. Usage profiles predict its CPU and GPU memory.
func TestAFirstRunIsPlacedInAUsageProfile(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 120)
	finder := trainer.New(r.store, trainer.Config{ProfilesEvery: time.Hour}, slog.New(slog.DiscardHandler))
	require.NoError(t, finder.FindProfiles(t.Context(), time.Now()))
	r.trainCohort(120, 160)
	small, large := askOwned("new", "", "small"), askOwned("new", "", "large")
	large.Timeout = time.Minute
	answers := map[string]*sizing.Allocation{"small": r.predict(small), "large": r.predict(large)}
	for owner, a := range answers {
		require.Equal(t, sizing.FromCohort, a.Source)
		require.NotNil(t, a.Duration, owner)
		assert.Greater(t, a.Cohort.Confidence, 0.9)
	}
	assert.NotEqual(t, answers["small"].Cohort.Profile, answers["large"].Cohort.Profile)
	assert.InEpsilon(t, 4200, answers["large"].Duration.Median.Seconds(), 0.25)
	assert.InEpsilon(t, 31.5, answers["small"].Duration.Median.Seconds(), 0.2)
	assert.Greater(t, *answers["large"].Duration.Timeout, 0.9)
	assert.EqualValues(t, 0.75, answers["small"].CPU, "the CPU is below the request of 8")
	assert.Greater(t, answers["large"].CPU, sizing.Cores(4))
	require.NotNil(t, answers["large"].GPUMemory)
	assert.InEpsilon(t, 8.4e9, float64(answers["large"].GPUMemory.Median), 0.1)

	require.NoError(t, r.SetPolicy(t.Context(), task("new"), sizing.Policy{CPUUnmanaged: true}))
	assert.EqualValues(t, 8, r.predict(small).CPU, "the policy leaves the CPU unchanged")
	require.NoError(t, r.SetPolicy(t.Context(), task("new"), sizing.Policy{Mode: sizing.Off}))
	off := r.predict(small)
	assert.Nil(t, off.Cohort)
	assert.Nil(t, off.Duration)
}

// A run of a new task was killed just below the amount that similar tasks suggest. The kill shows that the new task needs
// more than nearly all similar tasks, so its next run gets its static request.
func TestAKillJustBelowTheAnswerOfTheCohortCounts(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	a := askOwned("new", "first", "small")
	before := r.predict(a)
	require.Equal(t, sizing.FromCohort, before.Source)
	r.report(sizing.Observation{Try: a.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: before.Memory.Limit * 98 / 100}, Duration: time.Minute})
	after := r.predict(askOwned("new", "second", "small"))
	assert.Equal(t, sizing.FromRequested, after.Source, after.Reason)
	assert.EqualValues(t, 64*gib, after.Memory.Limit)
	other := r.predict(askOwned("other", "first", "small"))
	assert.Equal(t, sizing.FromCohort, other.Source, "the kill of another task only widens the margin")
}

// Kills of new tasks raise the grant of the next first run before any training. Further reports of known
// tasks change nothing, and another replica learns the kills only by a training.
func TestTheCohortLearnsKillsOfNewTasksAtOnce(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	request := askOwned("new", "", "small")
	before := r.predict(request).Memory.Limit
	kill := func(i int) {
		a := askOwned(fmt.Sprint("killed", i), "first", "small")
		granted := r.predict(a).Memory.Limit
		r.report(sizing.Observation{Try: a.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 2 * granted}, Duration: time.Minute})
	}
	for i := range 6 {
		kill(i)
	}
	after := r.predict(request).Memory.Limit
	assert.Greater(t, after, before)
	for range 3 { // further reports of known tasks, and duplicates
		r.report(owned(1, "second"), owned(2, "second"))
	}
	assert.Equal(t, after, r.predict(request).Memory.Limit)

	other := joinReplica(t, r.dsn, service.Config{}).start()
	assert.Equal(t, before, other.predict(request).Memory.Limit, "another replica waits for the training")
}

// A replica learns kills, and then loads a newer version of the cohort. The training of this version did not include these
// kills, but the replica still counts them.
func TestAnOlderTrainingDoesNotForgetKills(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	trained, err := r.store.Cohort(t.Context(), sizing.DefaultNamespace)
	require.NoError(t, err)
	request := askOwned("new", "", "small")
	before := r.predict(request).Memory.Limit
	for i := range 20 {
		r.report(sizing.Observation{Try: try(fmt.Sprint("killed", i), "first", 1), Outcome: sizing.OOMKilled, Duration: time.Minute,
			Allocated: sizing.Resources{Memory: 50 * gib}, Requested: sizing.Resources{Memory: 64 * gib, CPU: 8}, Metadata: request.Metadata})
	}
	after := r.predict(request).Memory.Limit
	require.Greater(t, after, before)
	_, err = r.store.PublishCohort(t.Context(), trained) // the same contents as a new version
	require.NoError(t, err)
	r.trainTask("task1", 3) // Service.Train reads the cohorts again
	assert.GreaterOrEqual(t, r.predict(request).Memory.Limit, after)
}

func TestAReplicaWithoutCohortsGrantsAFirstRunItsRequest(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	off := joinReplica(t, r.dsn, service.Config{NoCohorts: true}).start()
	a := off.predict(askOwned("new", "", "small"))
	assert.Equal(t, sizing.FromRequested, a.Source)
	assert.Equal(t, 64*gib, a.Memory.Limit)
	assert.Nil(t, a.Cohort)
}

// If the tasks of a namespace exceed their requests, the first run of a new task gets more than its request, except if
// its policy forbids that.
func TestAFirstRunMayGetMoreThanItsRequest(t *testing.T) {
	r := newReplica(t)
	var reports []sizing.Observation
	for i := range 200 {
		o := owned(i, "first")
		o.Requested.Memory = gib
		reports = append(reports, o)
	}
	r.report(reports...)
	_, err := r.Train(t.Context(), task("task199"))
	require.NoError(t, err)
	asked := askOwned("new", "", "large")
	asked.Requested.Memory, asked.MaxMemory = gib, 64*gib
	a := r.predict(asked)
	require.Equal(t, sizing.FromCohort, a.Source, a.Reason)
	assert.Greater(t, a.Memory.Limit, 28*gib)
	require.NoError(t, r.SetPolicy(t.Context(), task("new"), sizing.Policy{NeverAbove: true}))
	assert.Equal(t, gib, r.predict(asked).Memory.Limit)
}
