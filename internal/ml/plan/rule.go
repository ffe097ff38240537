package plan

import (
	"fmt"
	"math"
)

// base says which estimate of the memory within the horizon a rule uses.
type base uint8

const (
	static         base = iota // the static grant from the start
	byTime                     // forecast.time
	byRatio                    // forecast.ratio
	byTimeAndRatio             // the smaller of forecast.time and forecast.ratio
	byTimeOrLevel              // the larger of forecast.time and forecast.level
)

var baseNames = [...]string{"static", "time", "ratio", "time and ratio", "time or level"}

type rule struct {
	base     base
	stretch  int     // index of forecast.time and forecast.ratio
	margin   float64 // factor on the estimate
	headroom float64 // the limit is at least (1 + headroom) · level, but at most the static grant; level is the largest memory so far
	overflow float64 // the limit is at least (1 + overflow) · level, also above the static grant; 0: the limit never exceeds this grant
}

// While the levels are small, the limit keeps a distance from them, because runs allocate memory
// fastest at their start.
const (
	minShare    = 0.2  // least limit, as a share of the static grant
	minHeadroom = 0.05 // least distance of the limit from the level, as a share of the static grant, unless the limit would exceed this grant
)

// rules lists the candidates, whose numbers were chosen on the synthetic tasks of plantest. The first rule is the static
// grant without a plan.
var rules = makeRules()

// liftRule is the index of the rule for a try after a kill. Its limit is the static grant, or 1.1 times the level if that
// is larger.
const liftRule = 1

func makeRules() []rule {
	all := []rule{{base: static, margin: 1}, {base: static, margin: 1, overflow: .1}, {base: static, margin: 1, overflow: .03}}
	for _, margin := range []float64{.85, .7, .55} {
		all = append(all, rule{static, 0, margin, .25, .05})
	}
	for b := byTime; b <= byTimeOrLevel; b++ {
		for stretch := range stretches {
			for _, margin := range []float64{1.5, 1.3, 1.15, 1.05} {
				for _, headroom := range []float64{.25, .1} {
					all = append(all, rule{b, stretch, margin, headroom, .05})
				}
			}
		}
	}
	return all
}

// limit returns the limit of a rule for a run that has the static grant `grant` and has reached `level`. The limit exceeds
// the static grant only if overflow is above 0 and (1 + overflow) · level exceeds it.
func (r *rule) limit(grant, level float64, f forecast) float64 {
	var need float64
	switch r.base {
	case static:
		need = grant
	case byTime:
		need = f.time[r.stretch]
	case byRatio:
		need = f.ratio[r.stretch]
	case byTimeAndRatio:
		need = math.Min(f.time[r.stretch], f.ratio[r.stretch])
	case byTimeOrLevel:
		need = math.Max(f.time[r.stretch], f.level)
	}
	need = math.Max(math.Max(need*r.margin, minShare*grant), math.Max(level*(1+r.headroom), level+minHeadroom*grant))
	need = math.Min(need, grant)
	if r.overflow > 0 {
		need = math.Max(need, level*(1+r.overflow))
	}
	return need
}

// String returns the name of the base, the index of the stretch × the margin, and the headroom.
func (r *rule) String() string {
	return fmt.Sprintf("%s %d × %g, headroom %g %%", baseNames[r.base], r.stretch, r.margin, 100*r.headroom)
}
