package experts

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/bayes"
)

// youngAt is a predictive distribution about a peak.
func youngAt(peak, scale float64) *bayes.Mixture {
	m := &bayes.Mixture{N: 1}
	m.Weight[0], m.Level[0], m.Scale[0], m.Freedom[0] = 1, math.Log(peak), scale, 30
	return m
}

// Only kills that the experts would have avoided count against the young rule.
func TestKillsThatBothRulesMissMoveNoTaskToTheExperts(t *testing.T) {
	x, s, _ := learned(Default(target), 1, 300, normal(0.2))
	require.NotEmpty(t, x.Picks)
	p, _ := s.next()
	p.Young = youngAt(math.Exp(p.Level[Stack])/2, 0.01)
	young, _ := x.young(&p, target)
	grown, _, _ := x.blend(&p, x.Picks, &x.scratch)
	require.Less(t, young, grown)

	x.YoungKills = 0
	x.compare(&p, 2*grown, 60)
	assert.Zero(t, x.YoungKills, "both")
	x.compare(&p, (young+grown)/2, 60)
	assert.Equal(t, 1.0, x.YoungKills, "the young rule alone")
	before := x.handOver()
	x.compare(&p, (young+grown)/2, 60)
	assert.Less(t, x.handOver(), before)
}
