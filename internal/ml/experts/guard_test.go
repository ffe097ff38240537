package experts

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func killRuns(g *Guard, first, n uint64) {
	for run := first; run < first+n; run++ {
		g.Grant(run, 0, noon)
		g.Kill(run, 1)
		g.Retry(run, 2)
	}
}

func TestGuardFactorGrowsWithTheKillsBeyondTheOpenPromises(t *testing.T) {
	var g Guard
	assert.Equal(t, 1.0, g.Factor(noon))
	for run := range uint64(10) {
		g.Grant(run, 0.02, noon) // in all, 10 · 0.02 · guardRatio = 0.3 kills may be chance
	}
	killRuns(&g, 100, 1)
	assert.Equal(t, 1.0, g.Factor(noon), "one kill does not raise the factor, because it may be chance")
	killRuns(&g, 200, 3)                                    // 4 kills − 0.3 − guardSlack = 2.7 kills in excess
	assert.InDelta(t, math.Exp(0.27), g.Factor(noon), 1e-9) // guardStep per kill
	killRuns(&g, 300, 100)
	assert.InDelta(t, math.Exp(1.5), g.Factor(noon), 1e-12, "the factor is bounded")
}

func TestGuardIgnoresARunThatIsNoLongerOpen(t *testing.T) {
	for claim, release := range map[string]func(g *Guard, run uint64){
		"a run that is killed again and not retried": func(g *Guard, run uint64) { g.Kill(run, 2) },
		"a run that ended for another reason":        func(g *Guard, run uint64) { g.End(run, 2) },
		"a run that succeeded":                       (*Guard).Forget,
	} {
		var g Guard
		killRuns(&g, 0, 30)
		require.Greater(t, g.Factor(noon), 1.0)
		for run := range uint64(30) {
			release(&g, run)
		}
		assert.Equal(t, 1.0, g.Factor(noon), claim)
	}
	var g Guard
	killRuns(&g, 0, 30)
	assert.Equal(t, 1.0, g.Factor(noon.Add(GuardFor+time.Second)), "an old run does not count")
	killRuns(&g, 100, 30)
	for run := range uint64(GuardRuns) {
		g.Grant(1000+run, 0, noon)
	}
	assert.Equal(t, 1.0, g.Factor(noon), "killed runs do not count after many newer runs have replaced them")
}

func TestARetryCountsOnlyAfterAKillOfItsRun(t *testing.T) {
	var g Guard
	for run := range uint64(30) {
		g.Retry(run, 2) // its first try was never granted
		g.Kill(run, 1)
		g.Grant(100+run, 0, noon)
		g.Retry(100+run, 2) // not killed
		g.Grant(200+run, 0, noon)
		g.Kill(200+run, 1)
		g.Retry(200+run, 2)
		g.Kill(200+run, 2)
		g.Retry(200+run, 2) // this try has already ended
	}
	assert.Equal(t, 1.0, g.Factor(noon))
}

func TestGuardIgnoresDuplicateEvents(t *testing.T) {
	var g Guard
	killRuns(&g, 0, 5)
	before := g.Factor(noon)
	killRuns(&g, 0, 5)
	assert.Equal(t, before, g.Factor(noon))
	for run := range uint64(5) {
		g.Kill(run, 1)
	}
	assert.Equal(t, before, g.Factor(noon), "the end of an older try has no effect")
}

func FuzzGuardStaysWithinBounds(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var g Guard
		now := noon
		for i, s := range steps {
			run := uint64(s / 8 % 8)
			switch s % 8 {
			case 0, 1:
				g.Grant(run, float64(s)/1000, now)
			case 2, 3:
				g.Kill(run, i%5)
			case 4, 5:
				g.Retry(run, i%5)
			case 6:
				g.End(run, i%5)
			default:
				g.Forget(run)
			}
			now = now.Add(time.Duration(i%3) * time.Hour)
			require.True(t, g.Factor(now) >= 1 && g.Factor(now) <= math.Exp(maxGuard)+1e-12)
			open := 0
			for _, r := range g.runs {
				if r.state == retryOpen {
					open++
				}
			}
			require.Equal(t, open, g.kills)
			require.LessOrEqual(t, len(g.order), 2*len(g.runs)+GuardRuns)
		}
	})
}
