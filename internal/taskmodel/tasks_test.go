package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

const (
	gib    = sizing.GiB
	target = sizing.DefaultRiskTarget
)

// A generator draws the features and the peak in GiB of one run.
type generator func(rng *rand.Rand) (sizing.Features, float64)

// noise draws a lognormal factor; deviation is the standard deviation of its logarithm.
func noise(rng *rand.Rand, deviation float64) float64 {
	return math.Exp(deviation * rng.NormFloat64())
}

// generators draw runs of tasks whose peaks depend on the features in a simple way, or not at all.
var generators = map[string]generator{
	"log-linear in size":     growing,
	"two kinds, eightfold":   kinds,
	"constant":               constant,
	"step at fifty thousand": step,
}

// growing draws runs with 1 to 55 thousand rows: 0.2 GiB at one thousand rows, 4.9 GiB at 55 thousand,
// times noise.
func growing(rng *rand.Rand) (sizing.Features, float64) {
	size := math.Exp(4 * rng.Float64())
	return sizing.Features{"rows": sizing.NumberValue(1000 * size)}, 0.2 * math.Pow(size, 0.8) * noise(rng, 0.15)
}

func kinds(rng *rand.Rand) (sizing.Features, float64) {
	if rng.IntN(2) == 0 {
		return sizing.Features{"kind": sizing.TextValue("small")}, noise(rng, 0.1)
	}
	return sizing.Features{"kind": sizing.TextValue("large")}, 8 * noise(rng, 0.1)
}

func constant(rng *rand.Rand) (sizing.Features, float64) {
	return sizing.Features{"region": sizing.TextValue("emea")}, 2 * noise(rng, 0.02)
}

func step(rng *rand.Rand) (sizing.Features, float64) {
	rows := 100_000 * rng.Float64()
	peak := noise(rng, 0.05)
	if rows > 50_000 {
		peak *= 6
	}
	return sizing.Features{"rows": sizing.NumberValue(rows)}, peak
}

// task is one task with its model, and with its history as in the store.
type task struct {
	t       *testing.T
	model   *taskmodel.Model
	guard   taskmodel.Guard
	history sizing.History
	trained int // number of rows at the last training
	runs    int
	between time.Duration // from the end of a try to the end of the next one
}

func newTask(t *testing.T) *task {
	return &task{t: t, model: taskmodel.New(), between: time.Hour}
}

func question(f sizing.Features) taskmodel.Question {
	return taskmodel.Question{
		Features: f, Requested: sizing.Resources{Memory: 32 * gib}, Cap: 64 * gib, RiskTarget: target, Lifts: sizing.DefaultMaxLifts,
	}
}

func bytes(gibs float64) sizing.Bytes { return sizing.Bytes(gibs * float64(gib)) }

// row appends a try to the history and returns it. It sets the sequence number and the times of the try and, if they are missing,
// its run id and its number.
func (k *task) row(f sizing.Features, r sizing.HistoryRow) *sizing.HistoryRow {
	k.history.LastSeq++
	k.history.Total++
	k.history.Schema.Extend(f)
	r.Seq, r.MapIndex, r.Weight = k.history.LastSeq, sizing.NoMap, max(r.Weight, 1)
	r.At = time.Unix(0, 0).Add(time.Duration(k.history.LastSeq) * k.between).UTC()
	r.StartedAt = r.At.Add(-r.Duration)
	if r.RunID == "" {
		r.RunID = fmt.Sprint("run-", k.history.LastSeq)
	}
	r.Try = max(r.Try, 1)
	r.Features = k.history.Schema.Row(f, nil)
	k.history.Rows = append(k.history.Rows, r)
	return &k.history.Rows[len(k.history.Rows)-1]
}

// report appends one ended try to the history, and the model learns it.
func (k *task) report(f sizing.Features, r sizing.HistoryRow) {
	row := taskmodel.NewTrainingRow(&k.history.Schema, k.row(f, r))
	row.Features = f
	k.model.Learn(row)
}

func (k *task) reportSuccess(f sizing.Features, gibs float64) {
	k.report(f, measuredRun(gibs))
}

// measuredRun is a success of two minutes with an allocation of 32 GiB.
func measuredRun(gibs float64) sizing.HistoryRow {
	return sizing.HistoryRow{
		Outcome: sizing.Success, MemoryMax: bytes(gibs), Duration: 2 * time.Minute, CPUMax: 0.9,
		Allocated: sizing.Resources{Memory: 32 * gib}, Requested: sizing.Resources{Memory: 32 * gib},
	}
}

func killed(gibs float64) sizing.HistoryRow {
	return sizing.HistoryRow{
		Outcome: sizing.OOMKilled, Duration: time.Minute,
		Allocated: sizing.Resources{Memory: bytes(gibs)}, Requested: sizing.Resources{Memory: 32 * gib},
	}
}

type runResult struct {
	granted  float64 // to the first try, in GiB
	wasted   float64 // by all tries, in GiB
	promised float64 // risk of the first try
	killed   bool
}

func (k *task) launch(run int, f sizing.Features) taskmodel.Answer {
	q := question(f)
	q.GuardFactor = k.guard.Factor(launchTime)
	sized := k.model.Size(q)
	if sized.Promised != nil {
		k.guard.Grant(uint64(run), *sized.Promised, launchTime)
	}
	return sized
}

// launchTime is the time of every launch, because the guard does not see the times of the history.
var launchTime = time.Unix(0, 0)

// run sizes a run that needs `gibs` GiB, and reports its tries. After a kill, the next try gets the amount of a lift.
func (k *task) run(f sizing.Features, gibs float64) (s runResult) {
	k.t.Helper()
	k.runs++
	id := fmt.Sprint("sized-", k.runs)
	sized := k.launch(k.runs, f)
	if sized.Promised != nil {
		s.promised = *sized.Promised
	}
	s.granted = float64(sized.Limit) / float64(gib)
	promised := sized.Promised
	for try := 1; ; try++ {
		require.Less(k.t, try, 6, "the last rung is the cap")
		end := measuredRun(gibs)
		end.RunID, end.Try, end.Promised, end.Allocated.Memory = id, try, promised, sized.Limit
		if bytes(gibs) <= sized.Limit {
			k.guard.Forget(uint64(k.runs))
			s.wasted += float64(sized.Limit)/float64(gib) - gibs
			k.report(f, end)
			return s
		}
		k.guard.Kill(uint64(k.runs), try)
		k.guard.Retry(uint64(k.runs), try+1)
		s.killed = true
		s.wasted += float64(sized.Limit) / float64(gib)
		end.Outcome, end.MemoryMax, promised = sizing.OOMKilled, 0, nil
		k.report(f, end)
		q := question(f)
		q.Above, q.Lifts = sized.Limit, sizing.DefaultMaxLifts-try+1
		sized = k.model.Size(q)
	}
}

// train fits the model if the number of rows since the last fit is at least 25, and at least a tenth of the rows of that fit.
func (k *task) train() {
	k.t.Helper()
	added := len(k.history.Rows) - k.trained
	if added < 25 || added*10 < k.trained {
		return
	}
	k.fit()
}

func (k *task) fit() taskmodel.Outcome {
	k.t.Helper()
	k.trained = len(k.history.Rows)
	challenger, outcome, err := taskmodel.Fit(&k.history, k.model)
	require.NoError(k.t, err)
	if challenger != nil {
		k.model = challenger
	}
	return outcome
}

// trainedTask returns a task that has learned n runs, and the random number generator that drew them.
func trainedTask(t *testing.T, draw generator, seed uint64, n int) (*task, *rand.Rand) {
	t.Helper()
	k, rng := newTask(t), rand.New(rand.NewPCG(seed, 77))
	for range n {
		f, gibs := draw(rng)
		k.reportSuccess(f, gibs)
		k.train()
	}
	if n >= 20 {
		k.fit()
	}
	return k, rng
}

// fork copies a task without its guard. Copying takes less time than training again.
func (k *task) fork() *task {
	k.t.Helper()
	f := &task{t: k.t, model: reopen(k.t, blobOf(k.t, k.model)), history: k.history, trained: k.trained, runs: k.runs, between: k.between}
	f.history.Rows = slices.Clone(k.history.Rows)
	f.history.Schema.Fields = slices.Clone(k.history.Schema.Fields)
	for i := range f.history.Schema.Fields {
		f.history.Schema.Fields[i].Categories = slices.Clone(f.history.Schema.Fields[i].Categories)
	}
	return f
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 77)) }
