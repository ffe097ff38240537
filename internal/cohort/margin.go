package cohort

import (
	"math"
	"sort"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The risk of a first run is between minRisk and maxRisk times the risk target, if there are enough errors. Within these bounds
// the margin has the least expected cost: if the errors have a heavy tail, a kill is cheaper than a
// margin that covers the tail.
const (
	minRisk      = 0.5
	maxRisk      = 4.0
	expectedRisk = 1.5 // as a multiple of the risk target: a kill costs 1/(expectedRisk·target) predicted peaks

	maxCandidates = 512 // largest number of errors among which margin chooses, if all weights are equal; these errors are evenly spaced by rank
)

// weightedError is the error of a prediction: log(peak) − level, or log(seconds) − level for a run time.
type weightedError struct {
	Error, Weight float64
}

type errorList struct {
	errors []weightedError
	sums   []prefixSum // sums[i] is the sum of the first i errors
}

// newErrorList returns the list of `errors`, which must be ascending.
func newErrorList(errors []weightedError) errorList {
	l := errorList{errors, make([]prefixSum, 1, len(errors)+1)}
	for i, e := range errors {
		l.sums = append(l.sums, prefixSum{l.sums[i].weight + e.Weight, l.sums[i].peaks + e.Weight*math.Exp(e.Error)})
	}
	return l
}

// prefixSum is the sum over the smallest errors. With prefix sums, the cost of a margin needs a few
// binary searches and no pass over all errors.
type prefixSum struct {
	weight float64
	peaks  float64 // weighted sum of the peaks, in units of the predicted peak
}

// margin returns the margin with the least expected cost, as a logarithm. The candidates are the largest
// error and the errors whose risk is between minRisk and maxRisk times target. The risk counts one future
// error, which has the mean weight and is above all others (split conformal prediction). If the risk of
// every error is above the bounds, margin returns the largest error.
func (l *errorList) margin(target float64) float64 {
	total := l.weight()
	next := total / float64(len(l.errors))
	total += next
	price := 1 / (expectedRisk * target)
	best, least := l.errors[len(l.errors)-1].Error, math.Inf(1)
	above := next
	step := 1 + int(float64(len(l.errors))*min(1, maxRisk*target))/maxCandidates
	for i := len(l.errors) - 1; i >= 0 && above <= maxRisk*target*total; i-- {
		candidate := l.errors[i].Error
		if above >= minRisk*target*total && i%step == 0 || i == len(l.errors)-1 {
			if c := l.cost(candidate, price); c < least {
				best, least = candidate, c
			}
		}
		above += l.errors[i].Weight
	}
	return best
}

func (l *errorList) countUpTo(limit float64) int {
	return sort.Search(len(l.errors), func(i int) bool { return l.errors[i].Error > limit })
}

// cost returns the expected cost of a margin, in units of the predicted peak. price is the cost of a
// killed run in the same unit, in addition to its tries. After a kill the next try gets twice the
// memory, as in cost.LadderWastage. The errors with the same number of kills are adjacent, so their
// costs are a difference of two prefix sums.
func (l *errorList) cost(margin, price float64) float64 {
	sum, allocation, allocated := 0.0, math.Exp(margin), 0.0
	for kills, from := 0, 0; from < len(l.errors); kills++ {
		to := l.countUpTo(margin + float64(kills)*math.Ln2)
		allocated += allocation
		weight := l.sums[to].weight - l.sums[from].weight
		if sum += weight*allocated - (l.sums[to].peaks - l.sums[from].peaks); kills > 0 {
			sum += weight * price
		}
		from, allocation = to, 2*allocation
	}
	return sum / l.weight()
}

// riskOf returns the probability that the peak exceeds a limit. level is the predicted log peak. One further error of
// the mean weight counts half as above the limit, because nothing is known about it.
func (l *errorList) riskOf(level float64, limit sizing.Bytes) float64 {
	total := l.weight()
	above := total - l.sums[l.countUpTo(math.Log(float64(limit))-level)].weight
	next := total / float64(len(l.errors))
	return (above + next/2) / (total + next)
}

func (l *errorList) weight() float64 {
	if len(l.errors) == 0 {
		return 0
	}
	return l.sums[len(l.errors)].weight
}
