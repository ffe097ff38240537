package linear

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// Corrector is a linear regression without an intercept that learns to predict the errors of a model
// from K inputs, called signals. It uses recursive least squares with exponential forgetting and a ridge
// penalty (Ljung 1999). The exported fields are its state; NewCorrector sets their sizes.
type Corrector struct {
	K    int       // number of signals
	XX   []float64 // K × K, row by row: decayed sums of the products of signals
	XY   []float64 // K decayed sums of signal · error
	Beta []float64 // K coefficients
}

const (
	correctorDecay   = 0.998 // factor per row on the weights of earlier rows: a memory of 500 rows
	correctorPenalty = 0.12  // has the effect of three rows with signals of 0.2 and an error of 0
	correctorClip    = 1.0   // largest absolute error; larger errors are clipped
)

// NewCorrector returns a Corrector without data, which predicts an error of zero.
func NewCorrector(k int) *Corrector {
	return &Corrector{K: k, XX: make([]float64, k*k), XY: make([]float64, k), Beta: make([]float64, k)}
}

// Predict returns the expected error for the signals x, len(x) = K.
func (c *Corrector) Predict(x []float64) float64 {
	sum := 0.0
	for i, b := range c.Beta {
		sum += b * x[i]
	}
	return sum
}

// Learn adds a row of a weight from 0 to 1: residual is the error that the model made with the signals x.
func (c *Corrector) Learn(x []float64, residual, weight float64) {
	residual = max(-correctorClip, min(correctorClip, residual))
	decay := math.Pow(correctorDecay, weight)
	gram := newSymmetric(c.K)
	for i := range c.K {
		c.XY[i] = c.XY[i]*decay + weight*x[i]*residual
		for j := range c.K {
			c.XX[i*c.K+j] = c.XX[i*c.K+j]*decay + weight*x[i]*x[j]
		}
	}
	copy(gram.Data, c.XX)
	for i := range c.K {
		gram.Data[i*c.K+i] += correctorPenalty
	}
	beta := slices.Clone(c.XY)
	if solveDefinite(gram, blas64.General{Rows: c.K, Cols: 1, Stride: 1, Data: beta}) {
		c.Beta = beta // else keep the last valid coefficients
	}
}
