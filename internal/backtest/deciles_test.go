package backtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of 25 tries, the promises are i %, and those from 20 % on were killed.
func TestDecilesCompareAscendingPromises(t *testing.T) {
	var promises []promise
	for i := 24; i >= 0; i-- {
		promises = append(promises, promise{float64(i) / 100, i >= 20})
	}
	deciles := decilesOf(promises)
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
	require.Nil(t, decilesOf(promises[:9]))
}
