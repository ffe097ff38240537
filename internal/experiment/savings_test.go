package experiment

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestAKilledTryCountsItsFullDuration(t *testing.T) {
	row := &sizing.HistoryRow{MemoryMax: 5e9, Requested: sizing.Resources{Memory: 20e9}}
	var s sums
	s.memory(row, &taskmodel.Answer{Limit: 6e9, Ladder: []sizing.Bytes{6e9, 40e9}}, 3600)
	s.memory(row, &taskmodel.Answer{Limit: 2e9, Ladder: []sizing.Bytes{2e9, 4e9, 8e9, 40e9}}, 3600)
	mean := s.mean()
	l := newSavings(&mean, &s)
	assert.InDelta(t, 20, l.RequestedGB, 1e-9)
	assert.InDelta(t, 4, l.GrantedGB, 1e-9, "the mean of 6 and 2")
	assert.InDelta(t, 0.8, l.SavedGB, 1e-9)
	assert.InDelta(t, 20, l.RequestedGBh, 1e-9)
	assert.InDelta(t, (6+2+4+8)/2.0, l.GrantedGBh, 1e-9)
	assert.InDelta(t, 5, l.UsedGBh, 1e-9)
	assert.InDelta(t, 0.5, l.Killed, 1e-9)
}

func TestCoresAreMeansOfTheTriesWithCPU(t *testing.T) {
	var s sums
	for _, cpu := range []sizing.Cores{2, 0, 0} {
		row := &sizing.HistoryRow{MemoryMax: 5e9, CPUMax: cpu, Requested: sizing.Resources{Memory: 20e9, CPU: 4}}
		s.memory(row, &taskmodel.Answer{Limit: 6e9}, 3600)
		s.cores(row, 3, false)
	}
	mean := s.mean()
	l := newSavings(&mean, &s)
	assert.InDelta(t, 4, l.RequestedCores, 1e-9)
	assert.InDelta(t, 3, l.GrantedCores, 1e-9)
	assert.InDelta(t, 0.25, l.SavedCores, 1e-9)
}

func TestOneCoreIsEnoughForASingleThread(t *testing.T) {
	row := &sizing.HistoryRow{CPUMax: 1.1, Requested: sizing.Resources{CPU: 4}}
	for claim, c := range map[string]struct {
		granted          sizing.Cores
		isSingleThread   bool
		over, overThread float64
	}{
		"one core for one thread":              {1, true, 1, 0},
		"one core for several threads":         {1, false, 1, 1},
		"half a core for one thread":           {0.5, true, 1, 1},
		"a grant above the use":                {1.25, false, 0, 0},
		"no grant: the request stays in force": {0, false, 0, 0},
	} {
		var s sums
		s.cores(row, c.granted, c.isSingleThread)
		assert.Equal(t, c.over, s[aboveGrant], claim)
		assert.Equal(t, c.overThread, s[aboveGrantThread], claim)
	}
	var s sums
	s.cores(&sizing.HistoryRow{CPUMax: 1}, 1, true)
	s.cores(&sizing.HistoryRow{Requested: sizing.Resources{CPU: 1}}, 1, true)
	assert.Zero(t, s, "CPU that is not measured or not requested does not count")
}

func TestARunHasEveryTaskOnce(t *testing.T) {
	of := func(requested, granted, n float64) *savedTask {
		var s sums
		s[rowCount], s[requestedBytes], s[grantedBytes] = n, n*requested*1e9, n*granted*1e9
		return &savedTask{seeds: []sums{s, s}}
	}
	l := sumRun([]*savedTask{of(100, 10, 3), of(20, 2, 30), {seeds: make([]sums, 2)}}, 2)
	assert.Equal(t, 2, l.Tasks, "a task without rows with a request does not count")
	assert.Equal(t, 66, l.Rows)
	assert.InDelta(t, 120, l.RequestedGB, 1e-9, "the number of held-out rows per task does not change the sum")
	assert.InDelta(t, 12, l.GrantedGB, 1e-9)
	assert.InDelta(t, 0.9, l.SavedGBSeeds.Low, 1e-9)
}

func TestATaskWithAtMost1250MillicoresIsSingleThreaded(t *testing.T) {
	read := func(last string) bool {
		text := "dag_id,task_id,run_id,memory_max_bytes,cpu_max_cores\n" + strings.Repeat("d,a,r,1e9,1.2\n", 10) + "d,a,r,1e9," + last + "\n"
		d, err := Read("cores", strings.NewReader(text))
		require.NoError(t, err)
		return singleThread(d.datasets[0])
	}
	assert.True(t, read("1.25"))
	assert.False(t, read("1.26"))
}
