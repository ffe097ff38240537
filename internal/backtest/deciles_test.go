package backtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The promises of the 25 tries are 0 to 24 %, and the tries with 20 % or more were killed.
func TestDecilesCompareAscendingPromises(t *testing.T) {
	var promises []promise
	for i := 24; i >= 0; i-- {
		promises = append(promises, promise{risk: float64(i) / 100, killed: i >= 20})
	}
	deciles := decilesOf(promises, byRisk)
	require.Len(t, deciles, 10)
	rows := 0
	for _, d := range deciles {
		rows += d.Rows
	}
	require.Equal(t, 25, rows)
	require.InDelta(t, .5, deciles[0].Promised, 1e-9) // 0 and 1 %
	require.Zero(t, deciles[7].Realised)              // 17 to 19 %
	require.Equal(t, 3, deciles[9].Rows)
	require.InDelta(t, 23, deciles[9].Promised, 1e-9) // 22 to 24 %
	require.InDelta(t, 100, deciles[9].Realised, 1e-9)
	require.Nil(t, decilesOf(promises[:9], byRisk))
}

// Both tasks have 20 tries with ascending limits, and the two largest were killed. All limits of the second task are above those
// of the first one, but the deciles compare only limits of the same task.
func TestDecilesByLimitRankTheTriesWithinTheirTask(t *testing.T) {
	var promises []promise
	for task := range 2 {
		for i := range 20 {
			promises = append(promises, promise{risk: 0.1, killed: i >= 18, task: task, limit: sizing.Bytes(1000*task + i)})
		}
	}
	rankLimits(promises)
	deciles := decilesOf(promises, byRank)
	require.Len(t, deciles, 10)
	for k, d := range deciles[:9] {
		require.InDelta(t, 10, d.Promised, 1e-9, "decile %d", k+1)
		require.Zero(t, d.Realised, "decile %d", k+1)
	}
	require.Equal(t, 4, deciles[9].Rows)
	require.InDelta(t, 100, deciles[9].Realised, 1e-9)
}
