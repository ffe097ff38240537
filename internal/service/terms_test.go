package service_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// bare is the question of a client that repeats nothing but the try.
func bare(a sizing.Ask, number int) sizing.Ask {
	a = later(a, number)
	a.Requested, a.MaxMemory, a.Features = sizing.Resources{}, 0, nil
	return a
}

func TestALiftKnowsTheTermsOfItsTryAfterARestart(t *testing.T) {
	r := newReplica(t).start()
	r.taught("load", 40)
	elsewhere := join(t, r.dsn, service.Config{}).start()
	for i, c := range []struct {
		requested, most sizing.Bytes
		reported        bool // the kill is reported before the lift
		byLift          bool // max_memory is sent with the first lift only
	}{
		{requested: 3 * gib, most: 4 * gib},
		{requested: 3 * gib, most: 4 * gib, reported: true},
		{most: 2 * gib, reported: true},
		{requested: gib, reported: true},
		{requested: 3 * gib, most: 4 * gib, byLift: true},
	} {
		about := fmt.Sprint("case ", i)
		question := ask("load", fmt.Sprint("r-", i))
		question.Requested = sizing.Resources{Memory: c.requested, CPU: 2}
		if !c.byLift {
			question.MaxMemory = c.most
		}
		had := r.answer(question).Memory.Limit
		if c.reported {
			r.tell(sizing.Observation{Try: question.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: had}})
		}
		if c.byLift {
			capped := bare(question, 1)
			capped.MaxMemory = c.most
			had = r.lift(capped, had).Memory.Limit
		}
		r.until(func() bool { return r.Counts().Queued == 0 }, "receipts stored")
		number := 1
		if c.byLift {
			number = 2
		}
		want := []sizing.Bytes{}
		for _, each := range []*replica{elsewhere, join(t, r.dsn, service.Config{}).start(), r} {
			lift := each.lift(bare(question, number), had)
			require.True(t, lift.Retry, "%s: %s", about, lift.Reason)
			if c.most > 0 {
				assert.LessOrEqual(t, lift.Memory.Limit, c.most, about)
			}
			want = append(want, lift.Memory.Limit)
			next := each.answer(bare(question, number+1))
			assert.Equal(t, lift.Memory.Limit, next.Memory.Limit, about)
			assert.Equal(t, sizing.Cores(2), next.CPU, about)
		}
		assert.Equal(t, want[2], want[1], "%s: but for what the first has not learned yet, which was reported to another", about)
	}
}
