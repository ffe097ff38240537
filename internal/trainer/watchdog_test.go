package trainer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/trainer"
)

// pipeline simulates a task whose runs need about 1 GiB for each of 1 to 8 inputs.
type pipeline struct {
	t      *testing.T
	st     *hookedStore
	rng    *rand.Rand
	name   string
	runs   int
	factor float64 // multiplies every peak
	resume bool    // whether retries need less than killed tries
	bad    int     // from this version on, grants are multiplied by badFactor; 0: no version
}

func newPipeline(t *testing.T, st *hookedStore, name string) *pipeline {
	return &pipeline{t: t, st: st, rng: rand.New(rand.NewPCG(20261121, 14)), name: name, factor: 1}
}

type upcomingRun struct {
	try      sizing.TryKey
	features sizing.Features
	peak     sizing.Bytes
	granted  sizing.Bytes
}

func (p *pipeline) newRun() upcomingRun {
	p.runs++
	n := float64(1 + p.rng.IntN(8))
	return upcomingRun{
		try:      sizing.TryKey{TaskKey: task(p.name), RunID: fmt.Sprint("run-", p.runs), MapIndex: sizing.NoMap, Number: 1},
		features: sizing.Features{"inputs": sizing.NumberValue(n)},
		peak:     sizing.Bytes(p.factor * n * float64(sizing.GiB) * math.Exp(0.05*p.rng.NormFloat64())),
	}
}

func (p *pipeline) record(obs ...sizing.Observation) {
	p.t.Helper()
	recorded, err := p.st.Record(p.t.Context(), obs)
	require.NoError(p.t, err)
	for i := range recorded {
		require.NoError(p.t, recorded[i].Err)
	}
}

func (p *pipeline) end(r upcomingRun) {
	p.t.Helper()
	first := sizing.Observation{Try: r.try, Outcome: sizing.Success, MemoryMax: r.peak, Duration: time.Minute, Features: r.features}
	if r.granted == 0 || r.granted >= r.peak {
		p.record(first)
		return
	}
	killed, second := first, first
	killed.Outcome, killed.MemoryMax, killed.Allocated = sizing.OOMKilled, 0, sizing.Resources{Memory: r.granted}
	if second.Try.Number = 2; p.resume {
		second.MemoryMax = r.granted / 2
	}
	p.record(killed, second)
}

// predict uses the active model after it has learned all stored rows, as the service does.
func (p *pipeline) predict(runs []upcomingRun) {
	p.t.Helper()
	stored, err := p.st.ActiveModel(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	model, err := taskmodel.Open(stored.Blob)
	require.NoError(p.t, err)
	tail, err := p.st.Since(p.t.Context(), task(p.name), stored.LastSeq, 5000)
	require.NoError(p.t, err)
	for i := range tail.Rows {
		model.Learn(taskmodel.NewTrainingRow(&tail.Schema, &tail.Rows[i]))
	}
	var receipts []sizing.Receipt
	for i := range runs {
		r := &runs[i]
		sized := model.Size(taskmodel.Question{Features: r.features, RiskTarget: sizing.DefaultRiskTarget})
		if p.bad > 0 && stored.Version >= p.bad {
			sized.Limit = sized.Limit.Times(badFactor)
		}
		r.granted = sized.Limit
		receipts = append(receipts, sizing.Receipt{Ask: sizing.Ask{Try: r.try, Features: r.features}, At: time.Now(), Allocation: sizing.Allocation{
			PredictionID: r.try.RunID, Task: r.try.TaskKey, Memory: sizing.Grant{Request: sized.Limit, Limit: sized.Limit},
			Risk: sizing.Risk{Promised: sized.Promised}, Guard: sized.Guard, Model: &sizing.ModelRef{Version: stored.Version, TrainedAt: stored.TrainedAt},
		}})
	}
	require.NoError(p.t, p.st.SaveReceipts(p.t.Context(), receipts))
}

func (p *pipeline) trained(tr *trainer.Trainer, n int) *pipeline {
	p.t.Helper()
	for range n {
		p.end(p.newRun())
	}
	report, err := tr.TrainNow(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	require.True(p.t, report.Published, report.Reason)
	return p
}

const badFactor = 0.3

// shrink multiplies the peaks that the experts remember by badFactor, so that their grants are too small. It also removes
// the cold-start rule and the peaks of identical inputs, which would correct these grants.
func (p *pipeline) shrink(m *taskmodel.Model) {
	for i := range m.Experts.Rows {
		m.Experts.Rows[i].Log += math.Log(badFactor)
	}
	m.Experts.MaxPeak *= badFactor
	m.ColdStart = bayes.Average{} // the cold-start rule would answer well
	noGroups := []byte{0xa0}      // an empty CBOR map; with groups, the newest peaks of identical inputs would be lower bounds of the grants
	require.NoError(p.t, m.Models.Groups.UnmarshalCBOR(noGroups))
}

// promoteBad publishes a shrunken copy of the active model with a valid checksum.
func (p *pipeline) promoteBad() int {
	p.t.Helper()
	bad, err := p.st.ActiveModel(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	model, err := taskmodel.Open(bad.Blob)
	require.NoError(p.t, err)
	p.shrink(model)
	bad.Blob, err = model.Blob()
	require.NoError(p.t, err)
	version, err := p.st.Publish(p.t.Context(), bad, bad.Version)
	require.NoError(p.t, err)
	return version
}

// run is runUntil that ends after the first rollback.
func (p *pipeline) run(tr *trainer.Trainer, n, parallel int) (ended, killed int, rolledBack bool) {
	p.t.Helper()
	return p.runUntil(tr, n, parallel, 1)
}

// runUnwatched executes n runs without trainings, and thus without the watchdog. It returns the number of killed first
// tries.
func (p *pipeline) runUnwatched(n, parallel int) (killed int) {
	p.t.Helper()
	for ended := 0; ended < n; ended += parallel {
		runs := make([]upcomingRun, parallel)
		for i := range runs {
			runs[i] = p.newRun()
		}
		p.predict(runs)
		for i := range runs {
			p.end(runs[i])
			if runs[i].granted < runs[i].peak {
				killed++
			}
		}
	}
	return killed
}

// runUntil executes n runs, with the trainings that are due after each run. Of these runs it predicts `parallel` at a time,
// before any of them ends. It ends early when the audit trail lists `rollBacks` rollbacks of the task; then rolledBack is true.
func (p *pipeline) runUntil(tr *trainer.Trainer, n, parallel, rollBacks int) (ended, killed int, rolledBack bool) {
	p.t.Helper()
	for ended < n && !rolledBack {
		runs := make([]upcomingRun, parallel)
		for i := range runs {
			runs[i] = p.newRun()
		}
		p.predict(runs)
		for i := range runs {
			p.end(runs[i])
			ended++
			if runs[i].granted < runs[i].peak {
				killed++
			}
			for runOnce(p.t, tr) {
			}
			if rolledBack = len(p.rollBacks()) >= rollBacks; rolledBack {
				break
			}
		}
	}
	return ended, killed, rolledBack
}

func (p *pipeline) rollBacks() (found []store.AuditEntry) {
	p.t.Helper()
	entries, err := p.st.Audit(p.t.Context(), store.AuditFilter{Task: task(p.name)}, 1000)
	require.NoError(p.t, err)
	for _, e := range entries {
		if e.Action == store.ModelRolledBack {
			found = append(found, e)
		}
	}
	return found
}

func TestBadModelIsRolledBack(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for minutes under the race detector, and tests no concurrency")
	}
	for name, c := range map[string]struct {
		parallel int  // runs that are predicted before any of them ends
		lasting  bool // whether learning does not repair the model
	}{
		"parallel runs":                  {16, false},
		"a lasting fault":                {1, true},
		"a lasting fault, parallel runs": {8, true},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStore(t)
			tr := newTrainer(st, trainer.Config{})
			p := newPipeline(t, st, "load").trained(tr, 120)
			_, killed, rolledBack := p.run(tr, 32, c.parallel)
			require.False(t, rolledBack)
			require.LessOrEqual(t, killed, 4)

			good := st.active(t, "load")
			bad := p.promoteBad()
			if c.lasting {
				p.bad = bad
			}
			ended, killed, rolledBack := p.run(tr, 200, c.parallel)
			t.Logf("seed 20261121: version %d, published after the good version %d, was rolled back after %d outcomes, %d of them kills", bad, good, ended, killed)
			require.True(t, rolledBack)
			assert.Less(t, st.active(t, "load"), bad)
			entry := p.rollBacks()[0]
			assert.Equal(t, store.Watchdog, entry.Who)
			assert.JSONEq(t, fmt.Sprintf(`{"version": %d, "pinned_by": "watchdog"}`, st.active(t, "load")), string(entry.After))
			assert.Regexp(t, `^of \d+ first tries answered by version \d+ and later, \d+ were killed where 0\.\d+ were promised, and version \d+ would have held$`, entry.Reason)
			withdrawn := p.withdrawn() // only versions that are still stored
			require.NotEmpty(t, withdrawn)
			assert.GreaterOrEqual(t, slices.Min(withdrawn), bad)

			// The next training starts from the good version and is evaluated.
			p.bad = 0
			ended, killed, _ = p.runUntil(tr, 60, c.parallel, 2)
			t.Logf("after the rollback: %d outcomes, %d kills, version %d active", ended, killed, st.active(t, "load"))
			assert.Len(t, p.rollBacks(), 1)
			assert.LessOrEqual(t, killed, 4)
			assert.NotContains(t, p.withdrawn(), st.active(t, "load"))
			assert.Greater(t, st.active(t, "load"), bad, "a newer version must win an evaluation")
		})
	}
}

func TestBadModelIsRolledBackIfRetriesResume(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	bad := p.promoteBad()
	p.resume = true
	require.Greater(t, p.runUnwatched(16, 16), 10)
	for runOnce(t, tr) {
	}
	require.Len(t, p.rollBacks(), 1)
	assert.Contains(t, p.withdrawn(), bad)
}

// The model in memory may recover before the watchdog runs. But the stored active version remains bad, and the next replica that
// starts would load this version.
func TestRecoveredBadModelIsRolledBack(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	good := st.active(t, "load")
	bad := p.promoteBad()
	early, later := p.runUnwatched(16, 16), p.runUnwatched(192, 16)
	require.Greater(t, early, 10)
	require.LessOrEqual(t, later, 8, "the model must recover")

	for runOnce(t, tr) {
	}
	require.Len(t, p.rollBacks(), 1)
	assert.Contains(t, p.withdrawn(), bad)
	assert.NotContains(t, p.withdrawn(), good)
	t.Logf("seed 20261121: %d of 16 were killed, then %d of 192: %s", early, later, p.rollBacks()[0].Reason)
	assert.Regexp(t, `^of 1\d first tries`, p.rollBacks()[0].Reason, "tries after the recovery must not be compared")
}

// Another replica publishes while the watchdog compares versions, and the store deletes the oldest
// version.
func TestTrainingContinuesIfAComparedVersionIsDeleted(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	good := st.active(t, "load")
	p.promoteBad()
	p.runUnwatched(16, 16)
	isListed := false
	st.listed = func() {
		isListed = true
		st.sql(t, fmt.Sprintf("DELETE FROM model WHERE version = %d", good))
	}
	_, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	require.True(t, isListed)
	assert.Empty(t, p.rollBacks())
}

func TestTaskChangeBetweenTrainingsCausesNoRollback(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	p.runUnwatched(16, 16)
	for runOnce(t, tr) {
	}
	_, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	require.Greater(t, st.active(t, "load"), 1, "there must be an earlier version")
	p.factor = 3
	killed := p.runUnwatched(208, 16)
	for runOnce(t, tr) {
	}
	t.Logf("seed 20261121: %d of 208 were killed", killed)
	assert.Greater(t, killed, 10)
	assert.Empty(t, p.rollBacks())
}

func (p *pipeline) withdrawn() (versions []int) {
	p.t.Helper()
	stored, err := p.st.ModelVersions(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	for _, m := range stored {
		if m.Withdrawn {
			versions = append(versions, m.Version)
		}
	}
	return versions
}

func TestQuicklyRecoveringModelIsNotRolledBack(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	p.promoteBad()
	ended, killed, rolledBack := p.run(tr, 60, 1)
	t.Logf("seed 20261121: %d outcomes, %d kills", ended, killed)
	assert.False(t, rolledBack)
	assert.Positive(t, killed)
	assert.LessOrEqual(t, killed, 6)
}

// The runs need three times as much from some point on, and no earlier version would have done better.
func TestTaskChangeCausesNoRollback(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for minutes under the race detector, and tests no concurrency")
	}
	for _, parallel := range []int{1, 24} {
		t.Run(fmt.Sprint(parallel, " at a time"), func(t *testing.T) {
			st := newStore(t)
			tr := newTrainer(st, trainer.Config{})
			p := newPipeline(t, st, "load").trained(tr, 120)
			_, _, rolledBack := p.run(tr, 24, parallel)
			require.False(t, rolledBack)
			p.factor = 3
			ended, killed, rolledBack := p.run(tr, 72, parallel)
			t.Logf("seed 20261121: %d outcomes, %d kills", ended, killed)
			assert.False(t, rolledBack)
			assert.Positive(t, killed)
		})
	}
}

func TestPinnedModelIsNotReplaced(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	newPipeline(t, st, "load").trained(tr, 60)
	_, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	require.NoError(t, st.Activate(sizing.WithActor(t.Context(), "ada"), task("load"), 1))
	report, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, trainer.Report{Version: 1, Reason: "version 1 is pinned by ada: nothing is published until it is unpinned"}, report)
	require.NoError(t, st.Unpin(t.Context(), task("load")))
	report, err = tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []any{true, 3}, []any{report.Published, report.Version})
}

// A pin prevents replacement by training, but not a rollback by the watchdog.
func TestWatchdogRollsBackPinnedModel(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	bad := p.promoteBad()
	require.NoError(t, st.Activate(sizing.WithActor(t.Context(), "ada"), task("load"), bad))
	ended, killed, rolledBack := p.run(tr, 100, 16)
	t.Logf("seed 20261121: rolled back after %d outcomes, %d kills", ended, killed)
	assert.True(t, rolledBack)
	assert.Equal(t, 1, st.active(t, "load"))
}

// A person who activates an older version has rejected the newer ones.
func TestWatchdogRollsBackToEarlierVersionsOnly(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").trained(tr, 120)
	good, err := st.ActiveModel(t.Context(), task("load"))
	require.NoError(t, err)
	bad := p.promoteBad()
	newer, err := st.Publish(t.Context(), good, bad)
	require.NoError(t, err)
	require.Greater(t, newer, bad)
	require.NoError(t, st.Activate(sizing.WithActor(t.Context(), "ada"), task("load"), bad))
	_, _, rolledBack := p.runUntil(tr, 100, 16, 2) // the audit trail lists the activation of the older version as the first rollback
	require.True(t, rolledBack)
	assert.Equal(t, good.Version, st.active(t, "load"))
	assert.NotContains(t, p.withdrawn(), newer)
}
