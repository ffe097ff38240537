package experts

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// For an exception, expertAmount computes the amounts twice: for the row's own predictions and for raised ones. Learning
// must not confuse the two.
func TestAnExceptionIsLearnedWithTheAmountsOfItsAnswer(t *testing.T) {
	x, s, _ := trained(Default(target), 1, 300, normal(0.2))
	p, _ := s.next()
	for k := range p.Level {
		if k != x.bestModel() {
			p.Level[k] -= math.Log(10)
		}
	}
	usual := x.expertAmount(&p, x.Picks, new(Scratch)).amount
	p.IsException = true
	answered := x.expertAmount(&p, x.Picks, new(Scratch)).amount
	require.Greater(t, answered, 2*usual)

	scratch := new(Scratch)
	scratch.startLearning()
	learned := x.expertAmount(&p, x.Picks, scratch).amount
	assert.Equal(t, answered, learned)
	own := x.meanAmount(&p, x.Picks, scratch).amount
	assert.Equal(t, usual, own)
}

// The selection and the promise use the same kill rates, so no selected expert has a promise above
// the allowed rate or, if that is larger, KillRateSlack times the lowest kill rate.
func TestThePromiseOfSelectedExpertsIsWithinTheAllowedRate(t *testing.T) {
	for seed := range uint64(8) {
		x, s, _ := trained(Default(target), seed, 100, normal(0.2))
		p, _ := s.next()
		promised := x.meanAmount(&p, x.Picks, new(Scratch)).killRate
		lowest := math.Inf(1)
		for e := range Count {
			lowest = min(lowest, x.killRate(e))
		}
		assert.LessOrEqual(t, promised, max(x.allowedKillRate(target), x.config.KillRateSlack*lowest), "seed %d", seed)
	}
}
