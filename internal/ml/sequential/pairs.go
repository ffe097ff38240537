package sequential

import "math"

// Pairs is a paired sequential test of two models on the same tries. The champion is the model whose outcomes are observed;
// the challenger, such as an earlier version, is the model whose outcomes are computed. Tries that are killed with both
// models or with neither are ignored. The null hypothesis is that at most half of the tries that are not ignored are killed
// with the champion. The bet is on a share of nine in ten. The zero value is ready to use.
//
// Under the null hypothesis, the probability that LogStake ever exceeds a value v is at most exp(−v). Eight
// tries that are killed only with the champion give a stake of 1.8^8 = 110.
type Pairs struct {
	LogStake float64 // logarithm of the stake, which starts at 1
}

// Record adds a try. The arguments report whether it is killed with each model.
func (p *Pairs) Record(championKilled, challengerKilled bool) {
	switch {
	case championKilled && !challengerKilled:
		p.LogStake += math.Log(0.9 / 0.5)
	case !championKilled && challengerKilled:
		p.LogStake += math.Log(0.1 / 0.5)
	}
}
