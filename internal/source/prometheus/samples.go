package prometheus

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadaware/loadaware/internal/sizing"
)

// minRateInterval is the minimum distance of two samples for a rate, because the
// timestamps of the kubelet are imprecise.
const minRateInterval = 10 * time.Second

func maxValue(samples []model.SamplePair) float64 {
	var highest float64
	for _, s := range samples {
		if v := float64(s.Value); v > highest { // false for NaN
			highest = v
		}
	}
	return highest
}

// maxRate returns the maximum rate of a counter between two samples that are at least minRateInterval apart. A
// decrease is a counter reset: the counter is assumed to have restarted at 0 after the first of the two samples.
//
//	seconds  0 ── 30 ── 60 ── 90        rates  1, 0.1, 0.5
//	counter  0    30    33    15 (reset)
func maxRate(samples []model.SamplePair) sizing.Cores {
	var highest float64
	for i, last := 1, 0; i < len(samples); i++ {
		interval := samples[i].Timestamp.Time().Sub(samples[last].Timestamp.Time())
		if interval < minRateInterval {
			continue
		}
		rise := float64(samples[i].Value - samples[last].Value)
		if rise < 0 {
			rise = float64(samples[i].Value)
		}
		if rate := rise / interval.Seconds(); rate > highest {
			highest = rate
		}
		last = i
	}
	return sizing.Cores(min(highest, float64(sizing.MaxCores)))
}

func sampleInterval(samples []model.SamplePair) time.Duration {
	if len(samples) < 2 {
		return 0
	}
	intervals := make([]time.Duration, len(samples)-1)
	for i := range intervals {
		intervals[i] = samples[i+1].Timestamp.Time().Sub(samples[i].Timestamp.Time())
	}
	slices.Sort(intervals)
	return intervals[len(intervals)/2]
}

func toBytes(v float64) sizing.Bytes {
	if math.IsNaN(v) || v <= 0 || v > float64(sizing.MaxBytes) {
		return 0
	}
	return sizing.Bytes(v)
}

// parseSeconds converts seconds since 1970 into a time. It returns the zero time for an invalid number.
func parseSeconds(v float64) time.Time {
	if math.IsNaN(v) || v <= 0 || v > 1<<40 {
		return time.Time{}
	}
	return time.UnixMilli(int64(v * 1000)).UTC()
}

// earlier returns the earlier of two times, and ignores a zero time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
