package experts

import "math"

// ColdStartAnswer is the answer of the cold-start rule to a row at Config.Target. Learn needs nothing else of
// Point.ColdStart, which takes much memory. All mapped instances of a run with the same features have the same prediction. So
// a model stores this answer with the first reported instance, and uses it for the later instances instead of
// Point.ColdStart.
type ColdStartAnswer struct {
	_        struct{} `cbor:",toarray"`
	Amount   float64  // in the unit of the peak; 0: none
	Promised float64  // before the correction by the pool
	Level    float64  // predicted log peak
	Rows     float64  `cbor:"-"` // effective number of rows that the row counts as in updateHedge, at most 1
}

// ColdStartAnswer returns the answer of the cold-start rule to a row; the zero value without Point.ColdStart.
func (x *Experts) ColdStartAnswer(p *Point) (a ColdStartAnswer) {
	if p.ColdStart != nil {
		a.Amount, a.Promised = x.coldStartAmount(p, x.config.Target)
		a.Level = p.coldStartLevel()
	}
	return a
}

// Shift adds a number to the predicted log peak, and to the logarithm of the amount.
func (a *ColdStartAnswer) Shift(log float64) {
	a.Amount, a.Level = a.Amount*math.Exp(log), a.Level+log
}

// HasColdStart reports whether p has a prediction or an answer of the cold-start rule.
func (p *Point) HasColdStart() bool { return p.ColdStart != nil || p.Cold.Amount > 0 }

// coldStartLevel returns the log peak that the cold-start rule predicts. p.HasColdStart must be true.
func (p *Point) coldStartLevel() float64 {
	if p.ColdStart != nil {
		return p.ColdStart.MeanLevel()
	}
	return p.Cold.Level
}

// coldStartAmount returns the allocation by the cold-start rule, and its promise before the correction by the pool.
// Without p.ColdStart and p.Cold it uses a quantile of studentT: at most maxAmount, but at least p.MinAmount.
func (x *Experts) coldStartAmount(p *Point, target float64) (amount, promised float64) {
	if p.ColdStart != nil {
		return x.mixtureAmount(p, target)
	}
	if p.Cold.Amount > 0 {
		return p.Cold.Amount, p.Cold.Promised
	}
	target /= max(1, x.Factor)
	model, scale, t := x.studentT(p)
	most := x.maxAmount(p.Level[model])
	wanted := math.Exp(p.Level[model] + scale*t.Quantile(1-target))
	if amount = max(p.MinAmount, min(wanted, most)); amount == wanted {
		return amount, target
	}
	return amount, t.Survival((math.Log(amount) - p.Level[model]) / scale)
}

// mixtureAmount returns the amount of bayes.Mixture.Grant within coldStartReach, but at least p.MinAmount, and the
// promise of this amount before the correction by the pool.
func (x *Experts) mixtureAmount(p *Point, target float64) (amount, promised float64) {
	factor := max(1, x.Factor) // > 1 if tasks of the pool, mainly those of this age, were killed more often than promised
	wanted, risk := p.ColdStart.Grant(killCost, x.coldStartPrice(p, target), factor)
	most := max(math.Log(x.MaxPeak), p.ColdStart.TopLevel()) + math.Log1p(coldStartReach/float64(max(1, x.independentRows())))
	if log := min(wanted, most); log == wanted && math.Exp(log) >= p.MinAmount {
		return math.Exp(log), risk / factor
	}
	amount = max(p.MinAmount, math.Exp(min(wanted, most)))
	return amount, p.ColdStart.ExceedanceProb(math.Log(amount))
}

// coldStartReach bounds the margin of the mixture: with n rows, the amount is at most (1 + coldStartReach/n) · max(largest
// peak, highest prediction). The mixture forgets no row, so its distribution is still too wide long after a change.
const coldStartReach = 300

// coldStartPrice returns the price of a kill, besides the memory that the kill wastes, divided by the row's predicted
// cost. At Config.Target the result is Config.ColdStartPrice · √(the pool's mean row cost / the row's predicted cost), or
// Config.ColdStartPrice if the pool has no rows. So expensive rows get narrow margins and cheap rows wide ones. At other
// targets the result is inversely proportional to the target.
func (x *Experts) coldStartPrice(p *Point, target float64) float64 {
	price := x.config.ColdStartPrice * x.config.Target / target
	if x.MeanRowCost > 0 {
		price *= math.Exp((math.Log(x.MeanRowCost) - p.coldStartLevel() - p.Duration) / 2)
	}
	return price
}

// If no margin of Repeats answers, the answer is a weighted geometric mean of the amounts of the cold-start rule and of
// the selected experts. Three candidates compete by exponential weights of their costs (Hedge, Freund & Schapire 1997):
// the cold-start rule, the experts, and the blend, the geometric mean of both. So the transition from the rule to the
// experts depends on their costs and not only on the number of rows. The rule and the experts err for different reasons,
// so the blend often costs less than either.

// updateHedge charges the cold-start rule and the blend for a row, relative to the experts. The row is not learned yet.
func (x *Experts) updateHedge(p *Point, peak, duration float64, s *Scratch) {
	if !p.HasColdStart() || len(x.Picks) == 0 {
		return
	}
	cold, _ := x.coldStartAmount(p, x.config.Target)
	experts := x.expertAmount(p, x.Picks, s).amount
	price := x.coldStartPrice(p, x.config.Target) * math.Exp(p.coldStartLevel())
	r := hedgeRow{peak: peak, price: price, experts: experts, weight: 1, rows: 1}
	if p.ColdStart == nil {
		r.rows = p.Cold.Rows
	}
	if meanUsage := x.UsageSum / max(x.UsageRows, 1); meanUsage > 0 {
		r.weight = duration / meanUsage
	}
	x.ColdStartExcessLoss, x.ColdStartKills = x.charge(&r, cold, x.ColdStartExcessLoss, x.ColdStartKills)
	x.BlendExcessLoss, x.BlendKills = x.charge(&r, math.Sqrt(cold*experts), x.BlendExcessLoss, x.BlendKills)
}

type hedgeRow struct {
	peak    float64
	price   float64 // price of a kill, in the unit of the peak
	experts float64 // amount of the experts
	weight  float64 // converts a cost per second into mean row costs
	rows    float64 // effective number of rows, see ColdStartAnswer.Rows
}

func (x *Experts) charge(r *hedgeRow, amount, excessLoss, kills float64) (newLoss, newKills float64) {
	excess := (hedgeLoss(amount, r.peak, r.price) - hedgeLoss(r.experts, r.peak, r.price)) * r.weight
	newLoss = excessLoss*hedgeDecay + r.rows*max(-maxLossGap, min(maxLossGap, excess))
	newKills = max(0, kills-x.config.Target)
	if !IsSufficient(amount, r.peak) && IsSufficient(r.experts, r.peak) { // if both amounts are too small, neither is better
		newKills += r.rows
	}
	return newLoss, newKills
}

// hedgeLoss returns the cost of an amount for a run with the given peak, per second. `price` is the price of a kill in
// the unit of the peak. Each retry doubles the amount.
func hedgeLoss(amount, peak, price float64) float64 {
	loss, killed := wastage(amount, 2*amount, peak)
	if killed {
		loss += price
	}
	return loss
}

const (
	hedgeDecay      = 0.99 // factor per row on the excess loss so far
	maxLossGap      = 4.0  // largest difference of two losses on a row, in mean row costs; larger differences are clipped
	hedgeRate       = 1.0  // log odds per mean row cost of excess loss
	hedgePrior      = 5.0  // log odds of the cold-start rule against the experts before any comparison
	maxSavingOdds   = 3.0  // largest log odds that a lower cost than that of the experts can add: no saving compensates for many kills
	pureShare       = 0.98 // if the share of the cold-start rule, or that of the experts, is larger than this, it is raised to 1
	chanceKillCount = 0.5  // number of kills that may be chance
	killOdds        = 6.0  // log odds per kill beyond chanceKillCount
)

// hedgeOdds returns the odds of a candidate against the experts. `prior` is the log odds before any comparison.
func hedgeOdds(prior, excessLoss, kills float64) float64 {
	return math.Exp(prior - max(-maxSavingOdds, hedgeRate*excessLoss) - killOdds*max(0, kills-chanceKillCount))
}

// hedgeShare returns the share of the cold-start rule in the answers. Without selected experts its result is 0 and unused,
// because coldStartShare then returns 1. The prior odds of the blend are proportional to the
// number of rows, because the margins of the experts come from residuals, whose number grows with the rows.
func (x *Experts) hedgeShare() float64 {
	if len(x.Picks) == 0 {
		return 0
	}
	cold := hedgeOdds(hedgePrior, x.ColdStartExcessLoss, x.ColdStartKills)
	blend := hedgeOdds(hedgePrior+math.Log(float64(x.independentRows())/x.config.BlendRows), x.BlendExcessLoss, x.BlendKills)
	share := (cold + blend/2) / (1 + cold + blend)
	switch {
	case share > pureShare:
		return 1
	case share < 1-pureShare:
		return 0
	}
	return share
}

// NeedsColdStart reports whether answers need Point.ColdStart.
func (x *Experts) NeedsColdStart() bool { return len(x.Picks) == 0 || x.ColdStartShare > 0 }

func (x *Experts) coldStartShare(p *Point) float64 {
	if len(x.Picks) == 0 {
		return 1
	}
	if !p.HasColdStart() {
		return 0
	}
	return x.ColdStartShare
}

func (x *Experts) combinedAmount(p *Point, target float64, s *Scratch) candidate {
	if margin, killRate := x.repeatMargin(p, target); margin >= 0 {
		return candidate{amount: repeatAmount(p, margin), killRate: killRate, rowRisk: killRate, expert: firstRepeat - margin}
	}
	return x.blendedAmount(p, target, s)
}

func (x *Experts) blendedAmount(p *Point, target float64, s *Scratch) (c candidate) {
	share := x.coldStartShare(p)
	if share < 1 {
		c = x.expertAmount(p, x.picksFor(target, s), s)
	}
	if share == 0 {
		return c
	}
	cold, risk := x.coldStartAmount(p, target)
	if share == 1 {
		return candidate{amount: cold, killRate: risk, rowRisk: risk, expert: -1}
	}
	if share > 0.5 {
		c.expert = -1
	}
	c.amount = math.Exp(share*math.Log(cold) + (1-share)*math.Log(c.amount))
	c.killRate, c.rowRisk = share*risk+(1-share)*c.killRate, share*risk+(1-share)*c.rowRisk
	return c
}
