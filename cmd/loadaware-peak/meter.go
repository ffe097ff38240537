//go:build linux

package main

import (
	"time"

	"github.com/loadaware/loadaware/internal/cgroup"
)

// usage is what a meter looks at: a control group, or the process tree where there is none.
type usage interface {
	Read() (cgroup.Reading, error)
}

// A rate over less than a second says more of the scheduler than of the program.
const cpuWindow = time.Second

// meter turns readings into what is reported of a try.
//
// The kernel's high-water mark sees every spike, but counts page cache, which a busy
// reader fills up to any limit. Where the mark rose between two looks, the new mark less
// the droppable cache is a peak of the working set that no sampling can miss:
//
//	mark 900M ▲          cache 300M       peak ≥ 600M
//	looks   │     │           the mark stood: what is seen is all that is known
type meter struct {
	usage  usage
	proc   bool // the process tree is looked at, for want of a cgroup
	start  time.Time
	first  cgroup.Reading // before the program ran
	before cgroup.Reading

	sampled int64 // bytes, the largest working set that was seen
	marked  int64 // bytes, the largest that a rise of the mark told
	cores   float64
	window  point // where the current window of CPU began
	series  *series
}

// newMeter looks once, so that what was used before the program counts for nothing.
func newMeter(u usage, proc bool) (*meter, error) {
	first, err := u.Read()
	if err != nil {
		return nil, err
	}
	return &meter{usage: u, proc: proc, start: time.Now(), first: first, before: first, series: newSeries()}, nil
}

// look takes one sample.
func (m *meter) look() error {
	r, err := m.usage.Read()
	if err != nil {
		return err
	}
	m.take(time.Since(m.start), r)
	return nil
}

func (m *meter) take(at time.Duration, r cgroup.Reading) {
	top := r.WorkingSet()
	m.sampled = max(m.sampled, top)
	if r.Watermark > m.before.Watermark {
		risen := r.Watermark - max(r.InactiveFile, m.before.InactiveFile)
		m.marked = max(m.marked, risen)
		top = max(top, risen)
	}
	now := point{at: at, memory: top, cpu: max(0, r.CPU-m.first.CPU)}
	m.series.add(now)
	if now.at-m.window.at >= cpuWindow {
		m.closeWindow(now)
	}
	m.before = r
}

func (m *meter) closeWindow(now point) {
	m.cores = max(m.cores, float64(now.cpu-m.window.cpu)/float64(now.at-m.window.at))
	m.window = now
}

// report is all that is known by now.
func (m *meter) report() report {
	// A try shorter than a window is one window.
	if now := m.series.last; m.window.at == 0 && now.at > 0 {
		m.cores = float64(now.cpu) / float64(now.at)
	}
	return report{
		memory:   max(m.sampled, m.marked),
		sampled:  m.sampled,
		cores:    m.cores,
		source:   m.source(),
		kills:    m.before.OOMKills - m.first.OOMKills,
		duration: time.Since(m.start),
		series:   m.series,
	}
}

func (m *meter) source() string {
	switch {
	case m.proc:
		return "proc"
	case m.marked >= m.sampled && m.marked > 0:
		return "memory.peak"
	default:
		return "sampled"
	}
}

const (
	quickest = 20 * time.Millisecond
	slowest  = 250 * time.Millisecond
	// A look may cost a two-hundredth of the time until the next: half a percent of a core.
	thrift = 200
)

// pause is how long to wait until the next look: a hundredth of the time so far, and long
// enough to pay for the CPU that the last look took.
func pause(elapsed, cost time.Duration) time.Duration {
	return max(min(max(elapsed/100, quickest), slowest), thrift*cost)
}
