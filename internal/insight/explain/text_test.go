package explain

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestPercentHasNoExponent(t *testing.T) {
	for share, want := range map[float64]string{0: "0", 1e-7: "<0.0001", 1.5e-6: "0.00015", 0.0123: "1.2", 0.5: "50"} {
		assert.Equal(t, want, percent(share), share)
	}
}

func TestTextDescribesChainAndLadder(t *testing.T) {
	e := &Explanation{Mode: sizing.Enforce, Chain: Chain{Granted: 4 * sizing.GiB, Base: 2 * sizing.GiB, BaseName: "the mean over this task's runs", Expected: 3 * sizing.GiB, Terms: []Term{
		{Kind: taskmodel.TermFeature, Name: "product_count", Value: "1253", Factor: 2.1},
		{Kind: taskmodel.TermFeature, Name: "region", Value: "emea", Factor: 0.75},
		{Kind: taskmodel.TermFeature, Name: "same inputs", Factor: 1.1},
		{Kind: taskmodel.TermFeature, Name: "day", Value: "3", Factor: 0.95},
		{Kind: taskmodel.TermMargin, Name: "log-linear, by all rows", Factor: 1.5, After: 9 * sizing.GiB / 2},
		{Kind: taskmodel.TermCap, Name: "the cap of 4Gi", Factor: 4 / 4.5, After: 4 * sizing.GiB},
	}}, Ladder: []sizing.Bytes{4 * sizing.GiB, 8 * sizing.GiB, 16 * sizing.GiB}}
	const steps = "The calculation starts from an amount of 2Gi, the mean over this task's runs. For this run, product_count (1253) multiplies the amount by 2.1, " +
		"region (emea) reduces the amount by 25 %, same inputs adds 10 %, everything else about the run reduces the amount by 5.0 %. The run is expected to need 3Gi. " +
		"Then the margin (log-linear, by all rows) adds 50 %, which makes 4.5Gi; the cap (the cap of 4Gi) reduces the amount by 11 %, which makes 4Gi. "
	assert.Equal(t, "4Gi is granted. "+steps+"After an OOM kill the run gets 8Gi, then 16Gi.", e.text())

	e.Mode, e.Shadow = sizing.Shadow, &Chain{}
	*e.Shadow, e.Chain = e.Chain, Chain{Granted: 64 * sizing.GiB}
	assert.Equal(t, "Shadow mode: the answer is the static request of 64Gi. 4Gi would be granted in enforce mode. "+steps+
		"After an OOM kill the run gets the static request again; in enforce mode the run would get 8Gi, then 16Gi.", e.text())
}

// The base is 0.4 bytes above the granted amount, so the chain has one term, an upper bound. Rounded to whole bytes, the
// base equals the granted amount.
func TestABoundThatChangesNothingIsNotNamed(t *testing.T) {
	e := taskmodel.ExplainCohort("the amount of similar tasks", math.Log(100<<20+.4), nil, 0, 100*sizing.MiB)
	c := chainOf(&e)
	assert.Len(t, c.Terms, 1)
	assert.Equal(t, []string{"100Mi is granted. The calculation starts from an amount of 100Mi, the amount of similar tasks."}, c.text("is granted"))
}

func TestKillsOfLaterTriesAreCounted(t *testing.T) {
	for kills, want := range map[int]string{0: "run to learn from. What", 1: "run to learn from. One later try was killed, too. What", 2: "run to learn from. 2 later tries were killed, too. What"} {
		k := &KilledTry{At: sizing.GiB}
		(&Explanation{}).describeKill(k, kills)
		assert.Contains(t, k.Text, want)
	}
}

func TestPeakSlightlyAboveAKillHasItsExcessInPercent(t *testing.T) {
	for needed, want := range map[sizing.Bytes]string{
		sizing.GiB + 1:                 "peaked at 1Gi, <0.0001 % more, so",
		sizing.GiB + 30*sizing.MiB:     "2.9 % more, so",
		3 * sizing.GiB:                 "3 times as much, so",
		sizing.GiB + 1024*sizing.MiB/5: "1.2 times as much, so",
	} {
		k := &KilledTry{At: sizing.GiB, Needed: needed}
		(&Explanation{}).describeKill(k, 0)
		assert.Contains(t, k.Text, want)
	}
}
