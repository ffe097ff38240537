package tune

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bayes evaluates a number of trials by efficient global optimisation (Jones, Schonlau & Welch 1998).
// In d dimensions the first max(4, d+2) points are a Latin hypercube. Each later point maximises the
// expected improvement under a Gaussian process on the unit cube, which is refitted to all trials. For this
// fit, a failed trial has the worst finite loss. After the hypercube, Bayes repeats a point only if
// it finds no new one. Bayes treats failures, errors and invalid arguments as Random does.
func Bayes(space Space, trials int, seed uint64, loss func(params []float64) (float64, error)) ([]Trial, error) {
	rng := rand.New(rand.NewPCG(seed, 0xba7e5))
	var first [][]float64
	return search(space, trials, loss, func(past []Trial) []float64 {
		if len(past) == 0 {
			first = latin(rng, min(trials, max(4, len(space)+2)), len(space))
		}
		if len(past) < len(first) {
			return space.params(first[len(past)])
		}
		return propose(space, past, rng)
	})
}

// latin returns a Latin hypercube of n points: each of n slices of every dimension contains
// one point (McKay, Beckman & Conover 1979).
func latin(rng *rand.Rand, n, d int) [][]float64 {
	points := make([][]float64, n)
	for i := range points {
		points[i] = make([]float64, d)
	}
	for j := range d {
		for i, slice := range rng.Perm(n) {
			points[i][j] = (float64(slice) + rng.Float64()) / float64(n)
		}
	}
	return points
}

// More candidates find a better maximum of the expected improvement and take more time.
const (
	wide        = 500  // candidates over the whole cube
	narrow      = 20   // candidates around the best candidate, and as many around the best trial, for each radius
	firstRadius = 0.25 // the first radius, which is halved repeatedly
	lastRadius  = 5e-4 // every radius is above it
)

// propose maximises the expected improvement by random search: over the whole cube, and then
// with decreasing radius near the best candidate and the best trial.
func propose(space Space, past []Trial, rng *rand.Rand) []float64 {
	a := newAcquisition(space, past)
	for range wide {
		a.consider(uniform(rng, len(space)))
	}
	for radius := firstRadius; radius > lastRadius; radius /= 2 {
		for range narrow {
			a.consider(perturb(rng, a.incumbent, radius))
			a.consider(perturb(rng, a.best, radius))
		}
	}
	return space.params(a.best)
}

// acquisition holds the candidate with the largest expected improvement so far.
type acquisition struct {
	space     Space
	past      []Trial
	posterior *posterior
	lowest    float64   // the lowest loss of a trial after the function warp
	incumbent []float64 // the point with that loss
	best      []float64 // the best candidate
	gain      float64   // its expected improvement
	work      []float64 // scratch space of posterior.at
}

func newAcquisition(space Space, past []Trial) *acquisition {
	points, losses := make([][]float64, len(past)), make([]float64, len(past))
	for i, trial := range past {
		points[i], losses[i] = space.unit(trial.Params), trial.Loss
	}
	warped := warp(losses)
	lowest := slices.Min(warped)
	incumbent := points[slices.Index(warped, lowest)]
	return &acquisition{
		space: space, past: past, posterior: fit(points, warped),
		lowest: lowest, incumbent: incumbent, best: incumbent, gain: -1, work: make([]float64, len(past)),
	}
}

func (a *acquisition) consider(u []float64) {
	params := a.space.params(u)
	if slices.ContainsFunc(a.past, func(t Trial) bool { return slices.Equal(t.Params, params) }) {
		return
	}
	at := a.space.unit(params)
	mean, deviation := a.posterior.at(at, a.work)
	if gain := expectedImprovement(a.lowest, mean, deviation); gain > a.gain {
		a.best, a.gain = at, gain
	}
}

func perturb(rng *rand.Rand, u []float64, radius float64) []float64 {
	out := make([]float64, len(u))
	for i, v := range u {
		out[i] = max(0, min(v+radius*rng.NormFloat64(), 1))
	}
	return out
}

// expectedImprovement returns E max(0, lowest − loss) for a normal loss (Jones, Schonlau &
// Welch 1998, equation 15). For mean = lowest and deviation 1 it is 1/√(2π) ≈ 0.4.
func expectedImprovement(lowest, mean, deviation float64) float64 {
	gain := lowest - mean
	if deviation == 0 {
		return max(0, gain)
	}
	z := gain / deviation
	below := math.Erfc(-z/math.Sqrt2) / 2
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return max(0, gain*below+deviation*density)
}
