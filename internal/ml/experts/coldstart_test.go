package experts

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/bayes"
)

func mixtureAt(peak, scale float64) *bayes.Mixture {
	m := &bayes.Mixture{N: 1}
	m.Weight[0], m.Level[0], m.Scale[0], m.Freedom[0] = 1, math.Log(peak), scale, 30
	return m
}

// Only the kills that the experts would have avoided count against the cold-start rule.
func TestKillsOfBothRulesDoNotCountAgainstTheColdStartRule(t *testing.T) {
	x, s, _ := trained(Default(target), 1, 300, normal(0.2))
	require.NotEmpty(t, x.Picks)
	p, _ := s.next()
	p.ColdStart = mixtureAt(math.Exp(p.Level[Stack])/2, 0.01)
	cold, _ := x.coldStartAmount(&p, target)
	experts := x.expertAmount(&p, x.Picks, new(Scratch)).amount
	require.Less(t, cold, experts)

	x.ColdStartKills = 0
	x.updateHedge(&p, 2*experts, 60, new(Scratch))
	assert.Zero(t, x.ColdStartKills, "the amounts of both rules are below the peak")
	x.updateHedge(&p, (cold+experts)/2, 60, new(Scratch))
	assert.Equal(t, 1.0, x.ColdStartKills, "only the amount of the cold-start rule is below the peak")
	assert.Equal(t, 1.0, x.BlendKills, "the geometric mean of both amounts is below the peak, too")
	assert.Less(t, x.hedgeShare(), 0.5)
}

// The geometric mean of two amounts that err in different directions costs less than either amount.
func TestTheBlendAnswersWhereItIsCheaperThanBothRules(t *testing.T) {
	x, s, _ := trained(Default(target), 1, 300, normal(0.2))
	for i := range 100 {
		p, _ := s.next()
		experts := x.expertAmount(&p, x.Picks, new(Scratch)).amount
		off := 4.0
		if i%2 > 0 {
			off = 1 / off
		}
		p.ColdStart = mixtureAt(experts*off, 0.01)
		cold, _ := x.coldStartAmount(&p, target)
		x.updateHedge(&p, 0.99*math.Sqrt(cold*experts), 60, new(Scratch))
	}
	assert.InDelta(t, 0.5, x.hedgeShare(), 0.01)
}

// With more rows, the share of the cold-start rule falls towards 0.5, the share that it has in the blend.
func TestThePriorOfTheBlendGrowsWithTheRows(t *testing.T) {
	x, _, _ := trained(Default(target), 1, 300, normal(0.2))
	x.ColdStartExcessLoss, x.ColdStartKills, x.BlendExcessLoss, x.BlendKills = 0, 0, 0, 0
	x.LearnedRows = 32
	atFewRows := x.hedgeShare()
	x.LearnedRows = 2048
	assert.Less(t, x.hedgeShare(), atFewRows)
	assert.Greater(t, x.hedgeShare(), 0.5)
}

// Long after a change, the distribution of the cold-start rule may still be much too wide. With many rows, this hardly
// widens the amount.
func TestTheMarginOfTheColdStartRuleShrinksWithTheRows(t *testing.T) {
	x, s, _ := trained(Default(target), 1, 300, normal(0.2))
	p, _ := s.next()
	p.ColdStart = mixtureAt(x.MaxPeak, 3)
	amountAt := func(rows int) float64 {
		x.LearnedRows = rows
		amount, _ := x.coldStartAmount(&p, target)
		return amount / x.MaxPeak
	}
	assert.Greater(t, amountAt(3), 4.0)
	assert.InDelta(t, 2, amountAt(300), 1e-9)
	assert.InDelta(t, 1.01, amountAt(30_000), 1e-9)
}
