package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test accepts fewer kills than promised, because grants that are a little too large waste only a little memory.
func TestNoKindOfTaskIsKilledClearlyMoreOftenThanPromised(t *testing.T) {
	require.Len(t, kinds, 20)
	for _, k := range kinds {
		s, err := replay(k, 7, 2, 200)
		require.NoError(t, err, k.name)
		assert.LessOrEqual(t, float64(s.killed), s.promised+max(s.promised/2, 3*math.Sqrt(s.promised)), k.name)
		assert.Greater(t, s.rows, 390, "%s: too few first tries have a promised risk", k.name)
	}
}

func TestVerdictFindsMiscalibration(t *testing.T) {
	for _, c := range []struct {
		s    sums
		want string
	}{
		{sums{promised: 30, killed: 30}, "yes"},
		{sums{promised: 100, killed: 149}, "yes"},
		{sums{promised: 100, killed: 151}, "no"},
		{sums{promised: 1, killed: 5}, "no"},
		{sums{promised: 30, killed: 8}, "no"},
	} {
		assert.Equal(t, c.want, c.s.verdict(), "%+v", c.s)
	}
}

func TestSeedDeterminesTheTable(t *testing.T) {
	var once, again bytes.Buffer
	require.NoError(t, table(&once, kinds[:3], 1, 1, 60))
	require.NoError(t, table(&again, kinds[:3], 1, 1, 60))
	assert.Equal(t, once.String(), again.String())
	assert.Equal(t, 5, strings.Count(once.String(), "\n"))
}
