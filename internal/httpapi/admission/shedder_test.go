package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// newTestShedder creates a load shedder with a given number of goroutines and latency. It also returns the clock
// of the load shedder.
func newTestShedder(goroutines int, latency *time.Duration) (*LoadShedder, *time.Time) {
	now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &LoadShedder{threshold: 100, goroutines: func() int { return goroutines }, latency: func() time.Duration { return *latency }, now: func() time.Time { return now }}
	l.admitRatio.Store(fullRatio)
	return l, &now
}

// admitted returns how many of 1000 requests l admits while its clock does not move.
func admitted(l *LoadShedder, lowPriority bool) (n int) {
	for range 1000 {
		if l.Admit(lowPriority) {
			n++
		}
	}
	return n
}

func TestUpToTheThresholdNoRequestIsRejected(t *testing.T) {
	latency := time.Second
	l, now := newTestShedder(100, &latency)
	for range 50 {
		*now = now.Add(adjustInterval)
		assert.Equal(t, 1000, admitted(l, true))
	}
}

func TestOverloadRejectsLowPriorityFirst(t *testing.T) {
	latency := 2 * maxLatency
	l, now := newTestShedder(101, &latency)
	for range 5 { // the ratio falls to (7/8)^5 = 0.51
		*now = now.Add(adjustInterval)
		l.Admit(false)
	}
	assert.InDelta(t, 515, l.admitRatio.Load(), 5)
	high, low := admitted(l, false), admitted(l, true)
	assert.InDelta(t, 515, high, 80, "the tolerance is five standard deviations")
	assert.InDelta(t, 30, low, 28)

	for range 200 {
		*now = now.Add(adjustInterval)
		l.Admit(false)
	}
	assert.Positive(t, l.admitRatio.Load(), "the ratio never reaches zero")
	latency = 0
	for range 16 {
		*now = now.Add(adjustInterval)
		l.Admit(false)
	}
	assert.Equal(t, 1000, admitted(l, true), "160 ms after the latency has fallen every request is admitted")
}

func TestTheRatioRecoversAfterAnOverload(t *testing.T) {
	latency, goroutines := 2*maxLatency, 101
	l, now := newTestShedder(0, &latency)
	l.goroutines = func() int { return goroutines }
	for range 50 {
		*now = now.Add(adjustInterval)
		l.Admit(false)
	}
	low := l.AdmitRatio()
	assert.Less(t, low, 0.1)
	goroutines = 100
	*now = now.Add(adjustInterval)
	assert.True(t, l.Admit(true))
	assert.InDelta(t, low, l.AdmitRatio(), 0, "the ratio must not grow while the machine is slow")
	latency = 0
	for range 16 {
		*now = now.Add(adjustInterval)
		assert.True(t, l.Admit(true))
	}
	assert.InDelta(t, 1, l.AdmitRatio(), 0)
}

func TestShedderAdjustsOncePerInterval(t *testing.T) {
	adjusted := 0
	l, now := newTestShedder(101, new(time.Duration))
	l.latency = func() time.Duration { adjusted++; return 0 }
	for range 1000 {
		l.Admit(false)
	}
	*now = now.Add(adjustInterval)
	l.Admit(false)
	assert.Equal(t, 2, adjusted)
}

func TestSchedulerLatencyIsWithinBounds(t *testing.T) {
	latency := schedulerLatency()
	ran := make(chan bool)
	for range 1000 {
		go func() { ran <- true }()
	}
	for range 1000 {
		<-ran
	}
	got := latency()
	assert.GreaterOrEqual(t, got, time.Duration(0))
	assert.Less(t, got, 10*time.Second)
}

func BenchmarkLoadShedder(b *testing.B) {
	l := NewLoadShedder()
	l.threshold = 0
	for b.Loop() {
		l.Admit(false)
	}
}
