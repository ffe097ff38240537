package prometheus

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadaware/loadaware/internal/sizing"
)

// leastApart is how far apart two samples of a counter must be for a rate: the
// kubelet's own times are rough.
const leastApart = 10 * time.Second

// largest is the largest value; 0 if none is above it.
func largest(samples []model.SamplePair) float64 {
	var top float64
	for _, s := range samples {
		if v := float64(s.Value); v > top { // a NaN is not
			top = v
		}
	}
	return top
}

// steepest is the largest rate of a counter between two samples. A counter that
// fell began anew: it rose from 0, as far as is known.
//
//	seconds  0 ── 30 ── 60 ── 90        rates  1, 0.1, 0.5
//	counter  0    30    33    15 (new)
func steepest(samples []model.SamplePair) sizing.Cores {
	var top float64
	for i, last := 1, 0; i < len(samples); i++ {
		apart := samples[i].Timestamp.Time().Sub(samples[last].Timestamp.Time())
		if apart < leastApart {
			continue
		}
		rise := float64(samples[i].Value - samples[last].Value)
		if rise < 0 {
			rise = float64(samples[i].Value)
		}
		if rate := rise / apart.Seconds(); rate > top {
			top = rate
		}
		last = i
	}
	return sizing.Cores(min(top, float64(sizing.MaxCores)))
}

// every is the median distance of samples; 0 where there is only one.
func every(samples []model.SamplePair) time.Duration {
	if len(samples) < 2 {
		return 0
	}
	apart := make([]time.Duration, len(samples)-1)
	for i := range apart {
		apart[i] = samples[i+1].Timestamp.Time().Sub(samples[i].Timestamp.Time())
	}
	slices.Sort(apart)
	return apart[len(apart)/2]
}

// bytesOf reads an amount of memory; what cannot be one is not known.
func bytesOf(v float64) sizing.Bytes {
	if math.IsNaN(v) || v <= 0 || v > float64(sizing.MaxBytes) {
		return 0
	}
	return sizing.Bytes(v)
}

// instant reads seconds since 1970.
func instant(v float64) time.Time {
	if v <= 0 || v > 1<<40 {
		return time.Time{}
	}
	return time.UnixMilli(int64(v * 1000)).UTC()
}

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
