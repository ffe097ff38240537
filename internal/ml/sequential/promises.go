package sequential

import "math"

// Try is the risk that was promised of a try, and whether it was killed.
type Try struct {
	Promised float64
	Killed   bool
}

// Slack is how many times its promise a risk may be before it counts as broken:
// promises are estimates themselves.
const Slack = 2

// surest keeps a single kill from deciding: a promise below it counts as it.
const surest = 0.005

// bets are how boldly is bet: of a try that is killed with probability q at most, that
// it is killed with probability q^bet. At q = 0.03 these are 0.17 and 0.65, at 0.2 they
// are 0.45 and 0.82. The timid one finds a risk a few times its promise, the bold one
// finds within few tries that nearly all are killed, be the promise itself high.
var bets = [...]float64{1. / 2, 1. / 8}

// Broken holds promised risks against what happened, in order of time. The hypothesis
// is that each try is killed with probability at most Slack times what was promised of
// it, given all before. It returns the tries that refuted it last, tries[from:to]: a
// stake that begins with one of them grew more than exp(level)-fold at some time, and
// of those the one that grew most began at from and was greatest at to. −1 and 0 if
// there is none.
//
// For each try a stake is multiplied by the likelihood ratio of the bet to q, where q
// is the promise times Slack. With √q a kill of a promise of 0.015 multiplies by 5.8
// and a survival by 0.85. A stake begins with every try, so that good times before a
// change do not weigh against it (Page 1954, the cumulative sum); and good times after
// it do not undo what was shown, so that looking late shows no less than looking often.
// Each stake has its own account with Ville, whose inequality is of the greatest that a
// stake ever was, and is divided between the bets: that n tries of a stream for which
// the hypothesis is true ever refute it has probability at most n·exp(−level). Where
// the tries begin is an estimate: a kill by chance shortly before a change is counted in.
func Broken(tries []Try, level float64) (from, to int) {
	from = -1
	for _, bet := range bets {
		start, end := brokenBy(bet, tries, level+math.Log(float64(len(bets))))
		from, to = max(from, start), max(to, end)
	}
	return from, to
}

// brokenBy is Broken of one bet that has the whole stake.
func brokenBy(bet float64, tries []Try, level float64) (from, to int) {
	log, end := 0.0, 0 // of the greatest that the stake that begins with try i ever was
	from, most := -1, level
	for i := len(tries) - 1; i >= 0; i-- {
		if !(log > 0) { // what follows would only make it less
			if from >= 0 {
				break
			}
			log, end = 0, i+1
		}
		if log += tries[i].step(bet); log > most {
			from, to, most = i, end, log
		}
	}
	return from, to
}

// step is what the try adds to the log of a stake. A promise that leaves nothing to
// bet on, a half or more, adds nothing.
func (t Try) step(bet float64) float64 {
	switch q := Slack * max(t.Promised, surest); {
	case !(q < 1):
		return 0
	case t.Killed:
		return (bet - 1) * math.Log(q)
	default:
		return math.Log1p(-math.Pow(q, bet)) - math.Log1p(-q)
	}
}
