package taskmodel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// learnMixture learns runs with normal log run times around 5 + signal · d, where d is the deviation of
// the point prediction from 5.
func learnMixture(runs int, signal float64) *meanMixture {
	m, rng := new(meanMixture), rand.New(rand.NewPCG(1, 0))
	for range runs {
		d := .5 * rng.NormFloat64()
		m.learn(5+signal*d+.2*rng.NormFloat64(), 5+d)
	}
	return m
}

func TestTheMixtureFollowsTheBetterPrediction(t *testing.T) {
	assert.InDelta(t, 7, learnMixture(20, 1).predict(7), .05, "if the point prediction is right, the mixture must follow it")
	assert.InDelta(t, 5, learnMixture(20, 0).predict(7), .2, "if the point prediction has no relation to the runs, the mixture must follow the mean")
	var empty meanMixture
	assert.InDelta(t, 7, empty.predict(7), 0)
	assert.InDelta(t, 6.5, learnMixture(2, 1).predict(7), .5, "the prior favours the point prediction")
	assert.Greater(t, learnMixture(2, 1).predict(7), 6.0)
}

func TestTheMixtureForgets(t *testing.T) {
	m, rng := learnMixture(500, 0), rand.New(rand.NewPCG(2, 0))
	for range 200 {
		d := .5 * rng.NormFloat64()
		m.learn(5+d+.2*rng.NormFloat64(), 5+d)
	}
	assert.InDelta(t, 7, m.predict(7), .05, "if the newer runs follow the point prediction, so must the mixture")
}
