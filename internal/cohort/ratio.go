package cohort

import (
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The trees cannot size a task if too few tasks are known, or if the task requests much more than all known tasks; see
// isOutside. Then sizeByRequest uses the request of the task and the ratios of peak to request of the known tasks: if these
// ratios are similar, the new task probably has a similar ratio.
const (
	minRatioTasks = 5 // number of tasks with a known ratio that an answer by ratios needs
	// ratioSpread is the prior median of the standard deviation of a log ratio: a request is typically wrong by a factor of e.
	// The prior is log-normal: from one namespace to another, the deviation typically changes by a factor of e, too.
	ratioSpread = 1.0
)

// ratios summarises the logarithm of the largest ratio of peak to request of each task.
type ratios struct {
	Tasks   int     // number of tasks with a request
	Mean    float64 // of the logarithms
	Squares float64 // sum of the squared deviations from Mean
}

func (l *Learner) ratios() ratios {
	var r ratios
	for _, t := range l.order {
		if !math.IsInf(t.ratio, -1) {
			r.add(t.ratio)
		}
	}
	return r
}

func (r *ratios) add(ratio float64) {
	r.Tasks++
	off := ratio - r.Mean
	r.Mean += off / float64(r.Tasks)
	r.Squares += off * (ratio - r.Mean)
}

func (r *ratios) isValid() bool {
	return r.Tasks >= 0 && math.Abs(r.Mean) <= math.MaxFloat64 && r.Squares >= 0 && r.Squares <= math.MaxFloat64
}

// The deviations of a prediction are ratioSpread·exp(z), for each z from minZ in steps of stepZ. With five tasks, the
// estimate of a deviation has a standard error of 35 %, with fifteen of 19 %. So steps of 28 % (e^0.25) are fine enough.
const (
	minZ       = -3.0
	stepZ      = 0.25
	deviations = 21 // so z goes up to 2
)

// prediction is the predictive distribution of the log ratio of a further task: a mixture of normal distributions
// with the same mean.
type prediction struct {
	mean    float64
	weights [deviations + 1]float64 // their sum is 1
	scales  [deviations + 1]float64 // standard deviations
}

// next returns the predictive distribution for one further task. The deviation between tasks is unknown. So the
// distribution is the mean over its posterior distribution (Gelman et al. 2013, section 5.4). As in riskOf, the
// further task is with probability 1/(n+1), for n known tasks, of a kind that the known tasks do not show.
func (r *ratios) next() (p prediction) {
	n := float64(r.Tasks)
	p.mean = r.Mean
	most := math.Inf(-1)
	for i := range deviations {
		z := minZ + stepZ*float64(i)
		deviation := ratioSpread * math.Exp(z)
		p.scales[i] = deviation * math.Sqrt(1+1/n) // the mean is unknown, too
		p.weights[i] = -z*z/2 - (n-1)*math.Log(deviation) - r.Squares/(2*deviation*deviation)
		most = max(most, p.weights[i])
	}
	sum := 0.0
	for i := range deviations {
		p.weights[i] = math.Exp(p.weights[i] - most)
		sum += p.weights[i]
	}
	unknown := 1 / (n + 1)
	for i := range deviations {
		p.weights[i] *= (1 - unknown) / sum
	}
	p.weights[deviations], p.scales[deviations] = unknown, ratioSpread
	return p
}

// exceeds returns the probability that the ratio of peak to request of the further task is above `share`.
func (p *prediction) exceeds(share float64) float64 {
	off, sum := math.Log(share)-p.mean, 0.0
	for i, w := range p.weights {
		sum += w * math.Erfc(off/(p.scales[i]*math.Sqrt2)) / 2
	}
	return sum
}

// sizeByRequest uses the request of a task and the ratios of the other tasks. ok is false if the request or all ratios
// are unknown, or if the answer would not be below the request.
func (m *Model) sizeByRequest(q *Question) (a Answer, ok bool) {
	requested := q.Requested.Memory
	if m == nil || m.ratios.Tasks == 0 || requested <= 0 {
		return Answer{}, false
	}
	next := m.ratios.next()
	typical := math.Exp(next.mean)
	known := next.exceeds(float64(q.Killed) / float64(requested)) // the peak is above Killed, so every probability is divided by `known`, which is P(peak > Killed)
	share := next.cheapestShare(q.RiskTarget, known)
	if share >= 1 {
		return Answer{}, false
	}
	a.Limit = q.bound(sizing.Bytes(math.Ceil(share * float64(requested))).RoundUp(sizing.MiB))
	if a.Limit >= requested {
		return Answer{}, false
	}
	a.ofDAG, a.Tasks, a.Runs = m.ofDAG, m.ratios.Tasks, m.Runs
	a.Level = sizing.Bytes(typical * float64(requested))
	a.Promised = m.promise(experts.Probability(next.exceeds(float64(a.Limit)/float64(requested)) / known))
	a.Reason = fmt.Sprintf("%s: %s: the largest peak of a task is typically %.2g of its request; a share of %.2g covers all but %.2g %% of such tasks%s; from %d tasks, %d runs",
		a.Limit.Approx(), m.describeTasks(), typical, float64(a.Limit)/float64(requested), 100*a.Promised, q.describeKilled(), a.Tasks, a.Runs)
	return a, true
}

// shareStep is the factor between two shares that cheapestShare compares.
const shareStep = 0.98

// cheapestShare returns the share of a request with the least expected cost; 1 if the whole request costs least, or if no
// smaller share has a risk within the bounds. The bounds of the risk and the price of a kill are those of an answer of the
// trees. The retry of a killed run gets the request. `known` is the probability that the peak exceeds the killed allocation,
// 1 without a kill. The risk of a share is the probability of a higher peak, divided by `known`.
func (p *prediction) cheapestShare(target, known float64) float64 {
	kill := 1 + math.Exp(p.mean)/(expectedRisk*target)
	best, least := 1.0, 1.0
	for share := shareStep; ; share *= shareStep {
		risk := p.exceeds(share) / known
		if !(risk <= min(maxRisk*target, 0.5)) { // true for NaN
			return best
		}
		if c := share + risk*kill; c < least && risk >= minRisk*target {
			best, least = share, c
		}
	}
}

func (l *Learner) allRequest() bool {
	for _, t := range l.order {
		for i := range t.rows {
			if t.rows[i].Requested.Memory <= 0 {
				return false
			}
		}
	}
	return true
}

// requestsDiffer reports whether two rows have different requests. If all requests are equal, the two targets of chooseTarget
// differ by a constant, and only rounding would decide.
func (l *Learner) requestsDiffer() bool {
	first := l.order[0].rows[0].Requested.Memory
	for _, t := range l.order {
		for i := range t.rows {
			if t.rows[i].Requested.Memory != first {
				return true
			}
		}
	}
	return false
}

// chooseTarget cross-validates trees of the log peak and trees of the log ratio of peak to request.
// It returns the cross-validation of the trees with the smaller squared errors. It does not try the ratio if a row has no
// request, or if all requests are equal. A request that is the same by habit says little about the peak. A request that
// was chosen for its task says more than the features of a few tasks.
func (l *Learner) chooseTarget() (unseen []unseenTask, byRequest bool) {
	unseen = crossValidate(l.order, false)
	if !l.allRequest() || !l.requestsDiffer() {
		return unseen, false
	}
	ratio := crossValidate(l.order, true)
	if len(ratio) == len(unseen) && squares(errorsOf(ratio)) < squares(errorsOf(unseen)) {
		return ratio, true
	}
	return unseen, false
}

func squares(errors []weightedError) float64 {
	sum := 0.0
	for _, e := range errors {
		sum += e.Weight * e.Error * e.Error
	}
	return sum
}
