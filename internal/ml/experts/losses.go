package experts

import "math"

// maxAmount returns the upper bound of a model's allocation. The tail of few residuals is
// poorly known, so the bound is tight at first and relaxes with 1/√rows. The very first
// rows have a wider bound, because most kills of a new task are among them.
func (x *Experts) maxAmount(level float64) float64 {
	n := float64(max(x.LearnedRows, 1))
	return max(x.MaxPeak, math.Exp(level)) * (1 + max(x.config.FirstReach/n, x.config.Reach/math.Sqrt(n)))
}

// computeAmounts fills s.amount with the allocation at every risk, and s.cost.
func (x *Experts) computeAmounts(p *Point, model, dist int, s *Scratch) {
	_, t, scale := x.distribution(p, model, dist, s)
	level, most := p.Level[model], x.maxAmount(p.Level[model])
	mean := math.Exp(level)
	for i, r := range t.quantile {
		var amount float64
		if dist == linearResiduals {
			amount = max(minAmount, mean+r)
		} else {
			amount = math.Exp(level + scale*r)
		}
		s.amount[i] = max(p.MinAmount, min(amount, most))
	}
	s.computeCosts(math.Exp(p.Duration))
}

// computeCosts fills s.cost with the expected cost of the amounts over a duration.
func (s *Scratch) computeCosts(duration float64) {
	for i, risk := range risks {
		s.cost[i] = duration * s.amount[i] * (1 + killCost*risk)
	}
}

// minAmount keeps allocations from linear residuals positive. At 1 MB it is below any real
// peak in bytes.
const minAmount = 1e6

// killCost is the waste of a killed try as a share of its allocation: the whole try, and a
// part of the next one.
const killCost = 1.2

// cheapestRisk returns the index of the risk with the least expected cost by s.cost, at a
// price per kill.
func (x *Experts) cheapestRisk(price float64, s *Scratch) int {
	kill := price * (x.Use / max(x.UsageRows, 1))
	best, at := math.Inf(1), 0
	for i, risk := range risks {
		if cost := s.cost[i] + kill*risk; cost < best {
			best, at = cost, i
		}
	}
	return at
}

// secondRung returns the rung after the one at a risk. The share Config.Rung of that risk
// remains.
func (x *Experts) secondRung(at int, s *Scratch) float64 {
	next := at
	for next+1 < len(risks) && risks[next] > risks[at]*x.config.Rung {
		next++
	}
	return max(s.amount[next], s.amount[at]*x.config.MinStep)
}

// updateLosses adds the cost that every expert would have had on the row.
func (x *Experts) updateLosses(p *Point, peak, duration float64) {
	decay := x.config.Forget
	x.Use, x.UsageRows = x.Use*decay+peak*duration, x.UsageRows*decay+1
	x.Rows = x.Rows*decay + 1
	x.NominalRows = min(x.NominalRows+1, 300)
	s := &x.scratch
	for source := range sourceCount {
		x.computeAmounts(p, source/distributionCount, source%distributionCount, s)
		for l, price := range prices {
			e, at := source*len(prices)+l, x.cheapestRisk(price, s)
			waste, killed := wastage(s.amount[at], x.secondRung(at, s), peak)
			x.Cost[e] = x.Cost[e]*decay + waste*duration
			x.Kills[e] *= decay
			if killed {
				x.Kills[e]++
			}
			x.Nominal[e] += (risks[at] - x.Nominal[e]) / x.NominalRows
		}
	}
}

// wastage returns what a ladder of two rungs, doubled after the second, wastes on a peak. A
// killed try wastes its whole allocation.
func wastage(first, second, peak float64) (waste float64, killed bool) {
	if IsSufficient(first, peak) {
		return first - peak, false
	}
	waste = first
	for !IsSufficient(second, peak) {
		waste += second
		second *= 2
	}
	return waste + second - peak, true
}

// IsSufficient reports whether an amount is sufficient for a peak.
func IsSufficient(amount, peak float64) bool { return amount >= peak*(1-roundingError) }

// roundingError is the relative error below which amounts are equal. Peaks pass through a
// logarithm and back, which changes the last digits.
const roundingError = 1e-9
