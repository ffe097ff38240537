// Package svm fits support vector machines with the Gaussian (RBF) kernel and class
// probabilities on bins (C-SVC, Cortes & Vapnik 1995). It follows libsvm (Chang & Lin
// 2011).
//
//	table ─▶ scale ─▶ points of two bins ─▶ solver ─▶ decision values ─▶ sigmoid
//	         columns   every pair            SMO on    held out in        by pair
//	         mean 0,   (one against one)     kernel    five folds           │
//	         variance 1                      rows                           ▼
//	                                 row ─▶ P(a | a or b) of every pair ─▶ couple ─▶ P(bin)
//
// Time grows with the square of the rows, so the package suits thousands of rows, not
// tens of thousands. The memory for kernel values is bounded (maxCached).
//
// The package handles numbers only: no tasks, no bytes of memory, no clock, no I/O. The same
// rows, Config and seed give the same classifier, bit for bit.
package svm

import (
	"cmp"
	"errors"
	"fmt"
)

var (
	// ErrConfig reports a Config with values out of range.
	ErrConfig = errors.New("svm: invalid config")
	// ErrTarget reports targets that are not bins, a number of bins out of range, or weights whose sum overflows.
	ErrTarget = errors.New("svm: invalid targets")
)

// Config sets the error penalty and the kernel width. Its zero value equals the default
// of scikit-learn.
type Config struct {
	C         float64 // penalty of an error, which is multiplied by the weight of the row; 1 if zero
	Gamma     float64 // γ in K = exp(−γ·‖x − x′‖²) of standardised columns; if zero, 1/number of varying columns, which is scikit-learn's "scale" at variance 1
	Tolerance float64 // allowed violation of the optimality conditions, below 1; 0.001 if zero
}

func (c Config) withDefaults(columns int) Config {
	c.C = cmp.Or(c.C, 1)
	c.Gamma = cmp.Or(c.Gamma, 1/float64(max(columns, 1)))
	c.Tolerance = cmp.Or(c.Tolerance, 1e-3)
	return c
}

// validate returns an error that names the first field out of range. The comparisons also reject NaN.
func (c Config) validate() error {
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{"C", c.C >= 0 && finite(c.C), "positive and finite"},
		{"Gamma", c.Gamma >= 0 && finite(c.Gamma), "positive and finite"},
		{"Tolerance", c.Tolerance >= 0 && c.Tolerance < 1, "in (0, 1)"},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s must be %s, or zero for its default", ErrConfig, f.name, f.want)
		}
	}
	return nil
}

func finite(v float64) bool { return v-v == 0 }
