package sequential

import "math"

// Pairs is a paired sequential test of two models on the same tries: the champion's outcome
// is observed, and the challenger's outcome is computed. Tries that both models lose or both
// win are ignored. The null hypothesis is that the champion loses at most half of the other
// tries; the bet is that it loses nine of ten. The zero value is ready to use.
//
// Under the null hypothesis, Log ever exceeds a with probability at most exp(−a). Eight
// tries that only the champion loses give 1.8^8 = 110.
type Pairs struct {
	Log float64 // log of the stake
}

// Record adds a try.
func (p *Pairs) Record(lost, challengerLost bool) {
	switch {
	case lost && !challengerLost:
		p.Log += math.Log(0.9 / 0.5)
	case !lost && challengerLost:
		p.Log += math.Log(0.1 / 0.5)
	}
}
