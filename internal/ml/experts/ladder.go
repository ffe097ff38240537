package experts

import "math"

// The retry ladder after a kill minimises the expected cost by dynamic programming. Every try
// costs its whole amount, the number of lifts is limited, and the last lift goes to the ceiling, the
// largest allowed amount. Only peaks up to the ceiling count, because no ladder is enough for larger ones.
// A kill is also evidence that the margins are wrong, so the conditional exceedance probability is a
// weighted mean of the probability by the margins and a power law. The power law has less weight if the
// known peaks above the killed amount contradict it (lawWeight).
//
//	V(1 lift,  f) = ceiling
//	V(l lifts, f) = min over a > f of  a + P(peak > a | peak > f) · V(l−1, a)
//	V(2 lifts, f) ≤ request + P(peak > request | peak > f) · ceiling
//
// A lift that is not the last one goes at most to knownPeakMargin · the largest known peak or killed allocation or, if that is
// more, to maxStep · the killed amount. Residuals are relative to the prediction: those of small runs may imply that the peak
// of a larger run is far above all known peaks, but such peaks are rare.
//
// The ceiling may be four times the static request. So while no run of the task has exceeded the request, the last lift but one
// goes to the request or to at most knownPeakMargin · the largest measured peak. Amounts between these two are guesses, but the
// person who chose the request may know rare large peaks. The bound of the paragraph above does not apply to the request.
const (
	gridSteps       = 24  // number of amounts of a grid
	priorLawWeight  = 0.3 // weight of the power law P(peak > a | peak > f) = (f / a)³ without evidence; see PowerLaw and lawWeight
	maxLifts        = 4   // largest number of rungs; more rungs do not reduce the cost noticeably
	knownPeakMargin = 1.3 // with a larger one, lifts waste more; with a smaller one, a peak slightly above the known ones is killed again
	maxStep         = 2.0

	toRequest = gridSteps // the value of grid.next if the next amount is the static request
)

// grid holds the amounts from the killed one to the ceiling. The logs of the amounts, except the killed one,
// are equidistant. The first index of the fields `cost` and `next` is the number of lifts that are left.
type grid struct {
	amount, risk [gridSteps]float64               // amounts, and P(amount < peak ≤ ceiling)
	lawWeight    [gridSteps]float64               // weight of the power law after a kill at an amount
	cost         [maxLifts + 1][gridSteps]float64 // least expected cost after a kill at an amount
	next         [maxLifts + 1][gridSteps]uint8   // index of the best next amount after a kill at an amount, or toRequest

	request           float64 // the static request; 0: it is no rung
	measured          float64 // knownPeakMargin · the largest measured peak
	aboveRequest      float64 // P(request < peak ≤ ceiling) by the margins
	dagRisk, killRisk float64 // see exceedRequest
}

// Request is a static request that no run of the task has exceeded. The zero value is no request.
type Request struct {
	Amount      float64 // in bytes
	LargestPeak float64 // largest measured peak of the task, in bytes
}

// Ladder appends the amounts of the retries after a kill to `rungs`. The killed amount is `from`. The number of appended
// rungs is at most `lifts`, and at most maxLifts. The last rung is the ceiling. Ladder appends nothing if the killed
// amount is not below the ceiling, or if `lifts` is not positive.
func (x *Experts) Ladder(p *Point, from, ceiling float64, request Request, lifts int, s *Scratch, rungs []float64) []float64 {
	if from >= ceiling || lifts < 1 {
		return rungs
	}
	g := &s.grid
	least := min(from*x.config.MinStep, ceiling)
	g.amount[0] = from
	for i := 1; i < gridSteps; i++ {
		g.amount[i] = least * math.Pow(ceiling/least, float64(i-1)/float64(gridSteps-2))
	}
	x.ExceedanceProbs(p, g.amount[:], g.risk[:], s)
	aboveCeiling := g.risk[gridSteps-1]
	for i := range g.risk {
		g.risk[i] = max(0, g.risk[i]-aboveCeiling)
	}
	g.request, g.measured = 0, knownPeakMargin*request.LargestPeak
	if request.Amount > least && request.Amount < ceiling {
		g.request, g.aboveRequest = request.Amount, max(0, x.ExceedanceProb(p, request.Amount, s)-aboveCeiling)
		g.dagRisk, g.killRisk = x.RequestRisk, 1/float64(x.independentRows()+2)
	}
	g.weighLaw(AfterKills(priorLawWeight, p.KilledRuns), x.knownRows())
	lifts = min(lifts, maxLifts)
	g.solve(lifts, knownPeakMargin*x.MaxPeak)
	at := 0
	for l := lifts; l > 1 && at < gridSteps-1; l-- {
		if at = int(g.next[l][at]); at == toRequest {
			return append(rungs, request.Amount, ceiling)
		}
		rungs = append(rungs, g.amount[at])
	}
	if at < gridSteps-1 {
		rungs = append(rungs, ceiling)
	}
	return rungs
}

// weighLaw fills g.lawWeight; see the function lawWeight. `prior` is the weight of the power law without known peaks above
// the amounts. weighLaw rounds the double of an amount up to an amount of the grid, and uses the ceiling if the double is above
// it.
func (g *grid) weighLaw(prior, known float64) {
	const top = gridSteps - 1
	double := 0
	for i := range g.lawWeight {
		for double < top && g.amount[double] < 2*g.amount[i] {
			double++
		}
		g.lawWeight[i] = lawWeight(prior, known, g.risk[i], g.risk[double], g.amount[i]/g.amount[double])
	}
}

// solve fills g.cost and g.next for a ladder that starts at the first amount and has the given number of
// lifts. The other amounts are reached by a lift, so one lift fewer is left there. `aboveKnownPeaks` is
// slightly above all known peaks and killed allocations.
func (g *grid) solve(lifts int, aboveKnownPeaks float64) {
	const top = gridSteps - 1
	for i := range top {
		g.cost[1][i] = g.amount[top]
	}
	for l := 2; l <= lifts; l++ {
		g.cost[l][top] = 0
	}
	for i := top - 1; i >= 0; i-- {
		left := lifts - 1
		if i == 0 {
			left = lifts
		}
		g.solveAmount(i, left, max(aboveKnownPeaks, maxStep*g.amount[i]))
	}
}

// solveAmount finds the best next amount after amount i for each number of lifts from 2 to left. This amount is
// at most `bound` or, if the grid has no such amount, the smallest one above amount i. The costs of higher amounts are already
// known.
func (g *grid) solveAmount(i, left int, bound float64) {
	const top = gridSteps - 1
	best, worst := [maxLifts + 1]float64{}, math.Inf(1)
	for l := range best {
		best[l] = worst
	}
	// A rung costs at least its own amount: stop when the amount exceeds every best cost so far.
	for j := i + 1; j <= top && left > 1 && g.amount[j] < worst && (j == i+1 || g.amount[j] <= bound); j++ {
		exceed := 0.0
		if j < top {
			exceed = g.exceedAfterKill(i, j)
		}
		worst = 0
		least := 2
		if g.request > g.amount[i] && g.amount[j] > g.measured {
			least = 3 // the last lift but one goes to the request
		}
		for l := least; l <= left; l++ {
			if cost := g.amount[j] + exceed*g.cost[l-1][j]; cost < best[l] {
				best[l], g.next[l][i] = cost, uint8(j)
			}
		}
		for l := 2; l <= left; l++ {
			worst = max(worst, best[l])
		}
	}
	if viaRequest := g.costViaRequest(i); left > 1 && viaRequest < best[2] {
		best[2], g.next[2][i] = viaRequest, toRequest
	}
	for l := 2; l <= left; l++ {
		g.cost[l][i] = best[l]
	}
}

// costViaRequest returns the expected cost after a kill at amount i if the next lift goes to the static request, and the lift
// after it to the ceiling; infinite if the request is no rung above amount i.
func (g *grid) costViaRequest(i int) float64 {
	if g.request <= g.amount[i] {
		return math.Inf(1)
	}
	return g.request + g.exceedRequest(i)*g.amount[gridSteps-1]
}

// exceedRequest returns P(peak > request | peak > amount i). Far above the known peaks, the margins say little. There the share
// of the DAG's runs that exceed their requests (dagRisk) is an upper bound. It is a share of all runs, not of those above amount i,
// so it is divided by P(peak > amount i). This probability is at least killRisk, the share of one run among those of the task,
// because the killed run was above amount i.
func (g *grid) exceedRequest(i int) float64 {
	above := g.risk[i]
	model := min(1, g.dagRisk/max(above, g.killRisk))
	if above > 0 {
		model = min(model, g.aboveRequest/above)
	}
	return (1-g.lawWeight[i])*model + g.lawWeight[i]*PowerLaw(g.amount[i]/g.request)
}

func (g *grid) exceedAfterKill(i, j int) float64 {
	return conditionalExceedance(g.risk[i], g.risk[j], g.amount[i]/g.amount[j], g.lawWeight[i])
}

// conditionalExceedance returns the probability that a peak above the lower of two amounts is also above the higher
// one. `from` and `to` are P(peak > amount) by the margins, for the lower and for the higher amount; in a ladder they are
// P(amount < peak ≤ ceiling) (grid.risk). `ratio` is the lower amount divided by the higher one, and `weight` is the weight of
// the power law.
func conditionalExceedance(from, to, ratio, weight float64) float64 {
	model := 1.0
	if from > 0 {
		model = min(1, to/from)
	}
	return (1-weight)*model + weight*PowerLaw(ratio)
}

// lawWeight returns the weight of the power law after a kill, by Bayes' theorem. `prior` is the weight without known peaks
// above the killed amount. The evidence is a share: of the known peaks above the killed amount, those above its double. The
// law expects a share of an eighth. A larger share, such as that of a task with a second mode, lowers the weight. A smaller
// share does not raise the weight: the kill makes the upper tail of the margins doubtful, and few known peaks are in that
// tail.
//
// `known` is the number of known peaks. `from` and `to` are P(peak > amount) by the margins, for the killed amount and for
// about the double of it; in a ladder they are P(amount < peak ≤ ceiling) (grid.risk). `ratio` is the smaller of these two
// amounts divided by the larger one.
func lawWeight(prior, known, from, to, ratio float64) float64 {
	law := PowerLaw(ratio)
	if from <= 0 || to <= from*law || law >= 1 {
		return prior
	}
	share := min(1, to/from)
	logRatio := share * math.Log(share/law) // per known peak above the killed amount: the mean log of the ratio of the likelihoods
	if share < 1 {
		logRatio += (1 - share) * math.Log((1-share)/(1-law))
	}
	weight := prior * math.Exp(-known*from*logRatio)
	return weight / (weight + 1 - prior)
}

// repeatedKill is the assumed probability of a further killed run if the first kill was chance. The margins promise less, but
// they may be wrong.
const repeatedKill = 0.1

// AfterKills returns the weight of a hypothesis that explains the kills of `runs` runs with the same features, by Bayes'
// theorem. `weight` is its weight after the first of these runs. Under the other hypothesis, each further run was killed with
// the probability repeatedKill.
func AfterKills(weight float64, runs int) float64 {
	byChance := math.Pow(repeatedKill, float64(max(0, runs-1)))
	return weight / (weight + (1-weight)*byChance)
}

// knownRows returns the number of known peaks in the smallest residual distribution, that of the nearest rows.
func (x *Experts) knownRows() float64 { return float64(min(len(x.Rows), x.config.NearRows)) }

// PowerLaw returns P(peak > amount) after a kill at `ratio` · amount; it does not use the margins. Above
// the killed amount, peaks of killed runs follow a Pareto distribution with an exponent
// of about 3.6 (maximum likelihood over 587 kills on eight traces; 1.2 to 6.7 by trace). PowerLaw uses
// an exponent of 3.
func PowerLaw(ratio float64) float64 { return ratio * ratio * ratio }

// ConditionalExceedance returns P(peak > to | peak > from) for a row and two amounts. It is 1 if the amount `to` is at most
// the amount `from`. The power law has more weight if P(peak > from) by the margins is small. The known peaks above `from`
// may lower this weight (lawWeight).
func (x *Experts) ConditionalExceedance(p *Point, from, to float64, s *Scratch) float64 {
	if to <= from {
		return 1
	}
	before := x.ExceedanceProb(p, from, s)
	weight := lawWeight(AfterKills(priorLawWeight, p.KilledRuns), x.knownRows(), before, x.ExceedanceProb(p, 2*from, s), 0.5)
	return conditionalExceedance(before, x.ExceedanceProb(p, to, s), from/to, weight*(1-before))
}
