package experts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAJumpIsFarAboveAllResiduals(t *testing.T) {
	rng, x := rand.New(rand.NewPCG(7, 3)), New(Default(0.015))
	p := Point{Scale: [ScaleCount]float64{.1, .1}}
	for range 60 {
		e := newEntry(&p, .1*rng.NormFloat64())
		x.appendRow(e)
	}
	_, deviation, isJump := x.Jump(&p, .7)
	assert.InDelta(t, .1, deviation, .05)
	assert.True(t, isJump)
	_, _, isJump = x.Jump(&p, .3)
	assert.False(t, isJump)
	wide := Point{Scale: [ScaleCount]float64{.5, .5}}
	_, _, isJump = x.Jump(&wide, .7)
	assert.False(t, isJump, "the trees predict a wide residual")
	x.appendRow(newEntry(&p, .6))
	_, _, isJump = x.Jump(&p, .7)
	assert.False(t, isJump, "an earlier residual is about as large")
}

func TestShiftLevelKeepsTheResiduals(t *testing.T) {
	rng, x := rand.New(rand.NewPCG(8, 3)), New(Default(0.015))
	x.MaxPeak = 5
	p := Point{Scale: [ScaleCount]float64{.1, .1}}
	for range 60 {
		x.appendRow(newEntry(&p, .1*rng.NormFloat64()))
	}
	before := x.tables[LineTrees*distributionCount+allRows].quantile
	x.ShiftLevel(func(float64) float64 { return math.Log(3) })
	for i, q := range x.tables[LineTrees*distributionCount+allRows].quantile {
		assert.InDelta(t, before[i], q, 1e-9)
	}
	assert.InDelta(t, math.Log(3), x.Rows[0].Point.Level[Stack], 1e-9)
	assert.InDelta(t, 15, x.MaxPeak, 1e-9)
}
