package plan

// Planner plans the runs of one task. It does not change. It is safe for concurrent use as long as its Learner does not
// learn.
type Planner struct {
	known *envelope // of the earlier runs
	rule  *rule     // the chosen rule
	risk  float64   // expected number of kills of a run with this rule; 0 without earlier runs

	// ascent has a forecast for the end of each step of the run that Plan.Steps describes.
	ascent []forecast
}

// NewPlanner chooses the rule for the next runs of a task.
func NewPlanner(l *Learner, pool *Pool, t Timing) *Planner {
	p := newPlanner(l, pool, t)
	p.ascent = make([]forecast, len(p.known.highest))
	for k, level := range p.known.highest {
		p.ascent[k] = p.known.forecast(float64(k+1)*curveStep, level)
	}
	return p
}

// newPlanner returns a planner without ascent. Plan.Steps then computes the forecasts itself.
func newPlanner(l *Learner, pool *Pool, t Timing) *Planner {
	p := &Planner{rule: &rules[0], known: newEnvelope(l.Curves, t.withDefaults())}
	if len(l.Curves) == 0 {
		return p
	}
	shared, caution := pool.tallies(l), pool.caution(l)
	least, most := 0.0, 0.0
	for i := range rules {
		risk, cost := l.expect(i, shared)
		total := cost + priceOfKill*caution*risk
		if i == 0 {
			most = cost
		}
		if i == 0 || (risk <= maxRisk/caution || l.isAsSafeAsStatic(i)) && cost <= most && total < least {
			p.rule, p.risk, least = &rules[i], risk, total
		}
	}
	return p
}

// isAsSafeAsStatic reports whether the kills and near kills (partialKill) of rule i in the replays are together at most the
// near kills of the static grant. It is false before pooledRuns replays. Equal runs get a static grant just above their peak,
// so their usage comes near the limit of every rule, and without this check no rule would have an accepted kill rate. l.Near
// has no real kills of the static grant, so these cannot justify kills of the rule.
func (l *Learner) isAsSafeAsStatic(i int) bool {
	return len(l.Rules) > 0 && l.Rules[i].Runs >= pooledRuns && l.Rules[i].Kills <= l.Near
}

// Plan returns the plan of a run with a static grant in bytes.
func (p *Planner) Plan(grant float64) *Plan {
	return &Plan{Static: grant, Risk: p.risk, rule: p.rule, known: p.known, ascent: p.ascent}
}
