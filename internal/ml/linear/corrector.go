package linear

import "gonum.org/v1/gonum/mat"

// Corrector is a linear regression without an intercept that learns to predict the errors of a model
// from K signals. It uses recursive least squares with exponential forgetting and a ridge
// penalty (Ljung 1999). The exported fields are its state; NewCorrector sets their sizes.
type Corrector struct {
	K    int       // number of signals
	XX   []float64 // K × K, row by row: decayed sums of the products of signals
	XY   []float64 // K decayed sums of signal · error
	Beta []float64 // K coefficients
}

const (
	correctorDecay   = 0.998 // per row: a memory of 500 rows
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

// Learn adds a row: residual is the error that the model made with the signals x.
func (c *Corrector) Learn(x []float64, residual float64) {
	residual = max(-correctorClip, min(correctorClip, residual))
	gram := mat.NewSymDense(c.K, nil)
	for i := range c.K {
		c.XY[i] = c.XY[i]*correctorDecay + x[i]*residual
		for j := range c.K {
			c.XX[i*c.K+j] = c.XX[i*c.K+j]*correctorDecay + x[i]*x[j]
			if j >= i {
				gram.SetSym(i, j, c.XX[i*c.K+j])
			}
		}
		gram.SetSym(i, i, gram.At(i, i)+correctorPenalty)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return // keep the last valid coefficients
	}
	beta := mat.NewVecDense(c.K, c.Beta)
	_ = factor.SolveVecTo(beta, mat.NewVecDense(c.K, c.XY)) // a poorly conditioned solution is still usable
}
