package experts

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/cost"
)

// maxAmount returns the reach of an expert whose model predicts the given level. The reach is the largest amount that the
// expert may grant: a multiple of the largest peak, or of the prediction if that is larger. A few residuals say little
// about a tail and may give margins that are much too wide. The multiple less 1 shrinks with 1/√rows. For the very first
// rows the multiple is larger (Config.FirstReach), because most kills of a new task are among these rows.
//
// A record is a peak above all earlier ones. The rows count from the fourth-newest record on. If the peaks have no trend, that
// record is usually among the first rows. If the peaks grow, records are frequent, and the largest peak says little about the
// next one.
func (x *Experts) maxAmount(level float64) float64 {
	n := float64(max(x.independentRows()-x.Records[0], 1))
	return max(x.MaxPeak, math.Exp(level)) * (1 + max(x.config.FirstReach/n, x.config.Reach/math.Sqrt(n)))
}

// pairAmounts holds the allocations of one pair (a model and a residual distribution) for a row, by the index in `risks`.
type pairAmounts struct {
	amount [len(risks)]float64
	cost   [len(risks)]float64 // expected cost of each amount, without the price of kills
}

// startLearning makes amountsOf keep its results until isLearning is false: learning one row needs them up to four times.
func (s *Scratch) startLearning() { s.isLearning, s.isComputed = true, [pairCount]bool{} }

// amountsOf returns the allocations of a pair. They are valid until its next call.
func (x *Experts) amountsOf(p *Point, pair int, s *Scratch) *pairAmounts {
	if !s.isLearning {
		x.computeAmounts(p, pair, s, &s.pairs[0])
		return &s.pairs[0]
	}
	if !s.isComputed[pair] {
		s.isComputed[pair] = true
		x.computeAmounts(p, pair, s, &s.pairs[pair])
	}
	return &s.pairs[pair]
}

func (x *Experts) computeAmounts(p *Point, pair int, s *Scratch, a *pairAmounts) {
	model, dist := pair/distributionCount, pair%distributionCount
	t, scale := x.distribution(p, model, dist, s)
	level, most := p.Level[model], x.maxAmount(p.Level[model])
	predicted := math.Exp(level)
	for i, r := range t.quantile {
		var amount float64
		if dist == byteResiduals {
			amount = max(minAmount, predicted+r)
		} else {
			amount = math.Exp(level + scale*r)
		}
		a.amount[i] = max(p.MinAmount, min(amount, most))
	}
	a.computeCosts(math.Exp(p.Duration))
}

func (a *pairAmounts) computeCosts(duration float64) {
	for i, risk := range risks {
		a.cost[i] = duration * a.amount[i] * (1 + killCost*risk)
	}
}

// minAmount keeps allocations from residuals in bytes positive. It is 1 MB, which is below any real
// peak.
const minAmount = 1e6

// killCost is the waste of a kill as a multiple of the killed allocation: the whole killed try,
// and the unused part of the next one. mixtureAmount passes killCost to bayes.Mixture.Grant as `retryFactor`.
const killCost = 1.2

// cheapestRisk returns the index in `risks` with the least expected cost: a.cost plus the price of a kill times the risk.
// The unit of `price` is the mean of peak · duration over the rows of the task.
func (x *Experts) cheapestRisk(price float64, a *pairAmounts) int {
	kill := price * (x.UsageSum / max(x.UsageRows, 1))
	best, at := math.Inf(1), 0
	for i, risk := range risks {
		if cost := a.cost[i] + kill*risk; cost < best {
			best, at = cost, i
		}
	}
	return at
}

// secondRung returns the amount of the first retry after a kill at the amount of risks[at]. The retry gets the
// amount of the largest element of `risks` that is at most Config.RungRiskShare · risks[at], or of the smallest element if
// all are larger. It gets at least Config.MinStep times the killed amount.
func (x *Experts) secondRung(at int, a *pairAmounts) float64 {
	next := at
	for next+1 < len(risks) && risks[next] > risks[at]*x.config.RungRiskShare {
		next++
	}
	return max(a.amount[next], a.amount[at]*x.config.MinStep)
}

func (x *Experts) updateLosses(p *Point, peak, duration float64, s *Scratch) {
	decay := x.config.Decay
	x.UsageSum, x.UsageRows = x.UsageSum*decay+peak*duration, x.UsageRows*decay+1
	x.ChargedRows = x.ChargedRows*decay + 1
	x.NominalRows = min(x.NominalRows+1, maxNominalRows)
	for pair := range pairCount {
		a := x.amountsOf(p, pair, s)
		for l, price := range prices {
			e, at := pair*len(prices)+l, x.cheapestRisk(price, a)
			waste, killed := wastage(a.amount[at], x.secondRung(at, a), peak)
			x.Cost[e] = x.Cost[e]*decay + waste*duration
			x.Kills[e] *= decay
			if killed {
				x.Kills[e]++
			}
			x.NominalRisk[e] += (risks[at] - x.NominalRisk[e]) / x.NominalRows
		}
	}
}

// maxNominalRows bounds NominalRows, so that the running mean NominalRisk follows the risks of about as many newest rows.
const maxNominalRows = 300

// wastage returns the memory that a ladder wastes on a peak, and whether its first rung is
// killed. The ladder has two rungs, and doubles the second one as often as necessary.
func wastage(first, second, peak float64) (waste float64, killed bool) {
	waste, kills := cost.LadderWastage(peak, roundingError, first, second)
	return waste, kills > 0
}

// IsSufficient reports whether an amount is at least the peak, up to a rounding error.
func IsSufficient(amount, peak float64) bool { return cost.IsSufficient(amount, peak, roundingError) }

// roundingError is the relative error below which amounts are equal. Peaks pass through a
// logarithm and back, which changes the last digits.
const roundingError = 1e-9
