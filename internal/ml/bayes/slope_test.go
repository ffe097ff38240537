package bayes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

var slopePrior = Prior{Deviation: 0.3, Rows: 4, Slope: 0.7, Spread: 0.25}

func learned(n int, slope, noise float64) *Average {
	var a Average
	for i := range n {
		x := math.Log1p(float64(i * i))
		y := 20 + slope*x + noise*float64(1-2*(i%2))
		var mix Mixture
		if i == 0 {
			a.Learn([]float64{x}, nil, 0, y, nil)
			continue
		}
		a.Predict([]float64{x}, nil, 0, &slopePrior, &mix)
		a.Learn([]float64{x}, nil, 0, y, &mix)
	}
	return &a
}

func evidenceOf(a *Average) SlopeEvidence { return a.SlopeEvidence(&slopePrior, nil)[0] }

func TestSlopeEvidenceOfALine(t *testing.T) {
	e := evidenceOf(learned(40, 0.4, 0.05))
	assert.InDelta(t, 0.4, e.Slope, 0.01)
	assert.Greater(t, e.Tasks, 0.9, "the weight is almost 1, because the line explains the rows and the rows determine the line")
	assert.Less(t, evidenceOf(learned(40, 0.4, 0.4)).Tasks, e.Tasks, "noise reduces the weight")
	assert.Less(t, evidenceOf(learned(4, 0.4, 0.05)).Tasks, e.Tasks, "few rows have a small weight")
}

func TestTasksWithoutALineGiveNoSlopeEvidence(t *testing.T) {
	var a Average
	assert.Empty(t, a.SlopeEvidence(&slopePrior, nil))
	a.Learn(nil, nil, 0, 20, nil)
	assert.Empty(t, a.SlopeEvidence(&slopePrior, nil), "a task without inputs gives no evidence")
	assert.Zero(t, evidenceOf(learned(2, 0.4, 0)), "two rows give no evidence, because a line fits any two rows")
	assert.Less(t, evidenceOf(learned(40, 0, 0.05)).Tasks, 0.1, "rows that a constant explains give little evidence")
}

func TestSlopeEvidenceIsFinite(t *testing.T) {
	for _, tc := range []struct{ slope, noise float64 }{{1e6, 0}, {-1e6, 1e6}, {1e-300, 0}, {0, 1e150}, {math.NaN(), 0}, {math.Inf(1), 0}} {
		e := evidenceOf(learned(30, tc.slope, tc.noise))
		assert.True(t, e.Tasks >= 0 && e.Tasks <= 1, "%+v: %+v", tc, e)
		assert.True(t, e.Slope >= minSlope && e.Slope <= maxSlope, "%+v: %+v", tc, e)
	}
	var a Average
	a.Learn([]float64{3}, nil, 0, 20, nil)
	for range 5 {
		var mix Mixture
		a.Predict([]float64{3}, nil, 0, &slopePrior, &mix)
		a.Learn([]float64{3}, nil, 0, 20, &mix)
	}
	assert.Zero(t, evidenceOf(&a), "an input that does not vary gives no evidence")
}

// The line of an input that has not varied yet has the prior slope of this input.
func TestLinesUseThePriorSlopeOfTheirInput(t *testing.T) {
	prior := slopePrior
	prior.Slopes = []float64{0.2}
	var a Average
	var mix Mixture
	a.Learn([]float64{5, 5}, nil, 0, 20, nil)
	a.Predict([]float64{7, 7}, nil, 0, &prior, &mix)
	assert.InDelta(t, 20+2*0.2, mix.Level[constants], 1e-9)
	assert.InDelta(t, 20+2*0.7, mix.Level[constants+1], 1e-9, "an input without an entry in Slopes uses Slope")
}
