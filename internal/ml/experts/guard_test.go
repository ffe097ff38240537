package experts

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheGuardWidensByKillsBeyondTheOpenPromises(t *testing.T) {
	var g Guard
	assert.Equal(t, 1.0, g.Widen())
	for range 10 {
		g.Granted(0.02) // 0.2 promised in all, of which 1.5 times is 0.3
	}
	g.Killed()
	assert.Equal(t, 1.0, g.Widen(), "one kill may be chance")
	g.Killed()
	g.Killed()
	g.Killed() // 4 − 0.3 − 1 = 2.7 too many
	assert.InDelta(t, math.Exp(0.27), g.Widen(), 1e-3)
	for range 100 {
		g.Killed()
	}
	assert.InDelta(t, math.Exp(1.5), g.Widen(), 1e-12, "and not without end")
}

func TestTheGuardDrainsAsRunsEnd(t *testing.T) {
	var g Guard
	for range 20 {
		g.Granted(0.01)
		g.Killed()
	}
	require.Greater(t, g.Widen(), 1.0)
	for range 20 {
		g.Ended(0.01, true)
	}
	assert.Equal(t, 1.0, g.Widen())
	assert.InDelta(t, 0, g.Kills, 0.2)
	g.Ended(5, true)
	assert.Zero(t, g.Promised, "never below nothing")
	assert.Zero(t, g.Kills)

	for range 20 {
		g.Killed()
	}
	for range 5000 {
		g.Granted(0)
	}
	assert.Equal(t, 1.0, g.Widen(), "ends that are never told fade")
}

func FuzzTheGuardStaysWithinBounds(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var g Guard
		for _, s := range steps {
			before := g.Widen()
			switch s % 4 {
			case 0:
				g.Granted(float64(s) / 1000)
				require.LessOrEqual(t, g.Widen(), before, "a promise makes room for kills")
			case 1:
				g.Killed()
				require.GreaterOrEqual(t, g.Widen(), before)
			default:
				g.Ended(float64(s)/1000, s%4 == 3)
			}
			require.True(t, g.Widen() >= 1 && g.Widen() <= math.Exp(guardMost)+1e-12)
			require.True(t, g.Promised >= 0 && g.Kills >= 0)
		}
	})
}
