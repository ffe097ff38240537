package plan

import "math"

// Timing says how fast a limit follows the usage of a run. The zero value is usable.
type Timing struct {
	Poll     float64 // seconds between two reads of the usage; if zero, that of DefaultTiming
	Reaction float64 // seconds from a read until a new limit is in force; if zero, that of DefaultTiming
}

// DefaultTiming is the timing that the service and replays assume: the caller reads the usage every ten seconds, and a
// resize is in force twenty seconds later. The kubelet usually takes less than five seconds to resize a pod.
var DefaultTiming = Timing{Poll: 10, Reaction: 20}

func (t Timing) withDefaults() Timing {
	if t.Poll == 0 {
		t.Poll = DefaultTiming.Poll
	}
	if t.Reaction == 0 {
		t.Reaction = DefaultTiming.Reaction
	}
	return t
}

func (t Timing) horizon() float64 { return t.Poll + t.Reaction }

// forecast holds several estimates, in bytes, of the level that a new run may reach within the horizon
// from one moment on. A level is the largest memory of a run so far.
type forecast struct {
	level float64            // largest level that an earlier run reached within the horizon after it exceeded the current level
	time  [stretches]float64 // by stretch: largest level of the earlier runs until the end of the horizon
	ratio [stretches]float64 // by stretch: current level times the largest growth of the earlier runs at about this time; the same as forecast.time in the first seconds of a run (`startup`)
}

// stretches is the number of assumptions about how much faster or slower than the earlier runs a
// new run may be.
const stretches = 2

// stretch returns the factors by which a new run may be faster or slower than the earlier ones. The factors are larger with
// few earlier runs. The constants were chosen on the synthetic tasks of plantest.
func stretch(runs int) [stretches]float64 {
	few := 1 / float64(max(1, runs))
	return [...]float64{1.15 + .4*few, 1.7 + few}
}

// startup is the time in seconds from the start of a run during which levels are too small for ratios.
const startup = 60

// jitter is the number of seconds by which the memory of a run may grow sooner than that of the earlier runs, for
// example after a faster start.
const jitter = 20

// envelope summarises the curves of earlier runs on a common grid with steps of curveStep.
type envelope struct {
	curves  []Curve
	horizon float64            // seconds
	stretch [stretches]float64 // result of the function stretch
	highest []float64          // largest running maximum of all runs at the end of each step
	growth  []float64          // largest ratio by which a run grows within the horizon from the end of each step
}

// newEnvelope returns the envelope of curves. The fields of t must not be zero.
func newEnvelope(curves []Curve, t Timing) *envelope {
	e := &envelope{curves: curves, horizon: t.horizon(), stretch: stretch(len(curves))}
	steps := 0
	for i := range curves {
		steps = max(steps, int(curves[i].Duration()/curveStep))
	}
	e.highest, e.growth = make([]float64, steps), make([]float64, steps)
	for i := range curves {
		c := &curves[i]
		for k := range steps {
			now := float64(k) * curveStep
			level := c.at(now)
			e.highest[k] = max(e.highest[k], level)
			if now >= c.Duration() {
				e.highest[k] = max(e.highest[k], c.Max())
			} else if level > 0 {
				e.growth[k] = max(e.growth[k], c.at(now+e.horizon)/level)
			}
		}
	}
	return e
}

func (e *envelope) forecast(seconds, level float64) forecast {
	var f forecast
	n := len(e.highest)
	if n == 0 {
		return f
	}
	for i := range e.curves {
		f.level = math.Max(f.level, e.curves[i].reachedWithin(level, e.horizon))
	}
	for i, stretch := range e.stretch {
		last := min(n-1, int((seconds*stretch+jitter+e.horizon)/curveStep))
		f.time[i] = e.highest[last]
		if f.ratio[i] = f.time[i]; seconds >= startup {
			f.ratio[i] = level * e.maxGrowth(int(seconds/stretch/curveStep), last)
		}
	}
	return f
}

func (e *envelope) maxGrowth(from, to int) float64 {
	ratio := 0.0
	for k := from; k <= to; k++ {
		ratio = math.Max(ratio, e.growth[k])
	}
	return ratio
}
