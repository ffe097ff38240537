// Package tune searches for the parameters of least loss, where a loss costs so
// much to ask (a model fitted on every fold) that some dozens are all there will be.
//
//	trials so far ──▶ warp ──▶ Gaussian process ──▶ expected improvement
//	      ▲                                              │ where it is greatest
//	      └───────────── loss(params) ◀──────────────────┘
//
// Random draws, Bayes learns from its trials. It knows numbers only: no models, no
// clock, no I/O. The same seed and the same losses give the same trials, bit for bit.
package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Trial is one point asked.
type Trial struct {
	Params []float64 // one a dimension, within its bounds
	Loss   float64   // +Inf where the loss was no finite number
}

// Best is the trial of least loss, the earliest of equals; of none, a loss of +Inf.
func Best(trials []Trial) Trial {
	if len(trials) == 0 {
		return Trial{Loss: math.Inf(1)}
	}
	return slices.MinFunc(trials, func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
}

// Random asks trials points drawn evenly from the space, in order (Bergstra &
// Bengio 2012). A loss of NaN or ±Inf is a failure: it is kept as +Inf and is no
// better than any other. An error of loss, such as a context's, stops the search
// and is returned, wrapped, with the trials made before. ErrSpace, before anything
// is asked, if the space cannot be searched or trials is not positive.
func Random(space Space, trials int, seed uint64, loss func(params []float64) (float64, error)) ([]Trial, error) {
	rng := rand.New(rand.NewPCG(seed, 0x7a4d))
	return search(space, trials, loss, func([]Trial) []float64 {
		return space.params(uniform(rng, len(space)))
	})
}

// search asks what next names, given the trials so far.
func search(space Space, trials int, loss func([]float64) (float64, error), next func([]Trial) []float64) ([]Trial, error) {
	if err := space.check(); err != nil {
		return nil, err
	}
	if trials < 1 {
		return nil, fmt.Errorf("%w: %d trials", ErrSpace, trials)
	}
	made := make([]Trial, 0, trials)
	for len(made) < trials {
		params := next(made)
		value, err := loss(slices.Clone(params))
		if err != nil {
			return made, fmt.Errorf("tune: trial %d: %w", len(made)+1, err)
		}
		if !finite(value) {
			value = math.Inf(1)
		}
		made = append(made, Trial{Params: params, Loss: value})
	}
	return made, nil
}

// uniform is a point of the d-dimensional unit cube.
func uniform(rng *rand.Rand, d int) []float64 {
	u := make([]float64, d)
	for i := range u {
		u[i] = rng.Float64()
	}
	return u
}

func finite(v float64) bool { return v-v == 0 }
