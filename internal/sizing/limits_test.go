package sizing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestNoLiftIfTheCapIsOnlySlightlyHigher(t *testing.T) {
	for ceiling, want := range map[sizing.Bytes]sizing.Verdict{
		4*sizing.GiB + 1: sizing.VerdictAtCap, 4*sizing.GiB + 20*sizing.MiB: sizing.VerdictAtCap, 5 * sizing.GiB: sizing.VerdictLift,
	} {
		lift := sizing.LiftState{Failed: 4 * sizing.GiB, Ceiling: ceiling, Kills: 1, MaxLifts: 3}.Decide(sizing.OOMKilled)
		assert.Equal(t, want, lift.Verdict, "%d", ceiling)
	}
}

func TestQuantitiesAtTheirLimits(t *testing.T) {
	_, err := sizing.ParseMemory("9007199254740993")
	require.ErrorContains(t, err, "above the maximum of 8Pi")
	most, err := sizing.ParseMemory("9007199254740992")
	require.NoError(t, err)
	assert.EqualValues(t, sizing.MaxBytes, most)
	cores, err := sizing.ParseCPU("1n")
	require.NoError(t, err)
	assert.Equal(t, sizing.Cores(0.001), cores)
	_, err = sizing.ParseCPU("many")
	require.ErrorContains(t, err, "such as 0.5 or 250m")
	_, err = sizing.ParseMemory("much")
	require.ErrorContains(t, err, "such as 350Gi or 1500M")
}

func TestOnlySuspiciousReportsGetAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		report sizing.Observation
		field  string
	}{
		"a kill far below its limit": {sizing.Observation{Outcome: sizing.OOMKilled, MemoryMax: sizing.GiB, Allocated: sizing.Resources{Memory: 4 * sizing.GiB}}, "memory_max_bytes"},
		"a kill at its limit":        {sizing.Observation{Outcome: sizing.OOMKilled, MemoryMax: 4*sizing.GiB - sizing.MiB, Allocated: sizing.Resources{Memory: 4 * sizing.GiB}}, ""},
		"a sample of a killed try":   {sizing.Observation{Outcome: sizing.OOMKilled, MemorySampled: sizing.GiB, Allocated: sizing.Resources{Memory: 4 * sizing.GiB}}, ""},
		"a percentage of CPU":        {sizing.Observation{Outcome: sizing.Success, CPUMax: 150, Requested: sizing.Resources{CPU: 2}}, "cpu_max_cores"},
		"many cores, small request":  {sizing.Observation{Outcome: sizing.Success, CPUMax: 7, Requested: sizing.Resources{CPU: 0.1}}, ""},
	} {
		warnings := c.report.Warnings(time.Now())
		if c.field == "" {
			assert.Empty(t, warnings, name)
			continue
		}
		require.Len(t, warnings, 1, name)
		assert.Equal(t, c.field, warnings[0].Field, name)
	}
}
