//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/cgroup"
)

// measured returns the report of a meter with these readings. They are 100 ms apart, and the first one precedes the program.
func measured(readings ...cgroup.Reading) report {
	m := &meter{first: readings[0], last: readings[0], series: newSeries()}
	for i, r := range readings[1:] {
		m.add(time.Duration(i+1)*100*ms, r)
	}
	return m.report()
}

func TestWatermarkIncludesSpikesBetweenSamples(t *testing.T) {
	r := measured(
		cgroup.Reading{Memory: 10, Watermark: 10},
		cgroup.Reading{Memory: 100, Watermark: 100},
		cgroup.Reading{Memory: 100, Watermark: 900}, // after a spike
		cgroup.Reading{Memory: 100, Watermark: 900},
	)
	assert.EqualValues(t, 900, r.memory)
	assert.EqualValues(t, 100, r.sampled)
	assert.Equal(t, "memory.peak", r.source)
	assert.Equal(t, []int64{0, 100, 900, 100}, memories(r.series), "the slot has the spike")
}

func TestCacheIsExcluded(t *testing.T) {
	r := measured(
		cgroup.Reading{Memory: 10, Watermark: 10},
		cgroup.Reading{Memory: 100, Watermark: 100},
		cgroup.Reading{Memory: 8000, InactiveFile: 7900, Watermark: 8000}, // after reading a large file
		cgroup.Reading{Memory: 8000, InactiveFile: 7900, Watermark: 8000},
	)
	assert.EqualValues(t, 100, r.memory)
	assert.Equal(t, "memory.peak", r.source)
}

func TestSampleAboveWatermarkMinusCacheIsPeak(t *testing.T) {
	r := measured(
		cgroup.Reading{Memory: 10, Watermark: 10},
		cgroup.Reading{Memory: 8000, InactiveFile: 7900, Watermark: 8000},
		cgroup.Reading{Memory: 8000, InactiveFile: 5000, Watermark: 8000}, // memory replaces cache
	)
	assert.EqualValues(t, 3000, r.memory)
	assert.Equal(t, "sampled", r.source)
}

func TestWatermarkBeforeStartIsExcluded(t *testing.T) {
	r := measured(
		cgroup.Reading{Memory: 10, Watermark: 5000},
		cgroup.Reading{Memory: 100, Watermark: 5000},
	)
	assert.EqualValues(t, 100, r.memory)
	assert.Equal(t, "sampled", r.source)
}

func TestPeakIsSampledWithoutWatermark(t *testing.T) {
	r := measured(cgroup.Reading{Memory: 10}, cgroup.Reading{Memory: 100}, cgroup.Reading{Memory: 50})
	assert.EqualValues(t, 100, r.memory)
	assert.Equal(t, "sampled", r.source)
}

func TestKillsAndCPUBeforeStartAreExcluded(t *testing.T) {
	r := measured(
		cgroup.Reading{OOMKills: 3, CPU: 50 * time.Second},
		cgroup.Reading{OOMKills: 5, CPU: 50*time.Second + 150*ms},
	)
	assert.EqualValues(t, 2, r.kills)
	assert.InDelta(t, 1.5, r.cores, 1e-9, "a short run is one window")
}

func TestCoresAreMaximumOfOneSecondMeans(t *testing.T) {
	readings := []cgroup.Reading{{}}
	for i := range 40 { // 1 core for 2 s, a burst of 4 cores for 0.1 s, then nothing
		last := readings[len(readings)-1].CPU
		switch {
		case i < 20:
			last += 100 * ms
		case i == 20:
			last += 400 * ms
		}
		readings = append(readings, cgroup.Reading{CPU: last})
	}
	assert.InDelta(t, 1, measured(readings...).cores, 1e-9)
}

func TestIntervalGrowsAndLimitsCost(t *testing.T) {
	for name, c := range map[string]struct{ elapsed, cost, want time.Duration }{
		"a short interval at first":       {100 * ms, 0, 20 * ms},
		"a hundredth of the elapsed time": {10 * time.Second, 0, 100 * ms},
		"at most the largest interval":    {time.Hour, 0, 250 * ms},
		"a costly sample delays the next": {100 * ms, 5 * ms, time.Second},
	} {
		assert.Equal(t, c.want, interval(c.elapsed, c.cost), name)
	}
}
