package plan

import "math"

// Plan sets the limit of one run.
type Plan struct {
	Static float64    // the static grant
	Risk   float64    // expected number of kills of the run; 0 without earlier runs
	rule   *rule      // the chosen rule
	known  *envelope  // of the earlier runs
	ascent []forecast // Planner.ascent; nil: Steps computes the forecasts
}

// These values gave the best results on the synthetic tasks of plantest. Estimates for a task are shrunk towards those of
// the pool, and estimates of the pool towards a prior: the first three constants are weights, in runs. The estimates
// of the pool are from tasks of the same classes (durationClass, ageClass). The caution of the pool is
// its factor on the price of a kill.
const (
	priorRuns   = 15   // weight of the prior of a rule (priorRisk, priorCost) in the estimates of the pool
	pooledRuns  = 10   // weight of the kill rate of the pool in the kill rate of a task
	pooledCosts = 1    // weight of the cost of the pool in the cost of a task
	priceOfKill = 6    // price of a kill in addition to the cost of the tries, in costs of a run with the static grant
	maxRisk     = 0.03 // largest accepted kill rate of a rule at a caution of 1; newPlanner divides it by the caution of the pool
)

// Plan returns the plan of the next run; `grant` is the static grant of the run in bytes. Plan chooses the rule with the
// least expected cost among the rules with an accepted kill rate and those that are as safe as the static grant
// (Learner.isAsSafeAsStatic). This cost is the cost of all tries of the run and the price of the expected kills. The first
// rule, the static grant, is always a candidate. A rule whose tries cost more than those of the static grant is no candidate.
func (l *Learner) Plan(pool *Pool, grant float64, t Timing) *Plan {
	return newPlanner(l, pool, t).Plan(grant)
}

// expect returns the expected number of kills, and the expected cost of all tries, of rule i for the next run. The unit of
// the cost is the cost of the run with the static grant. `shared` holds the tallies of the pool for the classes of the task.
func (l *Learner) expect(i int, shared []tally) (risk, cost float64) {
	r := &rules[i]
	pooled := (r.priorRisk(ageClass(len(l.Curves)))*priorRuns + shared[i].Kills) / (priorRuns + shared[i].Runs)
	typical := (r.priorCost()*priorRuns + shared[i].Cost) / (priorRuns + shared[i].Runs)
	if len(l.Rules) == 0 {
		return pooled, typical
	}
	own := l.Rules[i]
	risk = (pooled*pooledRuns + own.Kills) / (pooledRuns + own.Runs)
	mean := l.Total / own.Runs
	cost = (typical*mean*pooledCosts + own.Cost) / (mean*pooledCosts + l.Total)
	return risk, cost
}

// priorRisk returns the expected kill rate of a rule that was never replayed, for a task of an age
// class, as measured on the synthetic tasks of plantest.
func (r *rule) priorRisk(age int) float64 {
	if r.base == static {
		risk := [...]float64{.02, .01, .006, .004}[age] / math.Pow(r.margin, 6)
		if r.overflow == 0 {
			return 1.5 * risk
		}
		return risk
	}
	risk := [...]float64{.30, .07, .035, .012}[age] * (1 + 12*math.Max(0, 1.17-r.margin)) / (r.margin - .15)
	if r.stretch > 0 {
		return .6 * risk
	}
	return risk
}

// priorCost returns the expected cost of a rule that was never replayed. The unit is the cost of the
// run with the static grant.
func (r *rule) priorCost() float64 {
	if r.base == static {
		return r.margin + .5*r.overflow
	}
	return .55 + .2*r.margin
}

// Start returns the limit in bytes with which the run starts.
func (p *Plan) Start() float64 {
	return p.rule.limit(p.Static, 0, p.known.forecast(0, 0))
}

// Need returns the limit in bytes that the run needs some seconds after its start, if `level` is its
// largest memory so far.
func (p *Plan) Need(seconds, level float64) float64 {
	return p.rule.limit(p.Static, level, p.known.forecast(seconds, level))
}

// Expected returns the limit in bytes that Steps has reached `seconds` after the start. It is for runs whose memory is
// unknown.
func (p *Plan) Expected(seconds float64) float64 {
	limit := p.Start()
	for _, s := range p.Steps() {
		if s.Seconds <= seconds {
			limit = s.Limit
		}
	}
	return limit
}

// Lift returns the plan of the next try after a kill at the limit `killed`, in bytes. The static grant of the new plan is at
// least 1.5 times this limit (the constant `lift`). The limits of the new plan exceed its static grant if the usage comes
// near this grant.
func (p *Plan) Lift(killed float64) *Plan {
	lifted := *p
	lifted.rule = &rules[liftRule]
	lifted.Static = max(p.Static, lift*killed)
	return &lifted
}

// Rule returns the name of the chosen rule with its parameters; see rule.String.
func (p *Plan) Rule() string { return p.rule.String() }

// Step is one increase of a limit: the time since the start in seconds, the largest memory so far, and
// the new limit, both in bytes.
type Step struct{ Seconds, Level, Limit float64 }

// Steps returns the increases of the limit in a run whose memory at each time is the largest memory of
// all earlier runs up to that time.
func (p *Plan) Steps() []Step {
	var steps []Step
	limit := p.Start()
	for k, level := range p.known.highest {
		seconds := float64(k+1) * curveStep
		if need := Grow(limit, p.rule.limit(p.Static, level, p.ascentAt(k))); need > limit {
			steps = append(steps, Step{seconds, level, need})
			limit = need
		}
	}
	return steps
}

func (p *Plan) ascentAt(k int) forecast {
	if p.ascent == nil {
		return p.known.forecast(float64(k+1)*curveStep, p.known.highest[k])
	}
	return p.ascent[k]
}
