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

// Broken holds promised risks against what happened, in order of time. The hypothesis
// is that each try is killed with probability at most Slack times what was promised of
// it, given all before. It returns the latest try from which on that is refuted: the
// stake that begins with it has grown more than exp(level)-fold by now. −1 if there is
// none.
//
// For each try a stake is multiplied by the likelihood ratio of √q to q, where q is
// the promise times Slack. At a promise of 0.015, q is 0.03 and √q is 0.173: a kill
// multiplies by 5.8, a survival by 0.85. A stake begins with every try, so that good
// times before a change do not weigh against it (Page 1954, the cumulative sum). Each
// has its own account with Ville: that n tries of a stream for which the hypothesis is
// true ever refute it has probability at most n·exp(−level).
func Broken(tries []Try, level float64) int {
	log := 0.0
	for i := len(tries) - 1; i >= 0; i-- {
		if log += tries[i].step(); log > level {
			return i
		}
	}
	return -1
}

// step is what the try adds to the log of a stake. A promise that leaves nothing to
// bet on, a half or more, adds nothing.
func (t Try) step() float64 {
	switch q := Slack * max(t.Promised, surest); {
	case !(q < 1):
		return 0
	case t.Killed:
		return -math.Log(q) / 2
	default:
		return math.Log1p(-math.Sqrt(q)) - math.Log1p(-q)
	}
}
