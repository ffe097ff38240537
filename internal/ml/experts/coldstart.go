package experts

import "math"

// coldStart grants what a young task is expected to cost least with, by the predictive
// distribution of its first rows. A kill has a price besides what it wastes: the
// geometric mean of the row's own cost and that of the pool's mean row, so that dear rows
// are granted closely and cheap ones are not killed for the little that they waste.
func (x *Experts) coldStart(p *Point, target float64) (amount, promised float64) {
	factor := max(1, x.Factor) // siblings of this age were killed more often than predicted
	wanted, risk := p.Young.Grant(killShare, x.coldPrice(p, target), factor)
	most := math.Log(x.MaxPeak * coldReach)
	if log := min(wanted, most); log == wanted && math.Exp(log) >= p.Least {
		return math.Exp(log), risk / factor
	}
	amount = max(p.Least, math.Exp(min(wanted, most)))
	return amount, p.Young.Exceed(math.Log(amount))
}

// coldReach bounds what a young task's line may extrapolate to, as a multiple of the
// largest peak so far.
const coldReach = 1000

// coldPrice is the price of a kill in units of the row's own cost.
func (x *Experts) coldPrice(p *Point, target float64) float64 {
	price := x.config.ColdPrice * x.config.Target / target
	if x.Price > 0 {
		price *= math.Exp((math.Log(x.Price) - p.Young.Mid() - p.Duration) / 2)
	}
	return price
}

// compare charges the young rule and the experts' common answer with a row that neither
// was told before. Exponential weights over what both have cost decide who answers
// (Hedge, Freund & Schapire 1997): the hand-over depends on the task, not on its age.
func (x *Experts) compare(p *Point, peak, duration float64) {
	if p.Young == nil || len(x.Picks) == 0 {
		return
	}
	young, _ := x.young(p, x.config.Target)
	grown, _, _ := x.blend(p, x.Picks, &x.scratch)
	price := x.coldPrice(p, x.config.Target) * math.Exp(p.Young.Mid())
	more := coldLoss(young, peak, price) - coldLoss(grown, peak, price)
	if unit := x.Use / max(x.UseRows, 1); unit > 0 {
		more *= duration / unit
	}
	x.Lead = x.Lead*leadMemory + max(-leadMost, min(leadMost, more))
	x.YoungKills = max(0, x.YoungKills-x.config.Target)
	if !Holds(young, peak) && Holds(grown, peak) { // a peak that both missed says nothing for either
		x.YoungKills++
	}
}

// coldLoss is what an amount costs on a peak, where retries double it.
func coldLoss(amount, peak, price float64) float64 {
	cost, killed := replay(amount, 2*amount, peak)
	if killed {
		cost += price
	}
	return cost
}

const (
	leadMemory = 0.99 // per row
	leadMost   = 4.0  // mean row costs that one row may count
	leadRate   = 0.7  // log odds per mean row cost
	leadPrior  = 5.0  // log odds of the young rule before anything was compared
	leadWorth  = 3.0  // log odds that a lower cost can add: no saving pays for many kills
	leadSure   = 0.98 // share from which on one of the two answers alone
	leadKills  = 2.5  // log odds per kill beyond the target …
	leadChance = 0.5  // … and kills that may be chance
)

// handOver is the share of the young rule in the answers.
func (x *Experts) handOver() float64 {
	if len(x.Picks) == 0 {
		return 0
	}
	odds := leadPrior - max(-leadWorth, leadRate*x.Lead) - leadKills*max(0, x.YoungKills-leadChance)
	share := 1 / (1 + math.Exp(-odds))
	switch {
	case share > leadSure:
		return 1
	case share < 1-leadSure:
		return 0
	}
	return share
}

// AsksYoung reports whether answers need Point.Young.
func (x *Experts) AsksYoung() bool { return len(x.Picks) == 0 || x.YoungShare > 0 }

// share is that of the young rule in the answer to a row.
func (x *Experts) share(p *Point) float64 {
	if len(x.Picks) == 0 {
		return 1
	}
	if p.Young == nil {
		return 0
	}
	return x.YoungShare
}

// mixed is the answer of the young rule and of the experts, averaged in log amount by
// their shares.
func (x *Experts) mixed(p *Point, target float64, s *Scratch) (amount, promised float64, expert int) {
	share := x.share(p)
	if share == 1 {
		amount, promised = x.young(p, target)
		return amount, promised, -1
	}
	amount, promised, expert = x.blend(p, x.picks(target, s), s)
	if share == 0 {
		return amount, promised, expert
	}
	young, risk := x.young(p, target)
	if share > 0.5 {
		expert = -1
	}
	log := share*math.Log(young) + (1-share)*math.Log(amount)
	return math.Exp(log), share*risk + (1-share)*promised, expert
}
