package svm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func problem(n int, penalty float64, seed uint64) (rows points, y, penalties []float64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	rows.p = 3
	for range n {
		z := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		rows.add(z)
		sign := 1.0
		if z[0]+z[1]*z[2]+0.5*rng.NormFloat64() < 0 {
			sign = -1
		}
		y, penalties = append(y, sign), append(penalties, penalty*(0.1+rng.Float64()))
	}
	return rows, y, penalties
}

// fullCache returns a kernel with γ 0.5 whose cache has space for all rows.
func fullCache(rows points) *kernel { return newKernel(rows, 0.5, maxCached) }

// For two rows at −1 and 1, the optimum is |β|·(1 − e⁻⁴) = 1 for both if the penalty is 2. With a penalty of 1 both |β| are
// at their bound of 1. In both cases the boundary is midway between the rows.
func TestTwoRowsByHand(t *testing.T) {
	rows := points{p: 1}
	rows.add([]float64{-1})
	rows.add([]float64{1})
	for penalty, want := range map[float64]float64{2: 1 / (1 - math.Exp(-4)), 1: 1} {
		s := newSolver(newKernel(rows, 1, maxCached), []float64{1, -1})
		assert.InDelta(t, 0, s.solve([]float64{penalty, penalty}, 1e-6), 1e-9)
		assert.InDeltaSlice(t, []float64{want, -want}, s.beta, 1e-6)
		assert.InDelta(t, want*(1-math.Exp(-4)), s.decision(0), 1e-6)
	}
}

// The first row rises. The second row violates its condition by 2 and the third by 1.9, but the
// third is nearer to the first and has the larger gain: 1.9²/(2 − 2·0.6) = 4.5 > 2²/2 = 2.
func TestTheFallingRowHasTheLargestGain(t *testing.T) {
	s := &solver{residual: []float64{1, -1, -0.9}, beta: []float64{0, 0, 0}, low: []float64{0, -1, -1}}
	at, lowest := s.selectFalling([]float32{1, 0, 0.6}, 1)
	assert.Equal(t, 2, at)
	assert.Equal(t, -1.0, lowest)
}

func TestTheDualConstraintsHold(t *testing.T) {
	for seed, penalty := range []float64{1e-300, 1e-3, 1, 100, 1e6, maxPenalty} {
		rows, y, penalties := problem(80, penalty, uint64(seed))
		rows.add(rows.row(0)) // equal rows with both signs are not separable
		y, penalties = append(y, -y[0]), append(penalties, penalty)
		s := newSolver(fullCache(rows), y)
		bias := s.solve(penalties, 1e-3)
		sum, size := 0.0, 0.0
		for i, beta := range s.beta {
			alpha := y[i] * beta
			require.GreaterOrEqual(t, alpha, 0.0)
			require.LessOrEqual(t, alpha, penalties[i])
			sum, size = sum+beta, size+alpha
		}
		assert.InDelta(t, 0, sum, 1e-12*size, "penalty %v", penalty)
		assert.True(t, finite(bias))
	}
}

// At the optimum, a row inside the margin is at its bound, a row outside the margin has β = 0,
// and a row between the bounds is on the margin.
func TestTheOptimalityConditionsHold(t *testing.T) {
	const tolerance = 1e-3
	for seed := range uint64(5) {
		rows, y, penalties := problem(150, 2, seed)
		s := newSolver(fullCache(rows), y)
		bias := s.solve(penalties, tolerance)
		for i, alpha := range s.beta {
			margin := y[i] * (s.decision(i) + bias)
			if alpha *= y[i]; alpha < penalties[i] {
				assert.GreaterOrEqual(t, margin, 1-tolerance)
			}
			if alpha > 0 {
				assert.LessOrEqual(t, margin, 1+tolerance)
			}
		}
	}
}

func TestAHeldOutRowHasNoInfluence(t *testing.T) {
	rows, y, penalties := problem(100, 1, 7)
	fold := make([]int, len(y))
	rest, keptY, keptPenalties := points{p: 3}, []float64(nil), []float64(nil)
	for i := range fold {
		if fold[i] = i % folds; fold[i] != 2 {
			rest.add(rows.row(i))
			keptY, keptPenalties = append(keptY, y[i]), append(keptPenalties, penalties[i])
		}
	}
	decisions := heldOut(newSolver(fullCache(rows), y), penalties, fold, 1e-7)
	s := newSolver(fullCache(rest), keptY)
	bias := s.solve(keptPenalties, 1e-7)
	values := make([]float64, len(keptY))
	for i := 2; i < len(y); i += folds {
		rest.kernelRow(rows.row(i), 0.5, values)
		want := bias
		for j, beta := range s.beta {
			want += beta * values[j]
		}
		assert.InDelta(t, want, decisions[i], 1e-5)
	}
}

func TestASingleSignIsAlwaysPredicted(t *testing.T) {
	rows, _, penalties := problem(10, 1, 8)
	for _, sign := range []float64{1, -1} {
		y := make([]float64, 10)
		for i := range y {
			y[i] = sign
		}
		assert.Equal(t, sign, newSolver(fullCache(rows), y).solve(penalties, 1e-3))
		assert.Zero(t, newSolver(fullCache(rows), y).solve(make([]float64, 10), 1e-3), "without penalties the bias is 0")
	}
}

func TestEvictionOfKernelRowsDoesNotChangeTheSolution(t *testing.T) {
	rows, y, penalties := problem(60, 10, 9)
	all, few := newSolver(fullCache(rows), y), newSolver(newKernel(rows, 0.5, 7*60), y)
	assert.Equal(t, all.solve(penalties, 1e-3), few.solve(penalties, 1e-3))
	assert.Equal(t, all.beta, few.beta)
	cached := 0
	for _, row := range few.kernel.cached {
		if row != nil {
			cached++
		}
	}
	assert.Equal(t, 7, cached)
}

func TestKernelRowMatchesTheDefinition(t *testing.T) {
	rows, _, _ := problem(40, 1, 10)
	k := make([]float64, 40)
	for i := range 40 {
		rows.kernelRow(rows.row(i), 0.5, k)
		for j := range k {
			distance := 0.0
			for c, v := range rows.row(i) {
				distance += (v - rows.row(j)[c]) * (v - rows.row(j)[c])
			}
			assert.InDelta(t, math.Exp(-0.5*distance), k[j], 1e-14)
		}
	}
}
