package taskmodel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func killedRun(run string, gibs float64) sizing.HistoryRow {
	r := killed(gibs)
	r.RunID = run
	return r
}

func retried(run string, gibs float64) sizing.HistoryRow {
	r := measuredRun(gibs)
	r.RunID, r.Try = run, 2
	return r
}

// variants returns models whose answers must pass the same checks: the live model, the model decoded from its blob, a
// model trained from scratch, and the model that a training of the decoded model returns, if it returns one.
func (k *task) variants() map[string]*taskmodel.Model {
	k.t.Helper()
	blob, err := k.model.Blob()
	require.NoError(k.t, err)
	opened, err := taskmodel.Open(blob)
	require.NoError(k.t, err)
	history := k.history
	copied, err := taskmodel.Open(blob)
	require.NoError(k.t, err)
	trained, _, err := taskmodel.Fit(&history, copied)
	require.NoError(k.t, err)
	scratch, _, err := taskmodel.Fit(&history, nil)
	require.NoError(k.t, err)
	all := map[string]*taskmodel.Model{"live": k.model, "decoded": opened, "trained from scratch": scratch}
	if trained != nil {
		all["trained"] = trained
	}
	return all
}

func (k *task) requireForAll(f sizing.Features, about string, check func(s taskmodel.Answer) bool) {
	k.t.Helper()
	for name, m := range k.variants() {
		q := question(f)
		q.Cap = 1000 * gib
		s := m.Size(q)
		require.True(k.t, check(s), "%s, %s: %s, promised %v, ladder %v: %s", about, name, s.Limit, *s.Promised, s.Ladder, s.Reason)
	}
}

func TestIdenticalRunsAreGrantedMoreThanTheKill(t *testing.T) {
	for _, n := range []int{3, 25, 100} {
		k, rng := trainedTask(t, growing, uint64(n), n)
		f, _ := growing(rng)
		other, _ := growing(rng)
		first := k.model.Size(question(f)).Limit
		elsewhere := k.model.Size(question(other)).Limit
		kill := 1.05 * float64(first) / float64(gib)
		k.report(f, killedRun("killed", kill))
		k.requireForAll(f, "after the kill", func(s taskmodel.Answer) bool {
			return s.Limit > bytes(kill) && s.Ladder[0] == s.Limit && *s.Promised > 0 && *s.Promised <= 1
		})
		if n > 3 {
			assert.Less(t, k.model.Size(question(other)).Limit, 2*elsewhere, "the grant for other features does not double")
		}
		k.reportSuccess(other, 0.1)
		k.requireForAll(f, "a success with other features does not contradict the kill", func(s taskmodel.Answer) bool { return s.Limit > bytes(kill) })
		k.report(f, retried("killed", 1.4*kill))
		k.requireForAll(f, "the peak of the retry counts", func(s taskmodel.Answer) bool { return s.Limit >= bytes(1.4*kill) })
		for range 3 {
			k.reportSuccess(f, 1.2*kill)
		}
		k.requireForAll(f, "newer runs needed less, but more than the kill", func(s taskmodel.Answer) bool { return s.Limit >= bytes(1.2*kill) })
		k.reportSuccess(f, 0.9*kill)
		require.Empty(t, k.model.KnownKills, "a newer success below the kill contradicts it")
	}
}

func TestReasonNamesTheKill(t *testing.T) {
	k, rng := trainedTask(t, growing, 1, 100)
	f, _ := growing(rng)
	q := question(f)
	kill := k.model.Size(q).Limit + 7*sizing.MiB
	k.report(f, killedRun("r", float64(kill)/float64(gib)))
	s := k.model.Size(q)
	assert.Contains(t, s.Reason, kill.String()+" was OOM-killed with the same features")
	q.Cap = kill - sizing.MiB
	capped := k.model.Size(q)
	assert.Equal(t, q.Cap, capped.Limit, "the cap limits the grant")
	assert.Contains(t, capped.Reason, "at the cap of")
	assert.Contains(t, capped.Reason, kill.String()+" was too little for the same features")
	assert.GreaterOrEqual(t, *capped.Promised, 0.5, "the promised risk of a grant below a known kill must be at least one half")
	q.Cap = 1000 * gib
	q.Above, q.Lifts = gib/8, 3
	lifted := k.model.Size(q)
	assert.Greater(t, lifted.Limit, kill, "the retry of another run gets more than the known kill")
	assert.Equal(t, lifted.Limit, lifted.Ladder[0])
}

// A kill far below the prediction, as with a small request, is no evidence against the margins: the retry gets at
// least the amount of a first try, also for inputs that are so far outside the known range that a first try has no promised
// risk (500,000 rows).
func TestRetryAfterAnExpectedKillGetsTheAmountOfAFirstTry(t *testing.T) {
	k, _ := trainedTask(t, growing, 3, 150)
	for _, rows := range []float64{20_000, 500_000} {
		q := question(sizing.Features{"rows": sizing.NumberValue(rows)})
		q.Cap = 1000 * gib
		first := k.model.Size(q).Limit
		require.Greater(t, first, bytes(1.5))
		for _, killed := range []sizing.Bytes{sizing.MiB, 16 * sizing.MiB, 64 * sizing.MiB, 128 * sizing.MiB, gib / 2} {
			q.Above = killed
			lift := k.model.Size(q)
			assert.GreaterOrEqual(t, lift.Limit, first, "%v rows, killed at %s", rows, killed)
			require.Len(t, lift.Ladder, q.Lifts)
			assert.Equal(t, q.Cap, lift.Ladder[q.Lifts-1])
		}
	}
}

func TestVoidedKillIsRemoved(t *testing.T) {
	k, rng := trainedTask(t, growing, 4, 60)
	f, _ := growing(rng)
	before := k.model.Size(question(f)).Limit
	k.report(f, killedRun("wrong", 1.1*float64(before)/float64(gib)))
	require.Greater(t, k.model.Size(question(f)).Limit, before)
	k.model.Void(sizing.RunHash("wrong", sizing.NoMap), 1)
	assert.Less(t, k.model.Size(question(f)).Limit, bytes(1.1*float64(before)/float64(gib)))

	k.history.Rows = k.history.Rows[:60] // without the report
	k.fit()
	assert.Empty(t, k.model.KnownKills)
}

func TestKnownKillsAreBounded(t *testing.T) {
	k, rng := trainedTask(t, growing, 9, 60)
	var last sizing.Features
	for i := range 400 {
		last, _ = growing(rng)
		k.report(last, killedRun(fmt.Sprint("killed ", i), 2))
	}
	assert.Len(t, k.model.KnownKills, 256)
	assert.Greater(t, k.model.Size(question(last)).Limit, 2*gib)
	k.requireForAll(last, "after 400 kills, the newest one", func(s taskmodel.Answer) bool { return s.Limit > 2*gib })
}

func TestKillsBeforeTheFirstSuccessCount(t *testing.T) {
	k := newTask(t)
	f := sizing.Features{"rows": sizing.NumberValue(7), "region": sizing.TextValue("emea")}
	k.report(f, killedRun("r", 3))
	for i := range 4 {
		k.reportSuccess(sizing.Features{"rows": sizing.NumberValue(float64(5 + i)), "region": sizing.TextValue("apac")}, 0.5)
	}
	k.requireForAll(f, "a kill before the first success", func(s taskmodel.Answer) bool { return s.Limit > 3*gib })
}

// The report of a kill may arrive after the report of the success of the same run. From the next training on, the order makes
// no difference.
func TestKillReportedAfterTheSuccessOfItsRun(t *testing.T) {
	f := sizing.Features{"rows": sizing.NumberValue(7)}
	known := map[bool]sizing.Bytes{}
	for _, killFirst := range []bool{true, false} {
		k, rng := newTask(t), newRand(9)
		for range 12 {
			k.reportSuccess(sizing.Features{"rows": sizing.NumberValue(100 * rng.Float64())}, 4*noise(rng, 0.1))
		}
		if killFirst {
			k.report(f, killedRun("r", 5))
		}
		k.report(f, retried("r", 14))
		if !killFirst {
			k.report(f, killedRun("r", 5))
		}
		k.fit()
		lift := question(f)
		lift.Above = 5 * gib
		known[killFirst] = k.model.Size(lift).TooLittle
	}
	assert.Equal(t, 14*gib-1, known[true], "the retry needed 14 GiB, so one byte less is too little")
	assert.Equal(t, known[true], known[false])
}

// Clearing a task instance starts a further try after a success. A kill of this try is newer evidence than the earlier peak.
func TestKillOfAClearedRunCounts(t *testing.T) {
	k, rng := newTask(t), newRand(10)
	f := sizing.Features{"rows": sizing.NumberValue(7)}
	for range 12 {
		k.reportSuccess(sizing.Features{"rows": sizing.NumberValue(100 * rng.Float64())}, 4*noise(rng, 0.1))
	}
	success, again := measuredRun(4), killedRun("r", 6)
	success.RunID, again.Try = "r", 2
	k.report(f, success)
	k.report(f, again)
	k.fit()
	lift := question(f)
	lift.Above = 6 * gib
	assert.Equal(t, 6*gib, k.model.Size(lift).TooLittle)
}

// Every answer is above each kill with identical features, except for kills that a newer success contradicts. This is true
// for any order of kills, successes, trainings and restarts (decodings of the stored model).
func TestAnswersStayAboveKnownKills(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		k, _ := trainedTask(t, growing, seed, 5+rng.IntN(60))
		inputs := make([]sizing.Features, 4)
		uncontradicted := make([]map[string]sizing.Bytes, len(inputs)) // by run
		for i := range inputs {
			inputs[i], _ = growing(rng)
			uncontradicted[i] = map[string]sizing.Bytes{}
		}
		for step := range 60 {
			i := rng.IntN(len(inputs))
			f := inputs[i]
			switch rng.IntN(5) {
			case 0, 1:
				run := fmt.Sprint("killed ", step)
				b := bytes(0.5 + 3*rng.Float64())
				k.report(f, killedRun(run, float64(b)/float64(gib)))
				uncontradicted[i][run] = b
			case 2:
				b := bytes(0.5 + 3*rng.Float64())
				k.reportSuccess(f, float64(b)/float64(gib))
				for run, kill := range uncontradicted[i] {
					if b < kill {
						delete(uncontradicted[i], run)
					}
				}
			case 3:
				k.fit()
			default:
				blob, err := k.model.Blob()
				require.NoError(t, err)
				k.model, err = taskmodel.Open(blob)
				require.NoError(t, err)
			}
			for j, f := range inputs {
				q := question(f)
				q.Cap, q.Floor = 1000*gib, sizing.Bytes(rng.IntN(2))*gib
				s := k.model.Size(q)
				for _, kill := range uncontradicted[j] {
					require.Greater(t, s.Limit, kill, "seed %d, step %d: %s", seed, step, s.Reason)
				}
				requireValid(t, k.model, q)
			}
		}
	}
}

func TestLadderOverBinsIsThatOfRepeatedLifts(t *testing.T) {
	k, _ := trainedTask(t, growing, 3, 150)
	q := question(sizing.Features{"rows": sizing.NumberValue(8_000)})
	for _, edges := range []sizing.Bins{{gib, 2 * gib, 4 * gib}, {2 * gib, 3 * gib, 20 * gib}, {gib, 5 * gib}} {
		q.Edges, q.Above, q.Lifts = edges, 0, sizing.DefaultMaxLifts
		want := k.model.Size(q).Ladder
		got := want[:1:1]
		for ; q.Lifts > 0; q.Lifts-- {
			q.Above = got[len(got)-1]
			if q.Above == q.Cap {
				break
			}
			got = append(got, k.model.Size(q).Limit)
		}
		assert.Equal(t, want, got, "bins %v", edges)
	}
}

// An answer shows the bins of the policy, to which its amount is rounded up, or otherwise the bins of the model.
func TestAnswerShowsTheBinsOfThePolicy(t *testing.T) {
	k, _ := trainedTask(t, growing, 3, 150)
	q := question(sizing.Features{"rows": sizing.NumberValue(8_000)})
	assert.EqualValues(t, k.model.Bins, k.model.Size(q).Bins.Upper)
	q.Edges = sizing.Bins{gib, 2 * gib, 4 * gib, 1000 * gib}
	answer := k.model.Size(q)
	assert.EqualValues(t, q.Edges, answer.Bins.Upper)
	assert.Equal(t, answer.Limit, answer.Bins.Upper[answer.Bins.Chosen])
	sum := 0.0
	for _, p := range answer.Bins.Probabilities {
		sum += p
	}
	assert.InDelta(t, 1, sum, 1e-9)
}

// Runs with the features of a killed run succeeded with less memory before the kill. Their reports are imported after the kill.
func TestAnOlderPeakReportedLaterDoesNotRefuteAKill(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(9, 10))
	f := sizing.Features{"customer": sizing.TextValue("a")}
	for range 40 {
		k.row(sizing.Features{"customer": sizing.TextValue("b")}, measuredRun(2*noise(rng, 0.04)))
	}
	k.row(f, killed(4))
	m := trained(t, k, nil)
	require.Len(t, m.KnownKills, 1)
	k.importOlder(3, func() (sizing.Features, sizing.HistoryRow) { return f, measuredRun(2 * noise(rng, 0.04)) })
	m = trained(t, k, m)
	require.Len(t, m.KnownKills, 1)
	assert.Equal(t, k.history.Rows[43].Seq, m.KnownKills[0].Seq)
	assert.Greater(t, m.Size(question(f)).Limit, 4*gib)
	k.row(f, measuredRun(3))
	assert.Empty(t, trained(t, k, m).KnownKills, "a later peak refutes it")
}

// If a DAG run is deleted and created again, RenameRun changes the hash of its earlier runs. The kill of a renamed run still
// counts. The implausible report belongs to another run and keeps its hash until that run is renamed.
func TestAKillDoesNotBelongToTheRunThatWasCreatedAgain(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(11, 12))
	f := sizing.Features{"customer": sizing.TextValue("a")}
	for range 40 {
		k.row(f, measuredRun(2*noise(rng, 0.04)))
	}
	k.row(f, killed(4))
	k.row(f, measuredRun(4000))
	m := trained(t, k, nil)
	require.Len(t, m.KnownKills, 1)
	require.Len(t, m.Unresolved.Kills, 1)
	require.Len(t, m.Quarantine, 1)
	run, implausible := m.KnownKills[0].Run, m.Quarantine[0].Run
	m.RenameRun(run, run+1)
	assert.Equal(t, implausible, m.Quarantine[0].Run, "another run keeps its hash")
	m.RenameRun(implausible, implausible+1)
	assert.Equal(t, implausible+1, m.Quarantine[0].Run)
	assert.Equal(t, []uint64{run + 1, run + 1}, []uint64{m.KnownKills[0].Run, m.Unresolved.Kills[0].Run})
	assert.Greater(t, m.Size(question(f)).Limit, 4*gib, "runs with the same features must still get more than was killed")
}
