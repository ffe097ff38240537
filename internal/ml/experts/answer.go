package experts

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// selectExperts returns, in the memory of `picks`, the weighted experts that answer at a target kill rate. It accepts
// a kill rate of up to Config.KillRateSlack times the lowest one even above the target, because the safest expert
// alone may overallocate. Experts with a negligible weight are left out.
func (x *Experts) selectExperts(target float64, picks []Pick) []Pick {
	picks = picks[:0]
	if x.independentRows() < x.config.ColdStartRows {
		return picks
	}
	price := x.config.KillPrice * x.MeanRowCost
	least, lowest := math.Inf(1), math.Inf(1)
	for e := range Count {
		lowest = min(lowest, x.killRate(e))
	}
	target = max(target, x.config.KillRateSlack*lowest)
	for e := range Count {
		if x.killRate(e) <= target {
			least = min(least, x.objective(e, price))
		}
	}
	total := 0.0
	for e := range Count {
		if x.killRate(e) > target {
			continue
		}
		gap := (x.objective(e, price)/least - 1) * x.config.CostPreference
		if gap > 8 { // a weight of e^-8 relative to the cheapest is negligible
			continue
		}
		picks = append(picks, Pick{e, math.Exp(-gap)})
		total += math.Exp(-gap)
	}
	for i := range picks {
		picks[i].Weight /= total
	}
	return picks
}

// allowedKillRate returns the kill rate up to which experts are selected. AdaptiveTarget corrects this rate, so that the
// kill rate of the answers approaches Config.AimedShare of the target. A short history gets an
// allowance for chance: with Config.ChanceRows = 60, the rate is doubled at 60 rows and one percent higher at 6,000 rows.
func (x *Experts) allowedKillRate(target float64) float64 {
	chance := 1 + x.config.ChanceRows/float64(max(x.independentRows(), 1))
	return target * chance * x.AdaptiveTarget.Alpha / x.config.Target
}

// maxAllowance bounds the adaptively corrected kill rate, as a multiple of the target: a period without
// kills must not lead to many kills later.
const maxAllowance = 1.3

// updateAllowance adapts the allowed kill rate. `killed` says whether the row would have been killed with the amount
// of the answer.
func (x *Experts) updateAllowance(killed bool) {
	if !x.IsColdStart() {
		// Before this assignment, Target can be the whole Config.Target, as the function New and earlier releases set it.
		x.AdaptiveTarget.Target, x.AdaptiveTarget.Step = x.config.AimedShare*x.config.Target, x.step()
		x.AdaptiveTarget.Update(killed)
		x.AdaptiveTarget.Alpha = max(0, min(maxAllowance*x.config.Target, x.AdaptiveTarget.Alpha))
	}
}

// step returns the step of the adaptive correction. The steps become smaller with more rows, so that the correction
// does not follow chance (Angelopoulos, Barber & Bates 2024). A change of the task discounts ChargedRows,
// so that the steps become larger again.
func (x *Experts) step() float64 { return x.config.Step * min(1, x.config.StepRows/x.ChargedRows) }

func (x *Experts) picksFor(target float64, s *Scratch) []Pick {
	if target == x.config.Target {
		return x.Picks
	}
	s.picks = x.selectExperts(x.allowedKillRate(target), s.picks)
	return s.picks
}

// killRate returns the expected kill rate of an expert if it is selected: its kills plus selectionBias, shrunk to its
// nominal risk, the mean of the risks that it chose. Experts are selected for a low cost, which includes kills. In the rows
// so far, a selected expert therefore had about one kill less than its true rate gives (the winner's curse). This bias was
// measured on synthetic tasks of twenty kinds. For an excluded expert, killRate returns +Inf, which is above every target.
func (x *Experts) killRate(e int) float64 {
	if x.isExcluded(e) {
		return math.Inf(1)
	}
	bias := selectionBias * min(1, x.NominalRisk[e]/biasFrom)
	return (x.Kills[e] + x.config.NominalPriorRows*x.NominalRisk[e] + bias) / (x.ChargedRows + x.config.NominalPriorRows)
}

const (
	selectionBias = 1.0   // number of kills that killRate adds to the kills of an expert
	biasFrom      = 0.005 // nominal risk from which on the full bias applies: luck has little effect on an expert with a tiny risk
)

func (x *Experts) objective(e int, price float64) float64 {
	return x.Cost[e] + price*(x.Kills[e]+x.config.NominalPriorRows*x.NominalRisk[e])
}

// IsColdStart reports whether the task is in its cold start: no expert is selected yet.
func (x *Experts) IsColdStart() bool { return len(x.Picks) == 0 }

// Answer returns the allocation for a row at a target kill rate, with a promise of at most 0.5. The caller must have
// learned at least one row.
func (x *Experts) Answer(p *Point, target float64, s *Scratch) Answer {
	c := x.combinedAmount(p, target, s)
	a := Answer{Amount: c.amount, Factor: x.Factor, Expert: c.expert}
	a.mean = x.promise(p, c.killRate*x.Factor)
	a.Promised, a.row = a.mean, a.mean
	if !p.Imputed { // the level of an imputed row is uncertain, so its level class does not correct the promise
		a.row = x.promise(p, c.rowRisk*x.Factor*x.levelFactor(p))
	}
	return a
}

// expertAmount returns the mean amount of the experts in `picks`. If the row is an exception (Point.IsException), and the
// amount is clearly below the prediction of the model with the smallest errors, this prediction replaces all smaller
// predictions of the other models.
func (x *Experts) expertAmount(p *Point, picks []Pick, s *Scratch) candidate {
	c := x.meanAmount(p, picks, s)
	best := x.bestModel()
	if !x.isTooLow(c.amount, p, best) {
		return c
	}
	raised := *p
	for k := range raised.Level {
		raised.Level[k] = max(p.Level[k], p.Level[best])
	}
	s.isComputed = [pairCount]bool{} // the amounts for p do not apply to raised, and vice versa
	c.amount = x.meanAmount(&raised, picks, s).amount
	s.isComputed = [pairCount]bool{}
	if model := ModelIndex(c.expert); p.Level[model] < p.Level[best] {
		c.expert += (best - model) * distributionCount * len(prices)
	}
	return c
}

func (x *Experts) bestModel() (best int) {
	for k := range x.SquaredErrors {
		if x.SquaredErrors[k] < x.SquaredErrors[best] {
			best = k
		}
	}
	return best
}

// tooLow is a probability of a kill. If the residuals of a model give a larger probability for an amount, the amount is
// clearly below the prediction of this model.
const tooLow = 0.9

func (x *Experts) isTooLow(amount float64, p *Point, model int) bool {
	residual := math.Log(amount) - p.Level[model]
	if !p.IsException || residual >= 0 {
		return false
	}
	pair := model*distributionCount + allRows
	sorted := x.sorted(pair)
	return exceedanceProb(&sorted, residual, x.tables[pair].tail) > tooLow
}

// meanAmount returns the weighted geometric mean of the amounts of the experts in `picks`, with the weighted means of their
// risks. An expert chooses a larger risk for a row whose memory is expensive (see cheapestRisk). So its risk for the row is its
// kill rate times relativeRisk of the chosen risk. Picks of one pair (a model and a distribution) are adjacent.
func (x *Experts) meanAmount(p *Point, picks []Pick, s *Scratch) (c candidate) {
	log, top, pair := 0.0, 0.0, -1
	var a *pairAmounts
	var logs [len(risks)]float64 // lazily computed logs of a.amount; 0: not computed
	for _, pick := range picks {
		if of := pick.Expert / len(prices); of != pair {
			pair, logs = of, [len(risks)]float64{}
			a = x.amountsOf(p, pair, s)
		}
		at := x.cheapestRisk(prices[pick.Expert%len(prices)], a)
		if logs[at] == 0 {
			logs[at] = math.Log(a.amount[at])
		}
		log += pick.Weight * logs[at]
		killRate := pick.Weight * x.killRate(pick.Expert)
		c.killRate += killRate
		c.rowRisk += killRate * x.relativeRisk(pick.Expert, risks[at])
		if pick.Weight > top {
			top, c.expert = pick.Weight, pick.Expert
		}
	}
	c.amount = math.Exp(log)
	return c
}

// Probability clamps a probability to [0.0001, 0.9999]: no history is long enough to
// support more certainty than 1 in 10,000.
func Probability(p float64) float64 { return max(minProbability, min(1-minProbability, p)) }

const minProbability = 1e-4

// ColdStartLevel returns the log peak that the cold-start rule predicts for a row. If HasColdStart is false, it returns the
// prediction of the model that studentT selects.
func (x *Experts) ColdStartLevel(p *Point) float64 {
	if p.HasColdStart() {
		return p.coldStartLevel()
	}
	model, _, _ := x.studentT(p)
	return p.Level[model]
}

// coldStartModels lists the models, besides the median, that a few rows can determine.
var coldStartModels = [...]int{Line, Plain, Stack}

// studentT returns the predictive distribution of the log peak in a cold start without Point.ColdStart: the prediction of a
// model plus `scale` times Student's t. The model is the median or, from five rows on, one of coldStartModels with
// clearly smaller squared errors. The prior counts as Config.PriorRows rows with the deviation
// x.PriorDeviation.
func (x *Experts) studentT(p *Point) (model int, scale float64, t distuv.StudentsT) {
	model = Median
	for _, k := range coldStartModels {
		if x.independentRows() >= 5 && x.SquaredErrors[k]*1.3 < x.SquaredErrors[model] {
			model = k
		}
	}
	n, prior := float64(x.independentRows()), x.config.PriorRows
	nu := prior + n - 1
	variance := (prior*x.PriorDeviation*x.PriorDeviation + x.SquaredErrors[model]) / nu
	return model, math.Sqrt(variance * (1 + 1/n)), distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}
}

// Name describes an expert for people: its model and its residual distribution. A negative expert stands for the
// cold-start rule or for a margin of Repeats (see Answer.Expert).
func Name(expert int) string {
	if expert <= firstRepeat {
		return repeatName(expert)
	}
	if expert < 0 {
		return "a Bayesian average of simple models"
	}
	pair := expert / len(prices)
	return ModelNames[pair/distributionCount] + ", by " + distributionNames[pair%distributionCount]
}

// Leader returns the name of the expert with the largest weight in the answers, or of the cold-start rule
// if no expert is selected.
func (x *Experts) Leader() string {
	leader := Pick{Expert: -1}
	for _, pick := range x.Picks {
		if pick.Weight > leader.Weight {
			leader = pick
		}
	}
	return Name(leader.Expert)
}
