// Package sequential provides sequential tests that are valid at any stopping time. A check
// after every outcome does not raise the false alarm rate. If an earlier call of FindViolation would
// have detected a violation, a later call also detects one.
//
// Both tests, FindViolation and Pairs, bet against the null hypothesis with fair odds. Under the null hypothesis the
// stake is a supermartingale, so the probability that it ever grows 1/α-fold is at most α
// (Ville 1939; Shafer 2021, "Testing by betting").
package sequential

import "math"

// Try holds the promised risk of a try and its outcome.
type Try struct {
	Promised float64 // the stated probability of a kill
	Killed   bool
}

// Slack is the ratio of the true risk to the promised risk above which a promise counts as
// broken. It is above 1 because promises are estimates.
const Slack = 2

// minPromise is the lower bound of a promise in FindViolation, so that a single kill multiplies a stake by
// less than 57.
const minPromise = 0.005

// bets lists the exponents of the alternatives. If the null hypothesis bounds the kill
// probability of a try by q, the alternative is q^bet: 0.17 and 0.65 at q = 0.03, 0.45 and 0.82
// at q = 0.2. The first, moderate bet detects a risk of a few times the promise. The second, extreme
// bet detects within a few tries that almost all are killed, even if the promise itself is high.
var bets = [...]float64{1. / 2, 1. / 8}

// FindViolation tests promised risks against outcomes in order of time. The null hypothesis
// is that each try is killed with probability at most Slack · promise, given all earlier
// tries. FindViolation returns the latest tries that reject the null hypothesis, tries[from:to]. A
// stake that starts at one of these tries grew more than exp(level)-fold. The stake that grew most
// started with tries[from] and was largest after tries[to−1]. If both bets reject the null hypothesis, FindViolation
// returns the larger of the two values of `from`, and the larger of the two values of `to`. Without a rejection it returns
// −1 and 0.
//
// Each try multiplies a stake by the ratio of two likelihoods: that of the alternative q^bet and that of q, where q is
// Slack · promise. With √q and a promise of 0.015, a kill multiplies a stake by 5.8 and a survival by 0.85.
// A new stake starts with every try, so that survivals before a change do not hide the
// change (CUSUM, Page 1954). The maximum of a stake counts, so that later survivals do not undo
// a rejection. Each bet has half of the stake, and Ville's inequality applies to the maximum: if
// the null hypothesis holds, the probability that FindViolation rejects it within n tries is at most n·exp(−level). The start
// of the range is an estimate: the range may begin with a chance kill shortly before a change.
func FindViolation(tries []Try, level float64) (from, to int) {
	from = -1
	for _, bet := range bets {
		start, end := violationOf(bet, tries, level+math.Log(float64(len(bets))))
		from, to = max(from, start), max(to, end)
	}
	return from, to
}

// violationOf returns the result of FindViolation for one bet, which has the whole stake.
func violationOf(bet float64, tries []Try, level float64) (from, to int) {
	log, end := 0.0, 0 // log of the maximum of the stake that starts with try i, and the index after the try that reaches it
	from, most := -1, level
	for i := len(tries) - 1; i >= 0; i-- {
		if !(log > 0) {
			// The tries after i add no gain, so the stake that starts with try i is largest right after try i. If the tries
			// after i have shown a violation, it is the newest one, and the search ends.
			if from >= 0 {
				break
			}
			log, end = 0, i+1
		}
		if log += tries[i].logRatio(bet); log > most {
			from, to, most = i, end, log
		}
	}
	return from, to
}

// logRatio returns the log likelihood ratio of the try. It is 0 for a promise of one half or
// more, for which q is at least 1.
func (t Try) logRatio(bet float64) float64 {
	switch q := Slack * max(t.Promised, minPromise); {
	case !(q < 1):
		return 0
	case t.Killed:
		return (bet - 1) * math.Log(q)
	default:
		return math.Log1p(-math.Pow(q, bet)) - math.Log1p(-q)
	}
}
