package svm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If all decision values are equal, a sigmoid can only learn the mean of Platt's targets. With
// three positive signs and one negative sign this mean is (3·4/5 + 1·1/3)/4 = 0.68333.
func TestAnUninformativeSigmoidIsTheMeanTarget(t *testing.T) {
	for _, f := range []float64{0, 1, -30, 1e6} {
		s := fitSigmoid([]float64{f, f, f, f}, []float64{1, 1, -1, 1}, []float64{1, 1, 1, 1})
		assert.InDelta(t, 0.683333, s.at(f), 1e-3, "f = %v", f)
	}
}

func TestASigmoidStaysFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 300 {
		n := 1 + rng.IntN(20)
		f, y, w := make([]float64, n), make([]float64, n), make([]float64, n)
		size, weightScale := math.Pow(10, float64(rng.IntN(25)-12)), math.Pow(10, float64(rng.IntN(25)-12))
		for i := range f {
			f[i], y[i], w[i] = size*rng.NormFloat64(), float64(2*rng.IntN(2)-1), weightScale*(0.1+rng.Float64())
		}
		s := fitSigmoid(f, y, w)
		for _, v := range append([]float64{0, 1e300, -1e300}, f...) {
			p := s.at(v)
			require.True(t, p >= 0 && p <= 1, "%v of %v", p, s)
		}
		l := newLikelihood(f, y, w)
		require.LessOrEqual(t, l.loss(s), l.loss(sigmoid{0, math.Log((l.minus + 1) / (l.plus + 1))}), "the loss must be at most the initial loss")
	}
}

func TestConsistentPairsCoupleToTheirProbabilities(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	for k := 1; k < 30; k++ {
		want, total := make([]float64, k), 0.0
		for i := range want {
			want[i] = math.Exp(3 * rng.NormFloat64())
			total += want[i]
		}
		r := make([]float64, k*k)
		for i := range want {
			want[i] /= total
		}
		for i := range want {
			for j := range want {
				r[i*k+j] = want[i] / (want[i] + want[j])
			}
		}
		p := make([]float64, k)
		couple(r, p)
		assert.InDeltaSlice(t, want, p, 1e-9)
	}
}

// No step from the solution towards any bin lowers the sum.
func TestCouplingMinimisesTheSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sum := func(r, p []float64) (sum float64) {
		for i := range p {
			for j := range p {
				if d := r[j*len(p)+i]*p[i] - r[i*len(p)+j]*p[j]; i != j {
					sum += d * d
				}
			}
		}
		return sum
	}
	for range 200 {
		k := 2 + rng.IntN(7)
		r := make([]float64, k*k)
		for i := range k {
			for j := range i {
				v := max(minPairwise, min(rng.Float64()*1.4-0.2, 1-minPairwise)) // some are at the bounds
				r[i*k+j], r[j*k+i] = v, 1-v
			}
		}
		p := make([]float64, k)
		couple(slices.Clone(r), p)
		for i := range p {
			require.True(t, p[i] >= 0 && p[i] <= 1)
			moved := make([]float64, k)
			for j := range p {
				moved[j] = 0.999 * p[j]
			}
			moved[i] += 0.001
			assert.LessOrEqual(t, sum(r, p), sum(r, moved)+1e-15)
		}
	}
}
