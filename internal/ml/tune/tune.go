// Package tune searches for the hyperparameters with the lowest loss, by random search or
// Bayesian optimisation. Each evaluation of the loss fits models, and is so expensive that only a few
// dozen evaluations are possible.
//
//	trials so far ──▶ warp ──▶ Gaussian process ──▶ expected improvement
//	      ▲                                              │ its maximum
//	      └───────────── loss(params) ◀──────────────────┘
//
// The package handles numbers only: no models, clock or I/O. The same seed and losses give
// the same trials, bit for bit.
package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Trial is one evaluated point of the space.
type Trial struct {
	Params []float64 // one per dimension, within its bounds
	Loss   float64   // +Inf if the loss was not finite
}

// Best returns the trial with the lowest loss, and the earliest one on a tie. Without trials
// its loss is +Inf.
func Best(trials []Trial) Trial {
	if len(trials) == 0 {
		return Trial{Loss: math.Inf(1)}
	}
	return slices.MinFunc(trials, func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
}

// Random evaluates a number of trials, at points drawn uniformly from the space (Bergstra & Bengio 2012). A
// loss of NaN or ±Inf is a failure and is stored as +Inf. An error of the loss function, such as
// the error of a cancelled context, stops the search. Random then returns the earlier trials and the wrapped error. It
// returns ErrSpace before any evaluation if the space is invalid or `trials` is not positive.
func Random(space Space, trials int, seed uint64, loss func(params []float64) (float64, error)) ([]Trial, error) {
	rng := rand.New(rand.NewPCG(seed, 0x7a4d))
	return search(space, trials, loss, func([]Trial) []float64 {
		return space.params(uniform(rng, len(space)))
	})
}

// search evaluates a number of trials. The function `next` returns the point of the next trial, given the trials so far.
func search(space Space, trials int, loss func([]float64) (float64, error), next func([]Trial) []float64) ([]Trial, error) {
	if err := space.check(); err != nil {
		return nil, err
	}
	if trials < 1 {
		return nil, fmt.Errorf("%w: %d trials; the number must be positive", ErrSpace, trials)
	}
	past := make([]Trial, 0, trials)
	for len(past) < trials {
		params := next(past)
		value, err := loss(slices.Clone(params))
		if err != nil {
			return past, fmt.Errorf("tune: trial %d: %w", len(past)+1, err)
		}
		if !finite(value) {
			value = math.Inf(1)
		}
		past = append(past, Trial{Params: params, Loss: value})
	}
	return past, nil
}

func uniform(rng *rand.Rand, d int) []float64 {
	u := make([]float64, d)
	for i := range u {
		u[i] = rng.Float64()
	}
	return u
}

func finite(v float64) bool { return v-v == 0 }
