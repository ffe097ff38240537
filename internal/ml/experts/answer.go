package experts

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Answer is what the experts say of a row.
type Answer struct {
	Amount   float64
	Promised float64 // P(killed), as those who answer have been killed so far
	Factor   float64 // what the pool corrected the promise by
	Expert   int     // the weightiest; −1 for the young rule
}

// choose picks those who answer until the next row is learned: the experts whose
// kill rate is within the risk, weighed by how near their cost is to the least.
// Where hardly any is within, those killed at most Slack times as often as the
// safest are let in: the safest alone may allocate the moon.
func (x *Experts) choose(target float64, picks []Pick) []Pick {
	picks = picks[:0]
	if x.Told < x.config.Young {
		return picks
	}
	price := x.config.KillPrice * x.Price
	least, lowest := math.Inf(1), math.Inf(1)
	for e := range Count {
		lowest = min(lowest, x.rate(e))
	}
	target = max(target, x.config.Slack*lowest)
	for e := range Count {
		if x.rate(e) <= target {
			least = min(least, x.objective(e, price))
		}
	}
	total := 0.0
	for e := range Count {
		if x.rate(e) > target {
			continue
		}
		gap := (x.objective(e, price)/least - 1) * x.config.Blend
		if gap > 8 { // e^-8 of the cheapest's share
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

// allowed is the kill rate that experts may have had for the answers to come to a
// target: hardly more than it, however few kills there were, but for what may be
// chance. At a target of 0.015, a kill more than it is no evidence yet: of 60 rows
// that is twice the target, of 6,000 nothing.
func (x *Experts) allowed(target float64) float64 {
	chance := 1 + x.config.Chance/float64(max(x.Told, 1))
	return target * chance * x.Kept.Alpha / x.Kept.Target
}

const mostAllowed = 1.3 // times the target: the correction is there to hold it, not to spend it

// adapt learns whether the answer to a row would have been killed.
func (x *Experts) adapt(killed bool) {
	if !x.Young() {
		x.Kept.Update(killed)
		x.Kept.Alpha = max(0, min(mostAllowed*x.Kept.Target, x.Kept.Alpha))
	}
}

// picks are those who answer at a target: kept ready for the usual one.
func (x *Experts) picks(target float64, s *Scratch) []Pick {
	if target == x.config.Target {
		return x.Picks
	}
	s.picks = x.choose(x.allowed(target), s.picks)
	return s.picks
}

// rate is an expert's kill rate so far, shrunk to the risk that it meant to take.
func (x *Experts) rate(e int) float64 {
	return (x.Kills[e] + x.config.Prior*x.Nominal[e]) / (x.Rows + x.config.Prior)
}

// promise is the kill rate to expect of an expert that answers. It was chosen among many
// for what it cost, kills included, so that its own record is too good by about one kill
// (the winner's curse): measured on synthetic tasks of twenty kinds.
func (x *Experts) promise(e int) float64 {
	bias := selectionBias * min(1, x.Nominal[e]/biasFrom)
	return (x.Kills[e] + x.config.Prior*x.Nominal[e] + bias) / (x.Rows + x.config.Prior)
}

const (
	selectionBias = 1.0   // kills that the record of the chosen experts lacks
	biasFrom      = 0.005 // nominal risk from which on; who avoids every kill was not chosen for luck with them
)

// objective is what an expert has cost, kills priced.
func (x *Experts) objective(e int, price float64) float64 {
	return x.Cost[e] + price*(x.Kills[e]+x.config.Prior*x.Nominal[e])
}

// Young reports whether the experts have too little to go by.
func (x *Experts) Young() bool { return len(x.Picks) == 0 }

// Answer allocates for a row at a target share of kills. At least one row must
// have been learned.
func (x *Experts) Answer(p *Point, target float64, s *Scratch) Answer {
	a := Answer{Factor: x.Factor, Expert: -1}
	a.Amount, a.Promised, a.Expert = x.mixed(p, target, s)
	a.Promised = Probability(min(0.5, a.Promised*a.Factor))
	return a
}

// blend averages the picks, in log amount.
func (x *Experts) blend(p *Point, picks []Pick, s *Scratch) (amount, promised float64, expert int) {
	log, top, source := 0.0, 0.0, -1
	var logs [len(risks)]float64 // of s.amount, as far as it was needed; 0 where not
	for _, pick := range picks {
		if of := pick.Expert / len(prices); of != source {
			source, logs = of, [len(risks)]float64{}
			x.amounts(p, source/spreads, source%spreads, s)
		}
		at := x.pay(prices[pick.Expert%len(prices)], s)
		if logs[at] == 0 {
			logs[at] = math.Log(s.amount[at])
		}
		log += pick.Weight * logs[at]
		promised += pick.Weight * x.promise(pick.Expert)
		if pick.Weight > top {
			top, expert = pick.Weight, pick.Expert
		}
	}
	return math.Exp(log), promised, expert
}

// Probability keeps a probability within what a history can support: nobody has seen
// enough runs to be surer than 1 in 10,000.
func Probability(p float64) float64 { return max(leastProbability, min(1-leastProbability, p)) }

const leastProbability = 1e-4

// Exceed is P(peak > amount) for this very row, by the spreads of those who
// answer. It falls with the amount.
func (x *Experts) Exceed(p *Point, amount float64, s *Scratch) float64 {
	s.one[0] = amount
	x.ExceedAll(p, s.one[:1], s.one[1:], s)
	return s.one[1]
}

// ExceedAll writes P(peak > amounts[i]) to risk[i]: len(risk) ≥ len(amounts). It costs
// little more than one amount does.
func (x *Experts) ExceedAll(p *Point, amounts, risk []float64, s *Scratch) {
	for len(amounts) > gridSteps {
		x.ExceedAll(p, amounts[:gridSteps], risk, s)
		amounts, risk = amounts[gridSteps:], risk[gridSteps:]
	}
	n := len(amounts)
	share := x.share(p)
	if share == 1 {
		x.exceedYoung(p, amounts, risk)
		return
	}
	clear(risk[:n])
	logs := s.logs[:n]
	for k := range logs {
		logs[k] = math.Log(amounts[k]) + roundingError
	}
	for i := 0; i < len(x.Picks); {
		source, weight := x.Picks[i].Expert/len(prices), 0.0
		for ; i < len(x.Picks) && x.Picks[i].Expert/len(prices) == source; i++ {
			weight += x.Picks[i].Weight
		}
		model, spread := source/spreads, source%spreads
		sorted, t, scale := x.residuals(p, model, spread, s)
		level := p.Level[model]
		if spread == byAmount {
			mean := math.Exp(level)
			for k := range n {
				risk[k] += weight * exceed(sorted, amounts[k]*(1+roundingError)-mean, t.tail)
			}
			continue
		}
		for k, log := range logs {
			risk[k] += weight * exceed(sorted, (log-level)/scale, t.tail)
		}
	}
	for k := range n {
		risk[k] = min(1, risk[k]) // the weights sum to 1 but for rounding
		if share > 0 {
			risk[k] = share*p.Young.Exceed(logs[k]) + (1-share)*risk[k]
		}
	}
}

// exceedYoung is ExceedAll by the young rule.
func (x *Experts) exceedYoung(p *Point, amounts, risk []float64) {
	if p.Young != nil {
		for i, amount := range amounts {
			risk[i] = p.Young.Exceed(math.Log(amount) + roundingError)
		}
		return
	}
	model, spread, t := x.student(p)
	for i, amount := range amounts {
		risk[i] = t.Survival((math.Log(amount) - p.Level[model]) / spread)
	}
}

// fullModels see every feature in full.
var fullModels = [...]int{Trees, LineTrees, Stack}

// Likely writes P(peak > amounts[i]) to risk[i], as ExceedAll does, by the residuals
// near in level of the models that see every feature: who answers was chosen for the
// cost of a tail, and is too sure of the middle.
func (x *Experts) Likely(p *Point, amounts, risk []float64, s *Scratch) {
	if x.Young() {
		x.ExceedAll(p, amounts, risk, s)
		return
	}
	clear(risk[:len(amounts)])
	for _, model := range fullModels {
		sorted, t, _ := x.residuals(p, model, byLevel, s)
		for i, amount := range amounts {
			risk[i] += exceed(sorted, math.Log(amount)+roundingError-p.Level[model], t.tail) / float64(len(fullModels))
		}
	}
}

// youngModels are those that a few rows can bear.
var youngModels = [...]int{Line, Plain, Stack}

// young allocates by the mixture of the task's first rows. Where there is none (a row with
// imputed features, or a model stored by an earlier release), it takes a Student quantile
// about the model of least squared error, within reach of what was seen.
func (x *Experts) young(p *Point, target float64) (amount, promised float64) {
	if p.Young != nil {
		return x.coldStart(p, target)
	}
	target /= max(1, x.Factor)
	model, spread, t := x.student(p)
	most := x.limit(p.Level[model])
	wanted := math.Exp(p.Level[model] + spread*t.Quantile(1-target))
	if amount = max(p.Least, min(wanted, most)); amount == wanted {
		return amount, target
	}
	return amount, t.Survival((math.Log(amount) - p.Level[model]) / spread)
}

// YoungLevel is the log peak about which the young rule allocates.
func (x *Experts) YoungLevel(p *Point) float64 {
	if p.Young != nil {
		return p.Young.Mid()
	}
	model, _, _ := x.student(p)
	return p.Level[model]
}

// student is the predictive distribution of a log peak about a model: the prior
// counts as PriorRows rows of deviation PriorSpan.
func (x *Experts) student(p *Point) (model int, spread float64, t distuv.StudentsT) {
	model = Median
	for _, k := range youngModels {
		if x.Told >= 5 && x.SqErr[k]*1.3 < x.SqErr[model] {
			model = k
		}
	}
	n, prior := float64(x.Told), x.config.PriorRows
	nu := prior + n - 1
	variance := (prior*x.Span*x.Span + x.SqErr[model]) / nu
	return model, math.Sqrt(variance * (1 + 1/n)), distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}
}

// Name says who an expert is.
func Name(expert int) string {
	if expert < 0 {
		return "a Bayesian average of simple models"
	}
	source := expert / len(prices)
	return ModelNames[source/spreads] + ", by " + spreadNames[source%spreads]
}

// Leader names the expert with the largest share in the answers.
func (x *Experts) Leader() string {
	leader := Pick{Expert: -1}
	for _, pick := range x.Picks {
		if pick.Weight > leader.Weight {
			leader = pick
		}
	}
	return Name(leader.Expert)
}
