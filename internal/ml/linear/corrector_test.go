package linear_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/ml/linear"
)

// The error of a model grows steadily to a factor of 50, as that of an overall mean does while the peaks grow. The signal is the
// error of the row before.
func TestCorrectorFollowsAnErrorThatGrows(t *testing.T) {
	c := linear.NewCorrector(1)
	for i := range 400 {
		signal, residual := .01*float64(i), .01*float64(i+1)
		if i >= 50 {
			assert.InDelta(t, residual, c.Predict([]float64{signal}), .05, "row %d", i)
		}
		c.Learn([]float64{signal}, residual, 1)
	}
}

// A single outlier counts only as far as correctorClip from the expected error.
func TestCorrectorClipsOutliers(t *testing.T) {
	c, clipped := linear.NewCorrector(1), linear.NewCorrector(1)
	for range 100 {
		c.Learn([]float64{.5}, .5, 1)
		clipped.Learn([]float64{.5}, .5, 1)
	}
	expected := c.Predict([]float64{.5})
	c.Learn([]float64{.5}, 20, 1)
	clipped.Learn([]float64{.5}, expected+1, 1)
	assert.Equal(t, clipped.Beta, c.Beta)
	assert.Less(t, math.Abs(c.Predict([]float64{.5})-expected), .02)
}
