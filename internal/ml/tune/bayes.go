package tune

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bayes asks first max(4, d+2) points of a Latin hypercube, then in turn each point
// where the improvement on the least loss so far is expected to be greatest, by a
// Gaussian process on the unit cube that is fitted anew to all trials so far (Jones,
// Schonlau & Welch 1998). A failed trial counts as the worst of the others. No
// point is asked twice before all points found are asked. Trials and errors as of
// Random.
func Bayes(space Space, trials int, seed uint64, loss func(params []float64) (float64, error)) ([]Trial, error) {
	rng := rand.New(rand.NewPCG(seed, 0xba7e5))
	var first [][]float64
	return search(space, trials, loss, func(made []Trial) []float64 {
		if len(made) == 0 {
			first = latin(rng, min(trials, max(4, len(space)+2)), len(space))
		}
		if len(made) < len(first) {
			return space.params(first[len(made)])
		}
		return propose(space, made, rng)
	})
}

// latin is a Latin hypercube of n points: each of n slices of every dimension holds
// one (McKay, Beckman & Conover 1979).
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

const (
	wide     = 500  // candidates all over the cube
	narrow   = 20   // candidates around each of two points, for each radius
	farthest = 0.25 // the first radius; each is half the one before
	closest  = 5e-4
)

// propose finds the parameters with the greatest expected improvement: among
// candidates all over the cube, then ever closer around the best of them and around
// the best trial.
func propose(space Space, made []Trial, rng *rand.Rand) []float64 {
	a := newAcquisition(space, made)
	for range wide {
		a.consider(uniform(rng, len(space)))
	}
	for radius := farthest; radius > closest; radius /= 2 {
		for range narrow {
			a.consider(around(rng, a.incumbent, radius))
			a.consider(around(rng, a.best, radius))
		}
	}
	return space.params(a.best)
}

// acquisition keeps the candidate that promises most.
type acquisition struct {
	space     Space
	made      []Trial
	belief    *posterior
	lowest    float64   // the least answer
	incumbent []float64 // where it was given
	best      []float64 // the candidate to ask next
	gain      float64   // its expected improvement
	work      []float64
}

func newAcquisition(space Space, made []Trial) *acquisition {
	points, losses := make([][]float64, len(made)), make([]float64, len(made))
	for i, trial := range made {
		points[i], losses[i] = space.unit(trial.Params), trial.Loss
	}
	answers := warp(losses)
	lowest := slices.Min(answers)
	incumbent := points[slices.Index(answers, lowest)]
	return &acquisition{
		space: space, made: made, belief: fit(points, answers),
		lowest: lowest, incumbent: incumbent, best: incumbent, gain: -1, work: make([]float64, len(made)),
	}
}

// consider keeps a candidate that was not tried and promises more than the best so far.
func (a *acquisition) consider(u []float64) {
	params := a.space.params(u)
	if slices.ContainsFunc(a.made, func(t Trial) bool { return slices.Equal(t.Params, params) }) {
		return
	}
	at := a.space.unit(params)
	mean, deviation := a.belief.at(at, a.work)
	if gain := expectedImprovement(a.lowest, mean, deviation); gain > a.gain {
		a.best, a.gain = at, gain
	}
}

// around is a point near u, with normal steps held within the cube.
func around(rng *rand.Rand, u []float64, radius float64) []float64 {
	out := make([]float64, len(u))
	for i, v := range u {
		out[i] = max(0, min(v+radius*rng.NormFloat64(), 1))
	}
	return out
}

// expectedImprovement is E max(0, lowest − loss) for a normal loss (Jones, Schonlau
// & Welch 1998, equation 15): a mean equal to the lowest and a deviation of 1
// promise 1/√(2π) ≈ 0.4.
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
