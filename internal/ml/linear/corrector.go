package linear

import "gonum.org/v1/gonum/mat"

// Corrector is a recursive least-squares line through the origin with exponential
// forgetting and a penalty towards zero (Ljung 1999). It learns which of k signals predict
// the errors of a model. The exported fields are its state; a Corrector with K set is
// ready to use.
type Corrector struct {
	K      int
	XX, XY []float64 // forgetting sums, K² row by row and K
	Beta   []float64
}

const (
	correctorForget = 0.998 // per row: a memory of 500
	correctorPull   = 0.12  // as if three rows with signals of size 0.2 had had no error
	correctorClip   = 1.0   // errors are clipped to this size
)

// NewCorrector returns a Corrector without data, which predicts an error of zero.
func NewCorrector(k int) *Corrector {
	return &Corrector{K: k, XX: make([]float64, k*k), XY: make([]float64, k), Beta: make([]float64, k)}
}

// Predict returns the expected error for signals x, len(x) = K.
func (c *Corrector) Predict(x []float64) float64 {
	sum := 0.0
	for i, b := range c.Beta {
		sum += b * x[i]
	}
	return sum
}

// Learn adds the error that occurred with signals x.
func (c *Corrector) Learn(x []float64, err float64) {
	err = max(-correctorClip, min(correctorClip, err))
	gram := mat.NewSymDense(c.K, nil)
	for i := range c.K {
		c.XY[i] = c.XY[i]*correctorForget + x[i]*err
		for j := range c.K {
			c.XX[i*c.K+j] = c.XX[i*c.K+j]*correctorForget + x[i]*x[j]
			if j >= i {
				gram.SetSym(i, j, c.XX[i*c.K+j])
			}
		}
		gram.SetSym(i, i, gram.At(i, i)+correctorPull)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return // keep the last good line
	}
	beta := mat.NewVecDense(c.K, c.Beta)
	_ = factor.SolveVecTo(beta, mat.NewVecDense(c.K, c.XY)) // a poorly conditioned solution is still usable
}
