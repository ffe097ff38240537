package tune

import (
	"cmp"
	"math"
	"slices"
)

// warp turns losses into what a Gaussian process can learn: logarithms above the
// least, log(1 + (loss − least) / (median − least)), of mean 0. Losses of bad
// parameters are often many times the good ones' and would otherwise be all that it
// sees: without it, the searches told of at fit ended twice as far from the minimum.
// The order of the losses stays. A failed trial (+Inf) takes the worst finite loss.
func warp(losses []float64) []float64 {
	least, worst := math.Inf(1), math.Inf(-1)
	for _, v := range losses {
		if finite(v) {
			least, worst = min(least, v), max(worst, v)
		}
	}
	answers := make([]float64, len(losses))
	if !(least < worst) {
		return answers
	}
	size := max(math.Abs(least), math.Abs(worst)) // a difference of shares cannot overflow
	for i, v := range losses {
		answers[i] = min(v, worst)/size - least/size
	}
	typical := cmp.Or(median(answers), 1)
	mean := 0.0
	for i, above := range answers {
		answers[i] = math.Log1p(above / typical)
		mean += answers[i] / float64(len(answers))
	}
	for i := range answers {
		answers[i] -= mean
	}
	return answers
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// noises are tried as kernel.noise: from the rounding that a factor needs, to folds
// that disagree.
var noises = []float64{1e-6, 1e-4, 1e-2, 1e-1}

// fit picks a kernel for the answers y at the points x: first among equal lengths,
// then each length on its own goes up and down, by smaller and smaller factors, as
// long as the density rises. Lengths of their own find that some parameters hardly
// matter: with one length for all, 30 trials ended 3.6 times as far from the minimum
// (geometric mean over six test functions, 60 seeds each).
func fit(x [][]float64, y []float64) *posterior {
	c := climb{x: x, y: y, density: math.Inf(-1)}
	d := len(x[0])
	for length := 0.05; length < 5; length *= 2 {
		c.tryNoises(slices.Repeat([]float64{length}, d))
	}
	for _, factor := range []float64{2, math.Sqrt2} {
		for range 2 {
			for i := range d {
				if !c.tryScaled(i, factor) {
					c.tryScaled(i, 1/factor)
				}
			}
			c.tryNoises(c.best.lengths)
		}
	}
	return c.best
}

// climb keeps the kernel of the greatest density so far.
type climb struct {
	x       [][]float64
	y       []float64
	best    *posterior
	density float64
}

func (c *climb) tryNoises(lengths []float64) {
	for _, noise := range noises {
		c.try(kernel{lengths: lengths, noise: noise})
	}
}

func (c *climb) tryScaled(i int, factor float64) bool {
	k := kernel{lengths: slices.Clone(c.best.lengths), noise: c.best.noise}
	k.lengths[i] *= factor
	return c.try(k)
}

// try reports whether a kernel is better: the likelihood of the answers times a
// prior for each length, log-normal around half the cube with a deviation of e, as
// a dozen answers say little about so many lengths.
func (c *climb) try(k kernel) bool {
	p, ok := newPosterior(k, c.x, c.y)
	if !ok {
		return false
	}
	density := p.log
	for _, length := range k.lengths {
		z := math.Log(2 * length)
		density -= z * z / 2
	}
	if density <= c.density {
		return false
	}
	c.best, c.density = p, density
	return true
}
