package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// resuming draws runs of 7 GiB with a noise of 30 %. A retry needs only 1.6 GiB, because it resumes the work of the first try.
func resuming(rng *rand.Rand) attempts {
	return func() (sizing.Features, func(int) attempt) {
		return nil, func(try int) attempt {
			gibs := 7 * noise(rng, 0.3)
			if try > 1 {
				gibs = 1.6 * noise(rng, 0.3)
			}
			return attempt{needed: gibs, measured: gibs}
		}
	}
}

func TestKillsBeforeRetriesThatResumeRaiseGrants(t *testing.T) {
	kills, promised := 0, 0.0
	for seed := range uint64(5) {
		k := newTask(t)
		draw := resuming(rand.New(rand.NewPCG(seed, 1)))
		k.runAll(60, 64*gib, draw)
		late, _, promisedLate := k.runAll(140, 64*gib, draw)
		kills, promised = kills+late, promised+promisedLate
		require.NotContains(t, k.model.Size(question(nil)).Reason, "more than their measured peaks", "seed %d", seed)
	}
	assert.LessOrEqual(t, kills, 30, "of 700 runs")
	assert.InDelta(t, promised, kills, max(promised/2, 3*math.Sqrt(promised)))
}

func TestFitsUseKillsBeforeRetriesThatResume(t *testing.T) {
	k, rng := trainedTask(t, constant, 3, 40)
	for i := range 24 {
		f, gibs := constant(rng)
		id := fmt.Sprint("resumed-", i)
		if i%4 == 0 {
			k.report(f, killedRun(id, 3))
			k.report(f, retried(id, 0.5))
			continue
		}
		end := measuredRun(gibs)
		end.RunID, end.Allocated.Memory = id, bytes(gibs*1.3)
		k.report(f, end)
	}
	assert.Contains(t, k.fit().Reason, "the retries of 6 runs needed less memory than their OOM-killed tries")
	f, _ := constant(rng)
	k.requireForAll(f, "all models", func(s taskmodel.Answer) bool { return s.Limit > 3*gib })
}
