package experts

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// While a row is learned, the amounts for its own predictions and for the raised ones are not mixed up.
func TestAnExceptionIsLearnedWithTheAmountsOfItsAnswer(t *testing.T) {
	x, s, _ := trained(Default(target), 1, 300, normal(0.2))
	p, _ := s.next()
	for k := range p.Level {
		if k != x.bestModel() {
			p.Level[k] -= math.Log(10)
		}
	}
	usual, _, _ := x.expertAmount(&p, x.Picks, new(Scratch))
	p.IsException = true
	answered, _, _ := x.expertAmount(&p, x.Picks, new(Scratch))
	require.Greater(t, answered, 2*usual)

	scratch := new(Scratch)
	scratch.startLearning()
	learned, _, _ := x.expertAmount(&p, x.Picks, scratch)
	assert.Equal(t, answered, learned)
	own, _, _ := x.meanAmount(&p, x.Picks, scratch)
	assert.Equal(t, usual, own)
}
