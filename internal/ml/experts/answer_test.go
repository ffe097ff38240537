package experts

import (
	"math"
	"slices"
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

// With few rows, an expert that had as many kills as allowed was probably lucky, so it is not selected. With many rows it is.
func TestLuckyExpertsAreNotSelectedWithFewRows(t *testing.T) {
	for rows, selected := range map[float64]bool{100: false, 400: false, 500: true, 2000: true} {
		x := New(Default(target))
		x.LearnedRows, x.ChargedRows = int(rows), rows
		rate := x.allowedKillRate(target)
		for e := range Count { // the first expert is the cheapest, and has just as many kills as allowed
			x.Cost[e], x.NominalRisk[e] = 2, 0.0005
		}
		x.Cost[0], x.NominalRisk[0], x.Kills[0] = 1, rate, rate*rows-1e-9
		picks := x.selectExperts(rate, nil)
		assert.Equal(t, selected, slices.ContainsFunc(picks, func(p Pick) bool { return p.Expert == 0 }), "%v rows", rows)
		assert.Greater(t, x.expectedKillRate(0), rate)
	}
}
