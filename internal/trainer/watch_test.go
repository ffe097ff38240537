package trainer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/trainer"
)

// pipeline is a task whose runs need about a GiB for each of 1 to 8 inputs, asked of a
// model and told to the store as a service would.
type pipeline struct {
	t      *testing.T
	st     *interposed
	rng    *rand.Rand
	name   string
	runs   int
	factor float64 // of what it needs
	bad    int     // from this version on answers are three tenths, whatever is learned; 0: none
}

func newPipeline(t *testing.T, st *interposed, name string) *pipeline {
	return &pipeline{t: t, st: st, rng: rand.New(rand.NewPCG(20261121, 14)), name: name, factor: 1}
}

// planned is a run that was not started yet.
type planned struct {
	try      sizing.TryKey
	features sizing.Features
	peak     sizing.Bytes
	granted  sizing.Bytes
}

func (p *pipeline) plan() planned {
	p.runs++
	n := float64(1 + p.rng.IntN(8))
	return planned{
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

// end tells what came of a run: a success, or a kill and then a success.
func (p *pipeline) end(r planned) {
	p.t.Helper()
	first := sizing.Observation{Try: r.try, Outcome: sizing.Success, MemoryMax: r.peak, Duration: time.Minute, Features: r.features}
	if r.granted == 0 || r.granted >= r.peak {
		p.record(first)
		return
	}
	killed, second := first, first
	killed.Outcome, killed.MemoryMax, killed.Allocated = sizing.OOMKilled, 0, sizing.Resources{Memory: r.granted}
	second.Try.Number = 2
	p.record(killed, second)
}

// ask has the active model answer, told of all that is stored, as by receipt.
func (p *pipeline) ask(runs []planned) {
	p.t.Helper()
	stored, err := p.st.ActiveModel(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	model, err := fitting.Open(stored.Blob)
	require.NoError(p.t, err)
	tail, err := p.st.Since(p.t.Context(), task(p.name), stored.LastSeq, 5000)
	require.NoError(p.t, err)
	for i := range tail.Rows {
		model.Learn(fitting.NewTrainingRow(&tail.Schema, &tail.Rows[i]))
	}
	var receipts []sizing.Receipt
	for i := range runs {
		r := &runs[i]
		sized := model.Size(fitting.Question{Features: r.features, RiskTarget: sizing.DefaultRiskTarget})
		if p.bad > 0 && stored.Version >= p.bad {
			sized.Limit = sized.Limit.Times(less)
		}
		r.granted = sized.Limit
		receipts = append(receipts, sizing.Receipt{Ask: sizing.Ask{Try: r.try, Features: r.features}, At: time.Now(), Allocation: sizing.Allocation{
			PredictionID: r.try.RunID, Task: r.try.TaskKey, Memory: sizing.Grant{Request: sized.Limit, Limit: sized.Limit},
			Risk: sizing.Risk{Promised: sized.Promised}, Guard: sized.Guard, Model: &sizing.ModelRef{Version: stored.Version, TrainedAt: stored.TrainedAt},
		}})
	}
	require.NoError(p.t, p.st.SaveReceipts(p.t.Context(), receipts))
}

// taught has n runs behind it and a first model.
func (p *pipeline) taught(tr *trainer.Trainer, n int) *pipeline {
	p.t.Helper()
	for range n {
		p.end(p.plan())
	}
	report, err := tr.TrainNow(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	require.True(p.t, report.Published, report.Reason)
	return p
}

const less = 0.3

// shrink has the model believe of every row it remembers that it needed three tenths.
func shrink(m *fitting.Model) {
	for i := range m.Experts.Ledger {
		m.Experts.Ledger[i].Log += math.Log(less)
	}
	m.Experts.MaxPeak *= less
	for _, g := range m.Models.Groups {
		for i := range g.Newest {
			g.Newest[i] *= less
		}
	}
}

// promoteBad publishes a copy of the active model whose allocations are three tenths,
// intact by its checksum.
func (p *pipeline) promoteBad() int {
	p.t.Helper()
	bad, err := p.st.ActiveModel(p.t.Context(), task(p.name))
	require.NoError(p.t, err)
	model, err := fitting.Open(bad.Blob)
	require.NoError(p.t, err)
	shrink(model)
	bad.Blob, err = model.Blob()
	require.NoError(p.t, err)
	version, err := p.st.Publish(p.t.Context(), bad, bad.Version)
	require.NoError(p.t, err)
	return version
}

// goOn has n runs, of which side run side by side, until the watchdog acts; it returns
// how many ended and how many first tries were killed.
func (p *pipeline) goOn(tr *trainer.Trainer, n, side int) (ended, killed int, back bool) {
	p.t.Helper()
	return p.goOnTo(tr, n, side, 1)
}

// unwatched has n runs before the watchdog has its turn.
func (p *pipeline) unwatched(n, side int) (killed int) {
	p.t.Helper()
	for ended := 0; ended < n; ended += side {
		runs := make([]planned, side)
		for i := range runs {
			runs[i] = p.plan()
		}
		p.ask(runs)
		for i := range runs {
			p.end(runs[i])
			if runs[i].granted < runs[i].peak {
				killed++
			}
		}
	}
	return killed
}

// goOnTo goes on until so many rollbacks.
func (p *pipeline) goOnTo(tr *trainer.Trainer, n, side, backs int) (ended, killed int, back bool) {
	p.t.Helper()
	for ended < n && !back {
		runs := make([]planned, side)
		for i := range runs {
			runs[i] = p.plan()
		}
		p.ask(runs)
		for i := range runs {
			p.end(runs[i])
			ended++
			if runs[i].granted < runs[i].peak {
				killed++
			}
			for once(p.t, tr) {
			}
			if back = len(p.rollBacks()) >= backs; back {
				break
			}
		}
	}
	return ended, killed, back
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

func TestABadModelIsRolledBackByItself(t *testing.T) {
	if testing.Short() {
		t.Skip("learns for minutes under the race detector, without concurrency")
	}
	for claim, c := range map[string]struct {
		side    int  // runs that are asked about before any of them ends
		lasting bool // what is bad is no learning's to heal
	}{
		"of runs side by side":                     {16, false},
		"whatever it learns":                       {1, true},
		"whatever it learns, of runs side by side": {8, true},
	} {
		t.Run(claim, func(t *testing.T) {
			st := newStore(t)
			tr := newTrainer(st, trainer.Config{})
			p := newPipeline(t, st, "load").taught(tr, 120)
			_, killed, back := p.goOn(tr, 32, c.side)
			require.False(t, back)
			require.LessOrEqual(t, killed, 4)

			good := st.active(t, "load")
			bad := p.promoteBad()
			if c.lasting {
				p.bad = bad
			}
			ended, killed, back := p.goOn(tr, 200, c.side)
			t.Logf("seed 20261121: version %d of %d was rolled back after %d outcomes, %d of them kills", bad, good, ended, killed)
			require.True(t, back)
			assert.Less(t, st.active(t, "load"), bad)
			entry := p.rollBacks()[0]
			assert.Equal(t, store.Watchdog, entry.Who)
			assert.JSONEq(t, fmt.Sprintf(`{"version": %d, "pinned_by": "watchdog"}`, st.active(t, "load")), string(entry.After))
			assert.Regexp(t, `^of \d+ first tries that version \d+ and those after it answered, \d+ were killed where 0\.\d+ were promised, and version \d+ would have held$`, entry.Reason)
			assert.Contains(t, p.withdrawn(), bad)

			// What is trained next goes out from the good one, and is judged anew.
			p.bad = 0
			ended, killed, _ = p.goOnTo(tr, 60, c.side, 2)
			t.Logf("after it: %d outcomes, %d kills, version %d active", ended, killed, st.active(t, "load"))
			assert.Len(t, p.rollBacks(), 1)
			assert.LessOrEqual(t, killed, 4)
			assert.NotContains(t, p.withdrawn(), st.active(t, "load"))
			assert.Greater(t, st.active(t, "load"), bad, "a newer one won an exam against it")
		})
	}
}

// What was published is bad, though it learned better by the time of its trial: whoever
// opens it next opens what is bad.
func TestABadModelIsRolledBackThoughItHealedBeforeTheWatchdogsTurn(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").taught(tr, 120)
	good := st.active(t, "load")
	bad := p.promoteBad()
	sick, healed := p.unwatched(16, 16), p.unwatched(192, 16)
	require.Greater(t, sick, 10)
	require.LessOrEqual(t, healed, 8, "it healed")

	for once(t, tr) {
	}
	require.Len(t, p.rollBacks(), 1)
	assert.Contains(t, p.withdrawn(), bad)
	assert.NotContains(t, p.withdrawn(), good)
	t.Logf("seed 20261121: %d of 16 were killed, then %d of 192: %s", sick, healed, p.rollBacks()[0].Reason)
	assert.Regexp(t, `^of 1\d first tries`, p.rollBacks()[0].Reason, "what held since is no evidence")
}

// A task that changed while nobody watched is no more its model's fault.
func TestATaskThatChangedUnwatchedIsNotBlamedOnItsModel(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").taught(tr, 120)
	p.unwatched(16, 16)
	for once(t, tr) {
	}
	_, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	require.Greater(t, st.active(t, "load"), 1, "there is somebody to go back to")
	p.factor = 3
	killed := p.unwatched(208, 16)
	for once(t, tr) {
	}
	t.Logf("seed 20261121: %d of 208 were killed", killed)
	assert.Greater(t, killed, 10)
	assert.Empty(t, p.rollBacks())
}

// withdrawn are the stored versions that were.
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

// What learns from its own mistakes at once needs no watchdog.
func TestABadModelThatHealsItselfIsLeftAlone(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").taught(tr, 120)
	p.promoteBad()
	ended, killed, back := p.goOn(tr, 60, 1)
	t.Logf("seed 20261121: %d outcomes, %d kills", ended, killed)
	assert.False(t, back)
	assert.Positive(t, killed)
	assert.LessOrEqual(t, killed, 6)
}

// All of them are killed for a while, and no earlier version would have done better.
func TestATaskThatChangesIsNotBlamedOnItsModel(t *testing.T) {
	if testing.Short() {
		t.Skip("learns for minutes under the race detector, without concurrency")
	}
	for _, side := range []int{1, 24} {
		t.Run(fmt.Sprint(side, " at a time"), func(t *testing.T) {
			st := newStore(t)
			tr := newTrainer(st, trainer.Config{})
			p := newPipeline(t, st, "load").taught(tr, 120)
			_, _, back := p.goOn(tr, 24, side)
			require.False(t, back)
			p.factor = 3
			ended, killed, back := p.goOn(tr, 72, side)
			t.Logf("seed 20261121: %d outcomes, %d kills", ended, killed)
			assert.False(t, back)
			assert.Positive(t, killed)
		})
	}
}

func TestNothingIsTrainedOverAPinnedModelUntilItIsUnpinned(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	newPipeline(t, st, "load").taught(tr, 60)
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

// A person who pins a model does not mean that runs may die of it.
func TestTheWatchdogDoesNotStopAtAPin(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	p := newPipeline(t, st, "load").taught(tr, 120)
	bad := p.promoteBad()
	require.NoError(t, st.Activate(sizing.WithActor(t.Context(), "ada"), task("load"), bad))
	ended, killed, back := p.goOn(tr, 100, 16)
	t.Logf("seed 20261121: rolled back after %d outcomes, %d kills", ended, killed)
	assert.True(t, back)
	assert.Equal(t, 1, st.active(t, "load"))
}
