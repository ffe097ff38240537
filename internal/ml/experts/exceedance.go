package experts

import "math"

// ExceedanceProb returns P(peak > amount) for a row, by the residual distributions of the selected
// experts and by the cold-start rule, weighted by their shares. A larger amount never has a larger probability.
func (x *Experts) ExceedanceProb(p *Point, amount float64, s *Scratch) float64 {
	s.single[0] = amount
	x.ExceedanceProbs(p, s.single[:1], s.single[1:], s)
	return s.single[1]
}

// ExceedanceProbs writes P(peak > amounts[i]) to risk[i]; len(risk) ≥ len(amounts). It takes
// little more time than ExceedanceProb for one amount.
func (x *Experts) ExceedanceProbs(p *Point, amounts, risk []float64, s *Scratch) {
	for len(amounts) > gridSteps {
		x.ExceedanceProbs(p, amounts[:gridSteps], risk, s)
		amounts, risk = amounts[gridSteps:], risk[gridSteps:]
	}
	n := len(amounts)
	share := x.coldStartShare(p)
	if share == 1 {
		x.coldStartExceedance(p, amounts, risk)
		return
	}
	clear(risk[:n])
	logs := s.logs[:n]
	for k := range logs {
		logs[k] = math.Log(amounts[k]) + roundingError
	}
	for i := 0; i < len(x.Picks); {
		pair, weight := x.Picks[i].Expert/len(prices), 0.0
		for ; i < len(x.Picks) && x.Picks[i].Expert/len(prices) == pair; i++ {
			weight += x.Picks[i].Weight
		}
		model, dist := pair/distributionCount, pair%distributionCount
		t, scale := x.distribution(p, model, dist, s)
		sorted := x.residuals(model, dist, s)
		level := p.Level[model]
		if dist == byteResiduals {
			mean := math.Exp(level)
			for k := n - 1; k >= 0; k-- { // amounts ascend in most calls, and countAbove is fast for descending ones
				risk[k] += weight * exceedanceProb(&sorted, amounts[k]*(1+roundingError)-mean, t.tail)
			}
			continue
		}
		for k := n - 1; k >= 0; k-- {
			risk[k] += weight * exceedanceProb(&sorted, (logs[k]-level)/scale, t.tail)
		}
	}
	for k := range n {
		risk[k] = min(1, risk[k]) // the sum of the weights is 1 except for rounding
		if share > 0 && p.ColdStart != nil {
			risk[k] = share*p.ColdStart.ExceedanceProb(logs[k]) + (1-share)*risk[k]
		}
	}
}

func (x *Experts) coldStartExceedance(p *Point, amounts, risk []float64) {
	if p.ColdStart != nil {
		for i, amount := range amounts {
			risk[i] = p.ColdStart.ExceedanceProb(math.Log(amount) + roundingError)
		}
		return
	}
	model, scale, t := x.studentT(p)
	for i, amount := range amounts {
		risk[i] = t.Survival((math.Log(amount) - p.Level[model]) / scale)
	}
}

// treeModels lists the models, all with trees, that CalibratedExceedance averages.
var treeModels = [...]int{Trees, LineTrees, Stack}

// averagedDistributions lists the residual distributions that CalibratedExceedance averages.
var averagedDistributions = [...]int{allRows, nearestRows, treeScaled}

// CalibratedExceedance writes P(peak > amounts[i]) to risk[i]. It averages treeModels, with weights inversely proportional to
// their summed squared errors (Bates and Granger 1969). For each model it averages averagedDistributions, with equal weights
// (a linear opinion pool, Stone 1961); after WithResiduals it uses shrunkExceedance instead.
// Unlike ExceedanceProbs it is calibrated in the middle of the distribution: the experts of ExceedanceProbs are selected for
// the cost of high quantiles and are overconfident in the middle. During the cold start, both give the same probabilities.
func (x *Experts) CalibratedExceedance(p *Point, amounts, risk []float64, s *Scratch) {
	if x.IsColdStart() {
		x.ExceedanceProbs(p, amounts, risk, s)
		return
	}
	clear(risk[:len(amounts)])
	var weights [len(treeModels)]float64
	total := 0.0
	for i, model := range treeModels {
		weights[i] = 1 / max(x.SquaredErrors[model], leastSquaredError)
		total += weights[i]
	}
	logs := append(s.edges[:0], amounts...)
	for i, amount := range logs {
		logs[i] = math.Log(amount) + roundingError
	}
	s.edges = logs
	for m, model := range treeModels {
		if x.isExchangeable {
			x.shrunkExceedance(p, model, weights[m]/total, logs, risk, s)
			continue
		}
		weight := weights[m] / total / float64(len(averagedDistributions))
		for _, dist := range averagedDistributions {
			t, scale := x.distribution(p, model, dist, s)
			sorted := x.residuals(model, dist, s)
			for i, log := range logs {
				risk[i] += weight * exceedanceProb(&sorted, (log-p.Level[model])/scale, t.tail)
			}
		}
	}
}

// globalRows is the weight, in rows, of all residuals of a model in shrunkExceedance. Each of the Config.NearRows rows
// nearest in level has the weight of one more row, so together they have a third of the weight. The number was chosen by the
// u scores of the trace retail; docs/benchmarks.md has the u scores with other seeds.
const globalRows = 200

// shrunkExceedance adds weight · P(log peak > logs[i]) by one model to risk[i]. It divides residuals by TreeScale, so the row
// has the spread that the trees predict (normalised conformal prediction, Papadopoulos et al. 2002). The rows nearest in
// level correct this spread; their distribution is shrunk to that of all rows, as in the posterior mean of a Dirichlet
// process (Ferguson 1973). shrunkExceedance is only for random holdouts: on the trace hst with the newest rows held out, the
// mean of the distributions in averagedDistributions is far better.
func (x *Experts) shrunkExceedance(p *Point, model int, weight float64, logs, risk []float64, s *Scratch) {
	t, scale := x.distribution(p, model, treeScaled, s)
	all, near := x.residuals(model, treeScaled, s), x.nearScaled(p, model, s)
	nearTail := tailOf(&near)
	nearShare := float64(near.len()) / float64(near.len()+globalRows)
	for i, log := range logs {
		v := (log - p.Level[model]) / scale
		risk[i] += weight * (nearShare*exceedanceProb(&near, v, nearTail) + (1-nearShare)*exceedanceProb(&all, v, t.tail))
	}
}

// leastSquaredError keeps the weights of models without errors finite.
const leastSquaredError = 1e-12
