package backtest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

const header = "dag_id,task_id,run_id,started_at,duration_s,memory_requested_bytes,memory_max_bytes,feature.colour,feature.size,feature.age\n"

// twoRows has two runs. Run r1 takes one hour and has a peak of 2 GB. Run r2 starts half an hour later, takes two hours and
// has a peak of 3 GB.
const twoRows = header +
	"d,t,r2,2020-01-01T00:30:00Z,7200,8e9,3e9,red,20,1\n" +
	"d,t,r1,2020-01-01T00:00:00Z,3600,8e9,2e9,blue,10,1\n"

func readTrace(t *testing.T, csv string) *Trace {
	trace, err := Read("history.csv", strings.NewReader(csv), Selection{})
	require.NoError(t, err)
	return trace
}

func replayOne(t *testing.T, csv string, cfg Config) Result {
	report, err := Run(context.Background(), readTrace(t, csv), cfg)
	require.NoError(t, err)
	return report.Results[0]
}

func TestCostsCountEveryAttempt(t *testing.T) {
	for claim, c := range map[string]struct {
		cfg    Config
		wasted float64 // GB·h
		kills  int
	}{
		"static wastes 6 GB for one hour, then 5 GB for two hours":                     {Config{Policies: []string{"static"}}, 6 + 10, 0},
		"max wastes 6 GB for one hour, then 2 GB (killed) and 1 GB for two hours each": {Config{Policies: []string{"max"}}, 6 + 4 + 2, 1},
		"a kill after half of the time costs half":                                     {Config{Policies: []string{"max"}, TimeToFailure: .5}, 6 + 2 + 2, 1},
		"a peak is not known while its try still runs":                                 {Config{Policies: []string{"max"}, Delayed: true}, 6 + 10, 0},
	} {
		got := replayOne(t, twoRows, c.cfg)
		assert.InDelta(t, 8, got.UsedGBh, 1e-9, claim)
		assert.InDelta(t, c.wasted, got.WastedGBh, 1e-9, claim)
		assert.InDelta(t, 100*8/(8+c.wasted), got.Utilisation, 1e-9, claim)
		assert.Equal(t, c.kills, got.Kills, claim)
		assert.Equal(t, 2+c.kills, got.Attempts, claim)
		assert.InDelta(t, 50*float64(c.kills), got.Killed, 1e-9, claim)
	}
}

// recordingPolicy gives up after a kill.
type recordingPolicy struct {
	limit sizing.Bytes
	notes []string
}

func (w *recordingPolicy) Predict(q Question) Answer {
	if q.Above > 0 {
		w.notes = append(w.notes, "lift "+q.Try.RunID)
		return Answer{}
	}
	risk := .25
	w.notes = append(w.notes, "predict "+q.Try.RunID)
	return Answer{Limit: w.limit, Promised: &risk}
}

func (w *recordingPolicy) Learn(o Outcome) error {
	what := "learn "
	if o.Killed {
		what = "kill "
	}
	w.notes = append(w.notes, what+o.Try.RunID)
	return nil
}

func replayRecorded(t *testing.T, csv string, delayed bool, limit sizing.Bytes) (*recordingPolicy, Result) {
	policy, costs := &recordingPolicy{limit: limit}, newPolicyCosts()
	r := replay{trace: readTrace(t, csv), cfg: Config{Delayed: delayed}.withDefaults(), policy: policy, costs: costs}
	require.NoError(t, r.run(context.Background()))
	return policy, costs.result("recordingPolicy")
}

// overlapping has four runs. Run a takes 100 s. Run b takes 20 s while a runs. Run c starts after the end of b, and d starts
// exactly at the end of a.
const overlapping = header +
	"d,t,a,2020-01-01T00:00:00Z,100,,1e9,,,\n" +
	"d,t,b,2020-01-01T00:00:10Z,20,,1e9,,,\n" +
	"d,t,c,2020-01-01T00:00:50Z,500,,1e9,,,\n" +
	"d,t,d,2020-01-01T00:01:40Z,1,,1e9,,,\n"

func TestPoliciesPredictBeforeTheyLearn(t *testing.T) {
	immediate, _ := replayRecorded(t, overlapping, false, 2e9)
	assert.Equal(t, []string{"predict a", "learn a", "predict b", "learn b", "predict c", "learn c", "predict d", "learn d"}, immediate.notes)

	delayed, _ := replayRecorded(t, overlapping, true, 2e9)
	assert.Equal(t, []string{"predict a", "predict b", "learn b", "predict c", "learn a", "predict d"}, delayed.notes,
		"outcomes arrive in order of end time, never while the try runs")

	killed, _ := replayRecorded(t, overlapping[:strings.Index(overlapping, "d,t,b")], true, 5e8)
	assert.Equal(t, []string{"predict a", "kill a", "lift a"}, killed.notes, "the lift follows the kill at once")
}

func TestRiskComparesPromisesWithKills(t *testing.T) {
	_, res := replayRecorded(t, strings.Replace(overlapping, "20,,1e9", "20,,3e9", 1), false, 2e9)
	assert.Equal(t, 1, res.GaveUp)
	assert.Equal(t, 1, res.Kills)
	assert.Equal(t, 4, res.Attempts)
	require.NotNil(t, res.Risk)
	low, high := sizing.WilsonInterval(1, 4)
	assert.Equal(t, Risk{Rows: 4, PromisedSum: 1, Killed: 1, Promised: 25, Realised: 25, Low: 100 * low, High: 100 * high}, *res.Risk)
}

// As in the ledger of savings, only the peaks of successes count as used memory. Otherwise a cap that lets no run succeed
// would have the best utilisation.
func TestARunThatNeverSucceedsHasUsedNothing(t *testing.T) {
	_, res := replayRecorded(t, strings.Replace(overlapping, "20,,1e9", "20,,3e9", 1), false, 2e9)
	assert.Equal(t, 1, res.GaveUp)
	assert.InDelta(t, 601e9/gbHour, res.UsedGBh, 1e-12, "a, c and d succeed")
	assert.InDelta(t, (20*2e9+601e9)/gbHour, res.WastedGBh, 1e-12, "the whole grant of b, which was killed, and half of the grants of the others")
	assert.InDelta(t, 100*601./(601+40+601), res.Utilisation, 1e-9)

	_, res = replayRecorded(t, overlapping, false, 5e8)
	assert.Equal(t, 4, res.GaveUp)
	assert.Zero(t, res.UsedGBh)
	assert.Zero(t, res.Utilisation)

	_, res = replayRecorded(t, overlapping, false, 0)
	assert.Equal(t, 4, res.GaveUp, "without a single try")
	assert.Zero(t, res.Utilisation)
}

// With the limit 2 GB the policy gives up on the task with the larger peak. The order of the tasks is the same as with 4 GB.
func TestTheOrderOfTasksDoesNotDependOnThePolicy(t *testing.T) {
	two := header + "d,large,a,2020-01-01T00:00:00Z,100,,3e9,,,\n" + "d,small,b,2020-01-01T00:00:10Z,100,,1e9,,,\n"
	for _, limit := range []sizing.Bytes{2e9, 4e9} {
		_, res := replayRecorded(t, two, false, limit)
		require.Len(t, res.Tasks, 2)
		assert.Equal(t, "d/large", res.Tasks[0].Task)
	}
}

func TestReplayRejectsAPolicyThatDoesNotLift(t *testing.T) {
	stuck := newBaseline(func(int) rule { return static{} })
	trace := readTrace(t, overlapping)
	trace.Cap = 5e8 // below the peaks, so no lift is sufficient
	r := replay{trace: trace, cfg: Config{DefaultRequest: 1}.withDefaults(), policy: stuck, costs: newPolicyCosts()}
	r.cfg.DefaultRequest = 4e8
	require.ErrorContains(t, r.run(context.Background()), "row 1: policy answered 500000000 bytes after a kill at 500000000 bytes")
}

func TestOnlyHeavyTasksCanBeTheWorst(t *testing.T) {
	heavy := &taskCosts{task: sizing.TaskKey{Task: "heavy"}, totals: totals{rows: 100, killed: 2}, needed: 90}
	light := &taskCosts{task: sizing.TaskKey{Task: "light"}, totals: totals{rows: 100, killed: 50}, needed: 9}
	short := &taskCosts{task: sizing.TaskKey{Task: "short"}, totals: totals{rows: 99, killed: 50}, needed: 50}
	all := &taskCosts{needed: 149}
	assert.Equal(t, 2., worstHeavy([]*taskCosts{heavy, light, short}, all).Killed)
	assert.Nil(t, worstHeavy([]*taskCosts{light, short}, all))
	assert.InDelta(t, 50, worstHeavy([]*taskCosts{light}, all).Killed, 1e-9, "the only task is always heavy")
}

func TestTracesAreSortedByStart(t *testing.T) {
	trace := readTrace(t, twoRows+
		"d,t,lost,2020-01-01T00:00:00Z,3600,8e9,,red,1,1\n"+ // no peak
		"d,t,short,2020-01-01T00:00:00Z,,8e9,1e9,red,1,1\n") // no duration
	require.Len(t, trace.rows, 2)
	assert.Equal(t, 2, trace.LeftOut)
	assert.Equal(t, "r1", trace.rows[0].Try.RunID)
	assert.Equal(t, []float64{10, 20}, []float64{trace.rows[0].x, trace.rows[1].x}, "size is the first numeric feature")
	assert.Equal(t, minCap, trace.Cap)

	q := trace.question(0, 4e9)
	assert.Equal(t, sizing.Bytes(8e9), q.Static)
	bare := readTrace(t, overlapping)
	q = bare.question(0, 4e9)
	assert.Equal(t, sizing.Bytes(4e9), q.Static, "the default without a request")
	assert.Zero(t, q.Requested.Memory)
	assert.Zero(t, q.X, "no feature")
}

func TestJSONLinesOrderTheirFeaturesByName(t *testing.T) {
	line := `{"dag_id":"d","task_id":"t","run_id":"r","outcome":"success","memory_max_bytes":1000,"duration_seconds":5,"features":{"c":8,"b":7,"a":"x"}}` + "\n"
	trace := readTrace(t, line)
	assert.Equal(t, 7., trace.rows[0].x, "b is the first numeric feature by name")
	trace = readTrace(t, `{"metadata":{"note":["as CSV, feature.c, feature.a"]},`+strings.TrimPrefix(line, "{"))
	assert.Equal(t, 7., trace.rows[0].x, "a text is not a header")
}

func TestFirstFeatureOfACSVWithAByteOrderMark(t *testing.T) {
	trace := readTrace(t, "\ufefffeature.b,dag_id,task_id,run_id,started_at,duration_s,memory_max_bytes,feature.a\n7,d,t,r,2020-01-01T00:00:00Z,60,2e9,8\n")
	assert.Equal(t, 7., trace.rows[0].x, "b is the first numeric feature in the order of the columns")
}

func TestSelectionRestrictsATrace(t *testing.T) {
	csv := twoRows + "d,other,r3,2020-01-02T00:00:00Z,60,8e9,200e9,red,1,1\n"
	trace, err := Read("history.csv", strings.NewReader(csv), Selection{Tasks: []string{"t"}, Limit: 1})
	require.NoError(t, err)
	require.Len(t, trace.rows, 1)
	assert.Equal(t, minCap, trace.Cap, "rows outside the selection do not raise the cap")

	_, err = Read("history.csv", strings.NewReader(csv), Selection{Tasks: []string{"absent"}})
	require.ErrorContains(t, err, "nothing to replay")
	assert.Equal(t, sizing.Invalid, sizing.KindOf(err))
	trace, err = Read("history.csv", strings.NewReader(csv+"d,t,r4,never,1,1,1,,,\n"), Selection{})
	require.NoError(t, err)
	require.Len(t, trace.rows, 3)
	require.Len(t, trace.Rejected, 1)
	require.ErrorContains(t, trace.Rejected[0], "line 5: started_at")
}

func TestRunRejectsUnknownPolicies(t *testing.T) {
	_, err := Run(context.Background(), readTrace(t, twoRows), Config{Policies: []string{"oracle"}})
	require.ErrorContains(t, err, `policy "oracle": unknown; choose among loadaware, static`)

	steps := 0
	cfg := Config{Policies: []string{"static", "max", "oracle"}, Workers: 1, OnStep: func(Step) { steps++ }}
	_, err = Run(context.Background(), readTrace(t, twoRows), cfg)
	require.ErrorContains(t, err, `policy "oracle": unknown`)
	require.Zero(t, steps, "no replay starts")
}

func TestProgressAddsUpToTheSteps(t *testing.T) {
	trace := readTrace(t, twoRows)
	steps := 0
	cfg := Config{Policies: []string{"max"}, Progress: func(rows int) { steps += rows }}
	_, err := Run(context.Background(), trace, cfg)
	require.NoError(t, err)
	assert.Equal(t, cfg.Steps(trace), steps)
	assert.Equal(t, 2*len(DefaultPolicies()), Config{}.Steps(trace))
}

func TestARepeatedTryCountsOnce(t *testing.T) {
	repeated := readTrace(t, twoRows+
		"d,t,r1,2020-01-01T00:00:00Z,3600,8e9,2e9,blue,10,1\n"+ // equal
		"d,t,r2,2020-01-01T00:30:00Z,7200,8e9,4e9,red,20,1\n"+ // another peak
		"d,t,r3,2020-01-01T05:00:00Z,3600,8e9,,green,30,\n"+
		"d,t,r3,,,,5e9,,,7\n") // values that were missing
	assert.Equal(t, []int{3, 1, 0}, []int{repeated.Repeated, repeated.Contradicted, repeated.LeftOut})

	once := readTrace(t, twoRows+"d,t,r3,2020-01-01T05:00:00Z,3600,8e9,5e9,green,30,7\n")
	assert.Zero(t, once.Repeated)
	assert.Equal(t, once.rows, repeated.rows)
	for _, name := range Policies() {
		cfg := Config{Policies: []string{name}}
		want, err := Run(t.Context(), once, cfg)
		require.NoError(t, err)
		got, err := Run(t.Context(), repeated, cfg)
		require.NoError(t, err)
		assert.Equal(t, want.Results, got.Results, name)
		assert.Equal(t, 3, got.Repeated)
	}
}

// The context of a try is its metadata, usage and placement.
func TestTheFirstContextOfARepeatedTryStays(t *testing.T) {
	team := func(name string) sizing.Observation {
		return sizing.Observation{Metadata: sizing.Metadata{"team": {name}}, Usage: sizing.MeanUsage(nil).Set(sizing.CPUMean, 2)}
	}
	var all tries
	for _, o := range []sizing.Observation{{}, team("a"), {}, team("b")} {
		all.add(o)
	}
	require.Len(t, all.rows, 1)
	assert.Equal(t, team("a").Metadata, all.rows[0].Metadata)
	assert.Equal(t, 2., all.rows[0].Usage.Get(sizing.CPUMean))
	assert.Zero(t, all.contradicted)
}
