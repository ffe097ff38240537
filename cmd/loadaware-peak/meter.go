//go:build linux

package main

import (
	"time"

	"github.com/loadaware/loadaware/internal/cgroup"
)

// usage is the source of a meter: a control group or, if none is readable, the process tree.
type usage interface {
	Read() (cgroup.Reading, error)
}

// cpuWindow is the minimum interval of a CPU rate: rates over shorter intervals depend on the
// scheduler. A run that is shorter than cpuWindow has one rate.
const cpuWindow = time.Second

// meter converts readings into a report.
//
// The kernel's high-water mark includes every spike, but also the page cache, which a
// program that reads files fills up to the limit. If the mark rises between two samples, the new mark minus
// the reclaimable cache (the larger of the caches at the two samples) is a lower bound of the peak of the
// working set. This bound is wrong only if the cache was even larger between the samples:
//
//	mark rises to 900M, cache 300M   peak ≥ 600M
//	mark does not rise               peak = largest sample
type meter struct {
	usage  usage
	isTree bool // usage is the process tree, because no control group is readable
	start  time.Time
	first  cgroup.Reading // before the program started
	last   cgroup.Reading

	sampled int64   // bytes, the largest working set of a sample
	marked  int64   // bytes, the largest lower bound of the peak that a rise of the high-water mark gave
	cores   float64 // the largest CPU rate of a window
	window  point   // start of the current CPU window
	series  *series
}

// newMeter takes a first reading; usage before it does not count.
func newMeter(u usage, isTree bool) (*meter, error) {
	first, err := u.Read()
	if err != nil {
		return nil, err
	}
	return &meter{usage: u, isTree: isTree, start: time.Now(), first: first, last: first, series: newSeries()}, nil
}

func (m *meter) sample() error {
	r, err := m.usage.Read()
	if err != nil {
		return err
	}
	m.add(time.Since(m.start), r)
	return nil
}

// add adds a reading. The argument `at` is the time of the reading since the start.
func (m *meter) add(at time.Duration, r cgroup.Reading) {
	top := r.WorkingSet()
	m.sampled = max(m.sampled, top)
	if r.Watermark > m.last.Watermark {
		fromMark := r.Watermark - max(r.InactiveFile, m.last.InactiveFile)
		m.marked = max(m.marked, fromMark)
		top = max(top, fromMark)
	}
	now := point{at: at, memory: top, cpu: max(0, r.CPU-m.first.CPU)}
	m.series.add(now)
	if now.at-m.window.at >= cpuWindow {
		m.closeWindow(now)
	}
	m.last = r
}

func (m *meter) closeWindow(now point) {
	m.cores = max(m.cores, float64(now.cpu-m.window.cpu)/float64(now.at-m.window.at))
	m.window = now
}

func (m *meter) report() report {
	// A run shorter than a window is one window.
	if now := m.series.last; m.window.at == 0 && now.at > 0 {
		m.cores = float64(now.cpu) / float64(now.at)
	}
	return report{
		memory:   max(m.sampled, m.marked),
		sampled:  m.sampled,
		cores:    m.cores,
		source:   m.source(),
		kills:    m.last.OOMKills - m.first.OOMKills,
		duration: time.Since(m.start),
		series:   m.series,
	}
}

func (m *meter) source() string {
	switch {
	case m.isTree:
		return "proc"
	case m.marked >= m.sampled && m.marked > 0:
		return "memory.peak"
	default:
		return "sampled"
	}
}

const (
	// Shorter intervals show shorter spikes in the series and cost more CPU time; the high-water mark includes the
	// spikes between the samples.
	minInterval = 20 * time.Millisecond
	maxInterval = 250 * time.Millisecond
	// costFactor limits the CPU time of the wrapper to 1/200 of the elapsed time, half a percent of a core.
	costFactor = 200
)

// interval returns the time until the next sample: a hundredth of the elapsed time, from minInterval to maxInterval, but
// at least costFactor times the cost. The cost is the CPU time of the wrapper since the last sample.
func interval(elapsed, cost time.Duration) time.Duration {
	return max(min(max(elapsed/100, minInterval), maxInterval), costFactor*cost)
}
