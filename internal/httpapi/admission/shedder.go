package admission

import (
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// LoadShedder admits a ratio of the requests while the CPUs are overloaded. Gates cannot
// detect an overload of the CPUs: a prediction needs only CPU, and waits in the scheduler's run queue before
// it reaches a gate.
//
// Admit adjusts the ratio while Overloaded is true, between minRatio and 1: it falls by an eighth of itself when more
// than a quarter of the goroutines that ran since the last adjustment waited longer than maxLatency for a CPU.
// Otherwise it grows by 1/16 (additive increase, multiplicative decrease: Chiu and Jain 1989). It also grows in this way,
// but does not fall, after the overload.
type LoadShedder struct {
	threshold  int // goroutines up to which every request is admitted, however slow the machine is
	goroutines func() int
	latency    func() time.Duration // upper quartile of the scheduling latency since the previous call
	now        func() time.Time

	admitRatio atomic.Int64 // in thousandths
	mu         sync.Mutex
	nextAdjust time.Time
}

const (
	adjustInterval = 10 * time.Millisecond // a longer one delays the reaction to an overload and to its end
	maxLatency     = 5 * time.Millisecond  // a higher one permits slower answers before requests are rejected
	fullRatio      = 1000                  // in thousandths, like admitRatio
	minRatio       = fullRatio / 50        // prevents starvation
)

// NewLoadShedder creates a load shedder that admits every request at first. Its threshold is 128 goroutines per CPU: with
// fewer it would also reject requests of short bursts, with more it would react later.
func NewLoadShedder() *LoadShedder {
	l := &LoadShedder{threshold: 128 * runtime.GOMAXPROCS(0), goroutines: runtime.NumGoroutine, latency: schedulerLatency(), now: time.Now}
	l.admitRatio.Store(fullRatio)
	return l
}

// Overloaded reports whether there are more goroutines than the threshold.
func (l *LoadShedder) Overloaded() bool { return l.goroutines() > l.threshold }

// AdmitRatio returns the ratio of requests of normal priority that Admit admits while Overloaded is true, 1/50 to 1.
func (l *LoadShedder) AdmitRatio() float64 { return float64(l.admitRatio.Load()) / fullRatio }

// Admit reports whether to process one request. Low-priority requests are rejected first: their ratio falls
// twice as fast.
func (l *LoadShedder) Admit(lowPriority bool) bool {
	if !l.Overloaded() {
		if l.admitRatio.Load() < fullRatio {
			l.adjust(false)
		}
		return true
	}
	l.adjust(true)
	ratio := l.admitRatio.Load()
	if lowPriority {
		ratio = 2*ratio - fullRatio
	}
	return rand.Int64N(fullRatio) < max(ratio, minRatio)
}

// adjust updates the ratio at most once per adjustInterval. The ratio falls only if `overloaded` is true.
func (l *LoadShedder) adjust(overloaded bool) {
	if !l.mu.TryLock() {
		return // another request adjusts it
	}
	defer l.mu.Unlock()
	now := l.now()
	if now.Before(l.nextAdjust) {
		return
	}
	l.nextAdjust = now.Add(adjustInterval)
	ratio := l.admitRatio.Load()
	switch {
	case l.latency() <= maxLatency:
		ratio = min(fullRatio, ratio+fullRatio/16)
	case overloaded:
		ratio -= ratio / 8
	}
	l.admitRatio.Store(max(ratio, minRatio))
}

// schedulerLatency returns a function that computes the upper quartile of the time that
// goroutines were runnable without a CPU since the previous call; zero if none ran. The median
// would hide an overload, because a goroutine that another goroutine wakes waits only briefly.
func schedulerLatency() func() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	var previous []uint64
	return func() time.Duration {
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
			return 0 // a later Go may remove this metric
		}
		h := sample[0].Value.Float64Histogram()
		if len(previous) != len(h.Counts) {
			previous = make([]uint64, len(h.Counts))
		}
		total := uint64(0)
		for i, n := range h.Counts {
			total += n - previous[i]
		}
		cumulative, quartile := uint64(0), time.Duration(0)
		for i, n := range h.Counts {
			if cumulative += n - previous[i]; total > 0 && 4*cumulative >= 3*total {
				quartile = time.Duration(max(0, h.Buckets[i]) * float64(time.Second))
				break
			}
		}
		copy(previous, h.Counts)
		return quartile
	}
}
