package sequential

import "math"

// Pairs holds two rivals against each other by what came of the same tries: one was
// in charge, and of the other it is known what it would have come to. Tries that both
// lose or both win say nothing. The hypothesis is that of the others the one in
// charge loses at most half; the bet is that it loses nine in ten. The zero value is
// ready.
//
// Log ever exceeds a with probability at most exp(−a) where the hypothesis is true.
// Eight tries lost by the one in charge alone make 1.8^8 = 110.
type Pairs struct {
	Log float64 // of the stake
}

// Ended takes in a try.
func (p *Pairs) Ended(lost, rivalLost bool) {
	switch {
	case lost && !rivalLost:
		p.Log += math.Log(0.9 / 0.5)
	case !lost && rivalLost:
		p.Log += math.Log(0.1 / 0.5)
	}
}
