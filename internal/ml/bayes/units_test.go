package bayes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFirstNumberOtherThanZeroSetsTheUnit(t *testing.T) {
	var a Average
	assert.Equal(t, math.Log1p(.25), a.Log(0, .25), "without a unit")
	assert.False(t, a.SetUnit(1, 0))
	assert.True(t, a.SetUnit(1, -.25))
	assert.False(t, a.SetUnit(1, .5), "the unit is set already")
	assert.InDelta(t, math.Log1p(2000), a.Log(1, .5), 1e-12)
	assert.InDelta(t, -math.Log1p(2000), a.Log(1, -.5), 1e-12)
	assert.True(t, a.SetUnit(3, 2.5), "a fraction is a size")
	assert.InDelta(t, math.Log1p(2000), a.Log(3, 5), 1e-12)
	assert.False(t, a.SetUnit(4, 2), "a count")
	assert.True(t, a.SetUnit(2, 1e-300))
	assert.Equal(t, math.Log1p(math.MaxFloat64), a.Log(2, 1e300))
	assert.False(t, a.SetUnit(0, 300))
	assert.Equal(t, math.Log1p(5), a.Log(0, 5), "the unit is at most 1")
}

func TestUnitIsOneIfALineWasLearnedWithoutOne(t *testing.T) {
	a := Average{Lines: []Line{{Rows: 3, X: math.Log1p(.5), XX: .1}}}
	assert.False(t, a.SetUnit(0, .5))
	assert.Equal(t, math.Log1p(.5), a.Log(0, .5))
}
