package taskmodel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A model of an earlier release stores no peaks of rows with remote numbers. The largest peak replaces them.
func TestRemoteNumbersOfEarlierReleasesGetTheLargestPeak(t *testing.T) {
	m := &models{High: 24, PeakTrend: trend{EarlierRemote: []earlierRemote{{Input: 1, Value: 5e7, Rise: 3}}}}
	m.migrateRemote()
	require.Empty(t, m.PeakTrend.EarlierRemote)
	require.Len(t, m.PeakTrend.Remote, 1)
	r := m.PeakTrend.Remote[0]
	require.True(t, r.Input == 1 && r.Value == 5e7 && r.Peak == 24 && math.IsNaN(r.Seconds), "%+v", r)
}
