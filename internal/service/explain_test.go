package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// requireFactors requires that the base and the factors of an explanation multiply to the limit of the answer.
func requireFactors(t *testing.T, limit sizing.Bytes, e taskmodel.Explanation) {
	t.Helper()
	product := float64(e.Base)
	for _, term := range e.Terms {
		product *= term.Factor
	}
	require.Equal(t, limit, e.Granted)
	require.InEpsilon(t, float64(limit), product, 1e-9, "%+v", e)
}

func (r *replica) explain(a sizing.Ask) *service.ExplainedAnswer {
	r.t.Helper()
	e, err := r.Explain(r.t.Context(), &a)
	require.NoError(r.t, err)
	return e
}

func (r *replica) explainPrediction(id string) *service.ExplainedAnswer {
	r.t.Helper()
	receipt, err := r.Receipt(r.t.Context(), id)
	require.NoError(r.t, err)
	e, err := r.ExplainReceipt(r.t.Context(), &receipt)
	require.NoError(r.t, err)
	return e
}

func TestAnExplanationMatchesThePrediction(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	unknown := ask("unknown", "")
	for name, c := range map[string]struct {
		policy sizing.Policy
		ask    sizing.Ask
	}{
		"model":                {ask: ask("load", "")},
		"floor":                {policy: sizing.Policy{Floor: 12 * gib}, ask: ask("load", "")},
		"cap":                  {policy: sizing.Policy{Cap: gib / 4}, ask: ask("load", "")},
		"limit ratio":          {policy: sizing.Policy{LimitRatio: 2}, ask: ask("load", "")},
		"shadow":               {policy: sizing.Policy{Mode: sizing.Shadow}, ask: ask("load", "")},
		"off":                  {policy: sizing.Policy{Mode: sizing.Off}, ask: ask("load", "")},
		"small risk":           {policy: sizing.Policy{RiskTarget: 0.0001}, ask: ask("load", "")},
		"a task without a row": {ask: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, r.SetPolicy(t.Context(), c.ask.Try.TaskKey, c.policy))
			answer, e := r.predict(c.ask), r.explain(c.ask)
			assert.Equal(t, answer.Reason, e.Allocation.Reason)
			requireFactors(t, answer.Memory.Limit, e.Factors)
			if answer.Shadow != nil {
				require.NotNil(t, e.Shadow)
				requireFactors(t, answer.Shadow.Limit, *e.Shadow)
				assert.Empty(t, e.Factors.Terms)
			}
			past := r.explainPrediction(answer.PredictionID)
			requireFactors(t, answer.Memory.Limit, past.Factors)
			assert.Equal(t, e.Factors, past.Factors)
			assert.Empty(t, past.Note)
		})
	}
}

// The killed features have the first rung above the kill, which depends on the number of lifts that are left.
func TestGrantsAndFactorsOfRecentTriesAreThoseOfPredictions(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	require.True(t, r.lift(ask("load", "killed"), 2*gib).Retry)
	h := r.history("load")
	before, after, err := r.GrantsWith(t.Context(), task("load"), rows(4))
	require.NoError(t, err)
	tries, err := r.RecentFactors(t.Context(), task("load"), len(h.Rows))
	require.NoError(t, err)
	require.Equal(t, []int{len(h.Rows), len(h.Rows)}, []int{len(before), len(tries)})
	for i := range h.Rows {
		question := ask("load", "")
		require.Equal(t, question.Requested, h.Rows[i].Requested)
		assert.Equal(t, r.predict(question).Memory.Limit, after[i])
		question.Features = h.Schema.Features(h.Rows[i].Features)
		assert.Equal(t, r.predict(question).Memory.Limit, before[i], question.Features)
		assert.Equal(t, r.explain(question).Factors.Terms, tries[i].Terms, question.Features)
	}
}

func TestAnExplanationIgnoresTheSameInvalidContextAsThePrediction(t *testing.T) {
	r := newReplica(t)
	question, load := ask("load", ""), 1.5
	question.Metadata = sizing.Metadata{"owner": {"pricing"}, "empty": {}}
	question.Placement = sizing.Placement{NodeType: "m5", ClusterLoad: &load}
	answer, e := r.predict(question), r.explain(question)
	assert.Len(t, answer.Warnings, 2)
	assert.Equal(t, answer.Warnings, e.Allocation.Warnings)
	assert.Equal(t, sizing.Metadata{"owner": {"pricing"}}, e.Ask.Metadata)
	assert.Nil(t, e.Ask.Placement.ClusterLoad)
}

func TestColdStartsWithAddedFeaturesAreExplained(t *testing.T) {
	r := newReplica(t)
	for n := range 40 {
		o := success("load", n, 40)
		for i := range n / 3 {
			o.Features[fmt.Sprint("added_", i)] = sizing.NumberValue(float64(n))
		}
		r.report(o)
		question := ask("load", "")
		question.Features = o.Features
		requireFactors(t, r.predict(question).Memory.Limit, r.explain(question).Factors)
	}
}

func TestAnExplanationRecordsNothing(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	question := ask("load", "explained")
	r.explain(question)
	r.report(sizing.Observation{Try: question.Try, Outcome: sizing.Success, MemoryMax: gib})
	history := r.history("load")
	last := &history.Rows[len(history.Rows)-1]
	require.Equal(t, "explained", last.RunID)
	assert.Empty(t, history.Schema.Features(last.Features), "an explanation must store no features, unlike a prediction")
}

func TestAnOldAnswerIsExplainedByTheModelThatGaveIt(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	first := r.predict(ask("load", "first"))
	atOnce := r.explainPrediction(first.PredictionID)
	for n := range 30 {
		o := success("load", 100+n, 40)
		o.MemoryMax = o.MemoryMax.Times(3)
		r.report(o)
		if n == 10 {
			r.predict(ask("load", fmt.Sprint(n)))
		}
	}
	require.NotEqual(t, first.Memory.Limit, r.predict(ask("load", "now")).Memory.Limit, "the model must have learned since the first answer")
	learned := r.explainPrediction(first.PredictionID)
	assert.Equal(t, atOnce.Factors, learned.Factors)
	assert.Empty(t, learned.Note)

	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	retrained := r.explainPrediction(first.PredictionID)
	assert.Equal(t, atOnce.Factors, retrained.Factors, "the version that answered explains its answer, not the newer one")

	r.stop() // writes the receipts
	r.exec(`UPDATE model SET blob = '\x00' WHERE version = $1`, first.Model.Version)
	lost := r.explainPrediction(first.PredictionID)
	assert.Contains(t, lost.Note, "not available any more")
	requireFactors(t, first.Memory.Limit, lost.Factors)
}

// The peak of each run arrives three runs later. Half of the answers precede the peak that arrives next.
func TestAnOldAnswerIsExplainedAfterPeaksThatArrivedLater(t *testing.T) {
	r := newReplica(t)
	var ids []string
	predict := func(i int) {
		a := ask("load", fmt.Sprint("asked-", len(ids)))
		a.Features = rows(1 + float64(i%7))
		ids = append(ids, r.predict(a).PredictionID)
	}
	for i := range 60 {
		unmeasured := success("load", i%40, 40)
		unmeasured.Try.RunID, unmeasured.MemoryMax = fmt.Sprint("run-", i), 0
		r.report(unmeasured)
		predict(i)
		if i >= 3 {
			measured := success("load", (i-3)%40, 40)
			measured.Try.RunID = fmt.Sprint("run-", i-3)
			require.True(t, r.report(measured)[0].Measured)
			predict(i)
		}
		if i == 30 {
			_, err := r.Train(t.Context(), task("load"))
			require.NoError(t, err)
		}
	}
	for i, id := range ids {
		assert.Empty(t, r.explainPrediction(id).Note, "answer %d", i)
	}
}

// A receipt without the state of the margins, or with a state in the form of another release, does not show which rule set
// the amount. The amount in this test is below the static request, so it cannot come from a lower bound.
func TestAReceiptWithoutAReadableStateIsExplainedWithANote(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	receipt, err := r.Receipt(t.Context(), r.predict(ask("load", "")).PredictionID)
	require.NoError(t, err)
	require.Less(t, receipt.Allocation.Memory.Limit, receipt.Ask.Requested.Memory)
	for name, params := range map[string][]float64{"no state": nil, "another release": {0.1}} {
		receipt.Allocation.Guard.Params = params
		e, err := r.ExplainReceipt(t.Context(), &receipt)
		require.NoError(t, err)
		requireFactors(t, receipt.Allocation.Memory.Limit, e.Factors)
		assert.Empty(t, e.Factors.Terms, name)
		assert.Contains(t, e.Note, "does not record how", name)
	}
}

// The receipt of shadow mode does not say whether a model gave the amount in Shadow.
func TestTheShadowOfALostModelIsExplainedWithANote(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Mode: sizing.Shadow}))
	receipt, err := r.Receipt(t.Context(), r.predict(ask("load", "")).PredictionID)
	require.NoError(t, err)
	receipt.Allocation.Model = &sizing.ModelRef{Version: 1000}
	for _, note := range []string{"not available any more", "does not record how"} {
		e, err := r.ExplainReceipt(t.Context(), &receipt)
		require.NoError(t, err)
		requireFactors(t, receipt.Allocation.Shadow.Limit, *e.Shadow)
		assert.Contains(t, e.Note, note)
		receipt.Allocation.Guard.Params = nil
	}
}

func TestTheExplanationOfAKilledTryListsTheTriesOfItsRun(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	question := ask("load", "killed")
	first := r.predict(question)
	lift := r.lift(question, first.Memory.Limit)
	require.True(t, lift.Retry)
	second := r.predict(nthTry(question, 2))
	requireFactors(t, second.Memory.Limit, r.explain(nthTry(question, 2)).Factors)
	requireFactors(t, second.Memory.Limit, r.explainPrediction(second.PredictionID).Factors)
	requireFactors(t, lift.Memory.Limit, r.explainPrediction(lift.PredictionID).Factors)
	r.report(sizing.Observation{Try: try("load", "killed", 2), Outcome: sizing.Success, MemoryMax: lift.Memory.Limit - gib/8, Duration: time.Minute})

	e := r.explainPrediction(first.PredictionID)
	require.Len(t, e.Run.Rows, 2)
	assert.Equal(t, sizing.OOMKilled, e.Run.Rows[0].Outcome)
	require.Len(t, e.Nearest, 5)
	for i, near := range e.Nearest {
		assert.NotEqual(t, "killed", near.Row.RunID)
		assert.True(t, i == 0 || near.Distance >= e.Nearest[i-1].Distance)
	}
}

// The similar runs of a recorded answer ended before the answer. A run that was killed and then succeeded is listed once, with
// its success.
func TestSimilarRunsEndedBeforeTheAnswerAndAreListedOnce(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 8)
	retried := ask("load", "retried")
	for number, outcome := range []sizing.Outcome{sizing.OOMKilled, sizing.OOMKilled, sizing.Success} {
		r.report(sizing.Observation{Try: try("load", "retried", number+1), Outcome: outcome, MemoryMax: gib, Duration: time.Minute,
			Allocated: sizing.Resources{Memory: gib}, Features: retried.Features})
	}
	answer := r.predict(ask("load", "explained"))
	for i := range 8 {
		r.report(sizing.Observation{Try: try("load", fmt.Sprint("later", i), 1), Outcome: sizing.Success, MemoryMax: gib, Duration: time.Minute,
			Allocated: sizing.Resources{Memory: 2 * gib}, Features: retried.Features})
	}
	runsOf := func(e *service.ExplainedAnswer) (found map[string]int) {
		require.Len(t, e.Nearest, 5)
		found = map[string]int{}
		for _, near := range e.Nearest {
			found[near.Row.RunID]++
		}
		require.Len(t, found, 5, "each run must be listed once")
		return found
	}
	e := r.explainPrediction(answer.PredictionID)
	for name := range runsOf(e) {
		assert.NotContains(t, name, "later")
	}
	require.Equal(t, "retried", e.Nearest[0].Row.RunID)
	assert.Equal(t, sizing.Success, e.Nearest[0].Row.Outcome)
	for name := range runsOf(r.explain(ask("load", "explained"))) {
		assert.Contains(t, name, "later", "a new answer knows the later runs")
	}
}
