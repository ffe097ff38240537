package svm

import (
	"fmt"
	"math/rand/v2"

	"github.com/loadaware/loadaware/internal/ml/table"
)

const (
	maxBins = 1000
	folds   = 5 // number of folds for the out-of-sample decision values, as in libsvm
)

// Fit learns P(bin | x) for bins 0 … bins−1, bins ≤ 1000, from t, whose targets are bins. It
// fits one boundary for each pair of bins that have rows (one against one, Knerr, Personnaz &
// Dreyfus 1990). The weight of a row scales its penalty C and its part in the probabilities. The probability of
// one additional row of weight 1 is divided evenly among all bins, including empty ones, so every bin is possible. `seed` is
// the seed of the random folds.
//
// Fit returns table.ErrShape (also for no rows), ErrConfig or ErrTarget.
func Fit(t *table.Table, bins int, cfg Config, seed uint64) (*Classifier, error) {
	if err := check(t, bins); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	total := 0.0
	for i := range t.Rows() {
		total += t.Weight(i)
	}
	if !finite(total) {
		return nil, fmt.Errorf("%w: the weights add up to %v; scale them down", ErrTarget, total)
	}
	m := &model{scale: newScale(t, total), bins: bins, uniformShare: 1 / (total + 1)}
	cfg = cfg.withDefaults(len(m.scale.used))
	m.gamma = cfg.Gamma
	classes := classesOf(t, bins, m.scale, seed)
	var pairs []pair
	for b := range classes {
		for a := range b {
			pairs = append(pairs, fitPair(classes[a], classes[b], cfg))
		}
	}
	m.addPairs(classes, pairs)
	return newClassifier(m), nil
}

func check(t *table.Table, bins int) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Rows() == 0 {
		return fmt.Errorf("%w: no training rows", table.ErrShape)
	}
	if bins < 1 || bins > maxBins {
		return fmt.Errorf("%w: %d bins, must be 1 to %d", ErrTarget, bins, maxBins)
	}
	for i, y := range t.Y {
		if bin := int(y); bin < 0 || bin >= bins || float64(bin) != y {
			return fmt.Errorf("%w: target of row %d is %v, not a bin from 0 to %d", ErrTarget, i, y, bins-1)
		}
	}
	return nil
}

type class struct {
	bin    int
	points points
	weight []float64 // by row
	fold   []int     // by row: the fold that holds it out
}

// classesOf returns the bins that have rows, in ascending order, with their rows in table
// order. It deals the rows of each class to the folds evenly and at random (stratified).
func classesOf(t *table.Table, bins int, s scale, seed uint64) []class {
	all := make([]class, bins)
	z := make([]float64, len(s.used))
	for i, y := range t.Y {
		c := &all[int(y)]
		s.apply(t.Row(i), z)
		c.points.p = len(z)
		c.points.add(z)
		c.weight = append(c.weight, t.Weight(i))
	}
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	var present []class
	for bin, c := range all {
		if len(c.weight) == 0 {
			continue
		}
		c.bin = bin
		c.fold = rng.Perm(len(c.weight))
		for i := range c.fold {
			c.fold[i] %= folds
		}
		present = append(present, c)
	}
	return present
}

// pair is the boundary between two classes.
type pair struct {
	beta    []float64 // coefficients of the rows of the first class, then of the second
	bias    float64
	sigmoid sigmoid // P(first class | either class)
}

// fitPair solves one problem with all rows, and one for each fold without the rows of this fold. The sigmoid is fitted to
// the out-of-sample decision values, because in-sample values are overconfident.
func fitPair(a, b class, cfg Config) pair {
	n := len(a.weight) + len(b.weight)
	rows := points{p: a.points.p, z: append(append([]float64(nil), a.points.z...), b.points.z...)}
	rows.squares = append(append([]float64(nil), a.points.squares...), b.points.squares...)
	w, fold := append(append([]float64(nil), a.weight...), b.weight...), append(append([]int(nil), a.fold...), b.fold...)
	y, penalties := make([]float64, n), make([]float64, n)
	for i := range y {
		y[i] = -1
		if i < len(a.weight) {
			y[i] = 1
		}
		penalties[i] = min(cfg.C*w[i], maxPenalty)
	}
	s := newSolver(newKernel(rows, cfg.Gamma, maxCached), y)
	bias := s.solve(penalties, cfg.Tolerance)
	p := pair{beta: append([]float64(nil), s.beta...), bias: bias}
	p.sigmoid = fitSigmoid(heldOut(s, penalties, fold, cfg.Tolerance), y, w)
	return p
}

// heldOut returns the out-of-sample decision values of all rows: each row is held out, with a penalty
// of 0, in the solution for its fold.
func heldOut(s *solver, penalties []float64, fold []int, tolerance float64) []float64 {
	decisions, withoutFold := make([]float64, len(fold)), make([]float64, len(fold))
	for f := range folds {
		for i, penalty := range penalties {
			withoutFold[i] = penalty
			if fold[i] == f {
				withoutFold[i] = 0
			}
		}
		bias := s.solve(withoutFold, tolerance)
		for i := range fold {
			if fold[i] == f {
				decisions[i] = s.decision(i) + bias
			}
		}
	}
	return decisions
}
