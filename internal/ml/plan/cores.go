package plan

import "math"

// CoreSample is the CPU use of a run between the previous sample and this one. Seconds counts from the
// start of the run.
type CoreSample struct{ Seconds, Cores float64 }

// coreRule sets the CPU request to the largest use within a window of time, multiplied by factor, but at
// least to minCores. window is in seconds. The rule skips small decreases (coreShrink). The zero value stands for the
// static request.
type coreRule struct{ window, factor float64 }

// coreRules lists the candidates. The first one is the static request.
var coreRules = makeCoreRules()

func makeCoreRules() []coreRule {
	all := []coreRule{{}}
	for _, window := range []float64{60, 300, 1200} {
		for _, factor := range []float64{1, 1.15, 1.4} {
			all = append(all, coreRule{window, factor})
		}
	}
	return all
}

// A larger maxCoreShort lowers the requests and slows more runs. The requests change more often with a larger coreShrink.
const (
	minCores     = 0.1  // least request of a rule, in cores
	coreShrink   = 0.8  // a request falls only if the new one is below this share of the current one
	maxCoreShort = 0.03 // largest share of the time of the earlier runs in which the request of a rule may be too low
	coreEvidence = 3    // least number of learned runs with which a rule may replace the static request
)

// Cores chooses the CPU requests of one task. CPU requests may fall, because a pod with too little
// CPU is slow but not killed. The zero value is usable.
type Cores struct {
	Runs  float64     // number of learned runs
	Rules []coreTally // by index in coreRules; empty before the first run
}

// coreTally sums the requested core-seconds of a rule, the seconds in which the use exceeded the
// request, and all seconds.
type coreTally struct{ Requested, Short, Seconds float64 }

// Learn adds an ended run. staticRequest is in cores.
func (c *Cores) Learn(samples []CoreSample, staticRequest float64, t Timing) {
	if len(c.Rules) == 0 {
		c.Rules = make([]coreTally, len(coreRules))
	}
	c.Runs++
	for i, r := range coreRules {
		for k, request := range r.requests(samples, staticRequest, t.withDefaults()) {
			seconds := CoreSeconds(samples, k)
			c.Rules[i].Requested += request * seconds
			c.Rules[i].Seconds += seconds
			if samples[k].Cores > request {
				c.Rules[i].Short += seconds
			}
		}
	}
}

// CoreSeconds returns the seconds to which the use of sample k applies: those since the previous sample.
// For the first sample it returns the seconds since the start of the run.
func CoreSeconds(samples []CoreSample, k int) float64 {
	if k == 0 {
		return samples[0].Seconds
	}
	return samples[k].Seconds - samples[k-1].Seconds
}

// Choose returns the requests of a run with a static request in cores. It chooses the cheapest rule whose
// requests were too low for at most maxCoreShort of the time. It chooses the static request if no such
// rule requested less, or with fewer than coreEvidence runs.
func (c *Cores) Choose(staticRequest float64, t Timing) CoreRequests {
	best := 0
	if c.Runs >= coreEvidence {
		for i := range coreRules {
			r := c.Rules[i]
			if r.Short <= maxCoreShort*r.Seconds && r.Requested < c.Rules[best].Requested {
				best = i
			}
		}
	}
	return CoreRequests{&coreRules[best], staticRequest, t.withDefaults()}
}

// CoreRequests computes the CPU requests of one run, in cores.
type CoreRequests struct {
	rule   *coreRule
	static float64
	timing Timing
}

// At returns the request in force at each sample.
func (q CoreRequests) At(samples []CoreSample) []float64 {
	return q.rule.requests(samples, q.static, q.timing)
}

func (r *coreRule) requests(samples []CoreSample, staticRequest float64, t Timing) []float64 {
	all := make([]float64, len(samples))
	request := staticRequest
	var window []int // a monotonic queue: indices of samples in the window, with decreasing use
	seen := 0
	for i, sample := range samples {
		readable := sample.Seconds - t.Reaction // a request follows samples up to this time
		for ; r.window > 0 && seen < len(samples) && samples[seen].Seconds <= readable; seen++ {
			for len(window) > 0 && samples[window[len(window)-1]].Cores <= samples[seen].Cores {
				window = window[:len(window)-1]
			}
			window = append(window, seen)
		}
		for len(window) > 0 && samples[window[0]].Seconds < readable-r.window {
			window = window[1:]
		}
		if len(window) > 0 {
			need := math.Max(minCores, samples[window[0]].Cores*r.factor)
			if need > request || need < coreShrink*request {
				request = need
			}
		}
		all[i] = request
	}
	return all
}

// Next returns the request that should be in force after the newest sample, if current is the request in force now.
// samples must contain all samples of the last Window seconds before the newest one.
func (q CoreRequests) Next(samples []CoreSample, current float64) float64 {
	if q.rule.window == 0 || len(samples) == 0 {
		return q.static
	}
	most, newest := 0.0, samples[len(samples)-1].Seconds
	for _, s := range samples {
		if s.Seconds >= newest-q.rule.window {
			most = math.Max(most, s.Cores)
		}
	}
	if need := math.Max(minCores, most*q.rule.factor); need > current || need < coreShrink*current {
		return need
	}
	return current
}

// Window returns the number of seconds before the newest sample from which Next reads samples; 0: Next reads none.
func (q CoreRequests) Window() float64 { return q.rule.window }

// IsUsable reports whether decoded tallies fit the rules of this release.
func (c *Cores) IsUsable() bool { return len(c.Rules) == 0 || len(c.Rules) == len(coreRules) }
