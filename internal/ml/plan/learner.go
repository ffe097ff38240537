package plan

import (
	"math"
	"slices"
)

// Learner is the state of one task. The zero value is usable.
type Learner struct {
	Curves []Curve // curves of the newest runs, oldest first
	Runs   int     // number of learned runs
	Rules  []tally // by index in the list `rules`; empty before the first replay
	Total  float64 // byte-seconds of the grants with which the runs in Rules were replayed
	Near   float64 // what near kills (partialKill) add to Rules[0].Kills
}

// tally sums the out-of-sample outcomes of a rule: Learn replays a run before it adds the curve of the run. In the tallies of a
// task, the kills of its first runs count less (fewRuns).
type tally struct {
	Runs, Kills float64 // number of runs, and of kills; a run that came near its limit adds a part of a kill, see partialKill
	Cost        float64 // of a task: in byte-seconds; in a Pool: in costs of the run with the static grant
}

// Pool holds the outcomes of all tasks of a namespace, by the duration of their runs and the
// number of runs of a task. The zero value is usable.
type Pool struct {
	Classes [durationClasses][ageClasses][]tally
	Caution [durationClasses]float64 // log of the factor on the price of a kill, less initialCaution
}

// Adaptive conformal inference (Gibbs & Candès 2021) keeps the kill rate near a target on any
// series: each killed run multiplies the price of a kill by about e^cautionStep and divides the accepted
// risk by the same factor, within bounds. Each run without a kill lowers the log factor by
// cautionStep · targetKills.
const (
	targetKills    = 0.012 // target kill rate
	cautionStep    = 0.5   // change of the log factor after a kill
	initialCaution = 0.1   // log factor before the first run
	minCaution     = -0.7  // bounds of Pool.Caution
	maxCaution     = 3.0
)

// Observe learns whether a first try that followed a plan of the task was killed. The caller must call
// Observe before it learns the run.
func (p *Pool) Observe(l *Learner, killed bool) {
	c := &p.Caution[durationClass(l.Duration())]
	change := -targetKills
	if killed {
		change++
	}
	*c = min(maxCaution, max(minCaution, *c+cautionStep*change))
}

func (p *Pool) caution(l *Learner) float64 {
	return math.Exp(initialCaution + p.Caution[durationClass(l.Duration())])
}

const (
	maxCurves      = 32   // number of curves to keep: the newest
	nearWeight     = 0.3  // a run whose usage exactly reached its limit counts as this part of a kill
	nearScale      = 0.02 // slack, in log units, at which this part is divided by e
	maxReplayGrant = 1.1  // largest grant of a replay, in peaks of the run: no more than a tight static grant
	fewRuns        = 2    // number of earlier runs at which a kill counts half for its task, because few runs show only a part of the possible growth
)

const (
	durationClasses = 3
	ageClasses      = 4
)

// durationClass returns the class of a duration. In the first class, runs are too short for a
// limit that follows the usage.
func durationClass(seconds float64) int {
	switch {
	case seconds < 60:
		return 0
	case seconds < 600:
		return 1
	}
	return 2
}

func ageClass(runs int) int {
	switch {
	case runs < 2:
		return 0
	case runs < 4:
		return 1
	case runs < 9:
		return 2
	}
	return 3
}

// Learn adds an ended run. If there are earlier runs and `grant` is positive, it first replays every rule with the curves
// of the earlier runs. Then it adds the curve of the run. `grant` is the static grant in bytes that the run had, or would
// have had without a plan. The replay uses at most maxReplayGrant times the peak of the run, because the next static grant may
// be much tighter than the allocation of an earlier run. A larger grant never lowers the limit of a rule, so a run that
// survives the replay also survives with every larger grant. Learn ignores an empty curve.
func (l *Learner) Learn(pool *Pool, c Curve, grant float64, t Timing) {
	if len(c.Peak) == 0 {
		return
	}
	t = t.withDefaults()
	if len(l.Curves) > 0 && grant > 0 {
		l.replayRules(pool, &c, min(grant, maxReplayGrant*c.Max()), t)
	}
	l.Runs++
	l.Curves = append(l.Curves, c)
	if n := len(l.Curves); n > maxCurves {
		l.Curves = slices.Delete(l.Curves, 0, n-maxCurves)
	}
}

func (l *Learner) replayRules(pool *Pool, c *Curve, grant float64, t Timing) {
	forecasts := make([]forecast, len(c.Peak)+1)
	known := newEnvelope(l.Curves, t)
	forecasts[0] = known.forecast(0, 0)
	for k, level := range c.Peak {
		forecasts[k+1] = known.forecast(c.Step*float64(k+1), level)
	}
	if len(l.Rules) == 0 {
		l.Rules = make([]tally, len(rules))
	}
	shared := pool.class(l)
	weight := float64(len(l.Curves)) / float64(len(l.Curves)+fewRuns)
	fixed := grant * c.Duration()
	l.Total += fixed
	for i := range rules {
		o := rules[i].replay(c, grant, forecasts, t)
		kills := partialKill(o)
		l.Rules[i].add(kills*weight, o.cost)
		if i == 0 && !o.killed {
			l.Near += kills * weight
		}
		shared[i].add(kills, o.cost/fixed)
	}
}

func (t *tally) add(kills, cost float64) {
	t.Runs++
	t.Kills += kills
	t.Cost += cost
}

// partialKill returns 1 for a kill, and a part of 1 for a run that came near its limit (a near kill). Thus a rule
// that narrowly avoided a kill does not look as safe as a rule that never came near one.
func partialKill(o outcome) float64 {
	if o.killed {
		return 1
	}
	return nearWeight * math.Exp(-o.slack/nearScale)
}

func (p *Pool) class(l *Learner) []tally {
	class := &p.Classes[durationClass(l.Duration())][ageClass(len(l.Curves))]
	if len(*class) == 0 {
		*class = make([]tally, len(rules))
	}
	return *class
}

// tallies returns the same tallies as class and does not change the pool.
func (p *Pool) tallies(l *Learner) []tally {
	class := p.Classes[durationClass(l.Duration())][ageClass(len(l.Curves))]
	if len(class) == 0 {
		return noTallies
	}
	return class
}

// noTallies is read-only.
var noTallies = make([]tally, len(rules))

// Duration returns the median duration of the runs in Curves, in seconds, and 0 without runs.
func (l *Learner) Duration() float64 {
	if len(l.Curves) == 0 {
		return 0
	}
	all := make([]float64, len(l.Curves))
	for i := range l.Curves {
		all[i] = l.Curves[i].Duration()
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// IsUsable reports whether a decoded learner is valid and has the rules of this release.
func (l *Learner) IsUsable() bool {
	for i := range l.Curves {
		if !(l.Curves[i].Step > 0) || len(l.Curves[i].Peak) == 0 || len(l.Curves[i].Peak) > maxPoints {
			return false
		}
	}
	return len(l.Rules) == 0 || len(l.Rules) == len(rules)
}

// IsUsable reports whether a decoded pool fits the rules of this release.
func (p *Pool) IsUsable() bool {
	for _, ages := range p.Classes {
		for _, class := range ages {
			if len(class) != 0 && len(class) != len(rules) {
				return false
			}
		}
	}
	return true
}
