package cohort

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The trees cannot size a task if they know too few tasks, or if the task requests clearly more than all of these. Then
// only the request of the task is compared: if the known tasks use a similar share of their requests, the new task
// probably uses a similar share, too.
const (
	minRatioTasks = 5 // smallest number of tasks with a known ratio
	// The prior of the standard deviation of a log ratio: a request is typically wrong by a factor of e. The prior
	// weighs as many tasks as the prior of a cold start weighs rows (experts.Config.PriorRows), so that a
	// few tasks that agree by chance do not decide.
	ratioSpread = 1.0
	ratioPrior  = 4.0 // weight in tasks
)

// ratios summarises the logarithm of the largest ratio of peak to request of each task.
type ratios struct {
	Tasks   int     // number of tasks with a request
	Mean    float64 // of the logarithms
	Squares float64 // sum of the squared deviations from Mean
}

// ratios returns the ratios of all tasks with a request.
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

// isValid reports whether decoded ratios can be used.
func (r *ratios) isValid() bool {
	return r.Tasks >= 0 && math.Abs(r.Mean) <= math.MaxFloat64 && r.Squares >= 0 && r.Squares <= math.MaxFloat64
}

// next returns the predictive distribution of the log ratio of a further task, Mean + scale·t with a
// Student's t (prediction interval for one further value; Hahn & Meeker 1991).
func (r *ratios) next() (scale float64, t distuv.StudentsT) {
	n := float64(r.Tasks)
	freedom := ratioPrior + n - 1
	variance := (ratioPrior*ratioSpread*ratioSpread + r.Squares) / freedom
	return math.Sqrt(variance * (1 + 1/n)), distuv.StudentsT{Sigma: 1, Nu: freedom}
}

// sizeByRequest sizes a task by its request and the ratios of the other tasks. ok is false if the request or all
// ratios are unknown, or if the answer would not be below the request.
func (m *Model) sizeByRequest(q *Question) (a Answer, ok bool) {
	requested := q.Requested.Memory
	if m == nil || m.ratios.Tasks == 0 || requested <= 0 {
		return Answer{}, false
	}
	scale, t := m.ratios.next()
	exceeds := func(limit sizing.Bytes) float64 {
		return t.Survival((math.Log(float64(limit)/float64(requested)) - m.ratios.Mean) / scale)
	}
	typical, known := math.Exp(m.ratios.Mean), exceeds(q.Killed) // the peak is above Killed, so every probability is divided by known, P(peak > Killed)
	share := m.cheapestShare(q.RiskTarget, scale, &t, known)
	if !(share < 1) { // true for NaN
		return Answer{}, false
	}
	a.Limit = q.bound(sizing.Bytes(math.Ceil(share * float64(requested))).RoundUp(sizing.MiB))
	if a.Limit >= requested {
		return Answer{}, false
	}
	a.ofDAG = m.ofDAG
	a.Level = sizing.Bytes(typical * float64(requested))
	a.Promised = experts.Probability(exceeds(a.Limit) / known)
	a.Reason = fmt.Sprintf("%s: %s: the largest peak of a task is typically %.2g of its request; a share of %.2g covers all but %.2g %% of such tasks%s; from %d tasks, %d runs",
		a.Limit.Approx(), m.describeTasks(), typical, float64(a.Limit)/float64(requested), 100*a.Promised, q.describeKilled(), m.ratios.Tasks, m.Runs)
	return a, true
}

// riskSteps is the number of risks that cheapestShare compares.
const riskSteps = 8

// cheapestShare returns the share of a request with the least expected cost; 1 if the whole request costs
// least. The risk is within the same bounds, and a kill has the same price, as for an answer of the
// trees. The retry of a killed run gets the request. known is the probability that the peak exceeds the killed
// allocation, 1 without a kill; the risk is a share of this probability.
func (m *Model) cheapestShare(target, scale float64, t *distuv.StudentsT, known float64) float64 {
	kill := 1 + math.Exp(m.ratios.Mean)/(expectedRisk*target)
	best, least := 1.0, 1.0
	for step := 1; step <= riskSteps; step++ {
		risk := maxRisk * target * float64(step) / riskSteps
		share := math.Exp(m.ratios.Mean + scale*t.Quantile(1-risk*known))
		if c := share + risk*kill; c < least {
			best, least = share, c
		}
	}
	return best
}

// allRequest reports whether every row of every task has a request.
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

// requestsDiffer reports whether two rows have different requests. If all are equal, the two targets
// of chooseTarget differ by a constant, and only rounding would decide.
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

// squares returns the weighted sum of squared errors.
func squares(errors []weightedError) float64 {
	sum := 0.0
	for _, e := range errors {
		sum += e.Weight * e.Error * e.Error
	}
	return sum
}
