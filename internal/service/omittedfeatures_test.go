package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// withoutFeatures returns the reports of a killed first try and of its retry, which the ladder sized.
func withoutFeatures(name, run string) (killed, retried sizing.Observation) {
	killed = sizing.Observation{Try: try(name, run, 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: gib}}
	retried = sizing.Observation{Try: try(name, run, 2), Outcome: sizing.Success, MemoryMax: 2 * gib, Allocated: sizing.Resources{Memory: 4 * gib}}
	return killed, retried
}

func (r *replica) assertFeatures(name string, tries int, want sizing.Features) {
	r.t.Helper()
	h := r.history(name)
	assert.Len(r.t, h.Rows, tries)
	for i := range h.Rows {
		assert.Equal(r.t, want, h.Schema.Features(h.Rows[i].Features), "%s try %d", h.Rows[i].RunID, h.Rows[i].Try)
	}
}

func TestARetryTakesTheFeaturesOfItsRunInAnyOrder(t *testing.T) {
	r := newReplica(t)
	for name, predict := range map[string]bool{"predicted": true, "reported": false} {
		killed, retried := withoutFeatures(name, "")
		for run, batches := range map[string][][]*sizing.Observation{
			"ordered":          {{&killed}, {&retried}},
			"reversed":         {{&retried}, {&killed}},
			"batch":            {{&killed, &retried}},
			"a reversed batch": {{&retried, &killed}},
		} {
			killed.Try.RunID, retried.Try.RunID = run, run
			if predict {
				r.predict(ask(name, run))
			} else if killed.Features = rows(4); run == "reversed" {
				continue // the retry is stored before any features are known
			}
			for _, batch := range batches {
				var reports []sizing.Observation
				for _, o := range batch {
					reports = append(reports, *o)
				}
				r.report(reports...)
			}
		}
	}
	r.assertFeatures("predicted", 8, rows(4))
	r.assertFeatures("reported", 6, rows(4))
}

func TestAnotherReplicaTakesTheFeaturesOfARunFromTheStore(t *testing.T) {
	r := newReplica(t).start()
	for _, run := range []string{"reversed", "batch"} {
		r.predict(ask("predicted", run))
	}
	killed, retried := withoutFeatures("reported", "run")
	killed.Features = rows(4)
	r.report(killed)
	r.stop() // stores the receipts

	other := joinReplica(t, r.dsn, service.Config{})
	other.report(retried)
	other.assertFeatures("reported", 2, rows(4))

	killed, retried = withoutFeatures("predicted", "batch")
	other.report(killed, retried)
	killed, retried = withoutFeatures("predicted", "reversed")
	other.report(retried)
	other.report(killed)
	other.assertFeatures("predicted", 4, rows(4))
}

func TestAModelLearnsFeaturesFromTheStoreAtOnce(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 30)
	r.predict(ask("load", "killed"))
	r.stop() // stores the receipt

	other := joinReplica(t, r.dsn, service.Config{}).start()
	killed, _ := withoutFeatures("load", "killed")
	killed.Allocated.Memory = 2 * gib
	other.report(killed)
	a := other.predict(ask("load", ""))
	assert.Greater(t, a.Memory.Limit, 2*gib)
	assert.Contains(t, a.Reason, "with the same features")
}

func TestInheritedFeaturesDoNotContradictStoredOnes(t *testing.T) {
	r := newReplica(t)
	killed, retried := withoutFeatures("load", "run")
	killed.Features, retried.Features = rows(4), rows(5)
	retried.Outcome, retried.MemoryMax = sizing.OOMKilled, 0
	r.report(killed, retried)
	killed.Features = nil
	killed.CPUMax = 1
	recorded := r.report(killed) // this replica knows the features of the second try
	require.True(t, recorded[0].Amended)
}
