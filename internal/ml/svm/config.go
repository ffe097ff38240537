package svm

import (
	"cmp"
	"errors"
	"fmt"
)

var (
	// ErrConfig reports a Config whose values cannot be used.
	ErrConfig = errors.New("svm: unusable config")
	// ErrTarget reports targets that are no bins, or weights too large to add up.
	ErrTarget = errors.New("svm: targets cannot be learned")
)

// Config says how hard errors are punished and how far a row reaches. Its zero
// value is scikit-learn's default.
type Config struct {
	C         float64 // price of an error; a row's is C · weight; 1 if zero
	Gamma     float64 // γ in K = exp(−γ·‖x − x′‖²) of standardised columns; 1/columns if zero, which is scikit-learn's "scale" at variance 1
	Tolerance float64 // by how much the optimality conditions may be missed, below 1; 0.001 if zero
}

// withDefaults fills Config for so many varying columns.
func (c Config) withDefaults(columns int) Config {
	c.C = cmp.Or(c.C, 1)
	c.Gamma = cmp.Or(c.Gamma, 1/float64(max(columns, 1)))
	c.Tolerance = cmp.Or(c.Tolerance, 1e-3)
	return c
}

// validate names the first field that is out of range. The comparisons also catch
// NaN.
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
