package gbt

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrConfig reports a Config whose values cannot be used together.
var ErrConfig = errors.New("gbt: unusable config")

// Config says how trees are grown. Its zero value is fit for a table of some
// dozens to some ten thousands of rows.
type Config struct {
	Rounds       int     // boosting rounds at most; 100 if zero
	LearningRate float64 // share of every leaf that is kept; 0.1 if zero
	MaxDepth     int     // splits from root to leaf at most; 4 if zero, 32 at most
	MaxLeaves    int     // leaves a tree at most, best gain first; what MaxDepth allows if zero

	MinLeafRows   int     // rows in a leaf at least; 5 if zero
	MinLeafWeight float64 // Σ hessian in a leaf at least (Σ weight in regression); 1e-3 if zero
	MinGain       float64 // gain of a split at least, in units of the loss; any above zero if zero
	Lambda        float64 // L2 penalty on leaf values; 1 if zero, none if negative

	Subsample float64 // share of rows drawn for every round; 1 if zero
	ColSample float64 // share of columns drawn for every tree; 1 if zero
	MaxBins   int     // bins a column, the missing one apart; 255 at most; rows/16 but at least 64 if zero. A Sample brings its own

	EarlyStop  int     // rounds without improvement before stopping; never if zero
	ValidShare float64 // share of rows held out to judge it, where no validation rows are given (a stream should give its latest); 0.15 if zero

	Seed uint64 // of every draw
}

const deepest = 32 // bounds the path that Explain keeps

func (c Config) withDefaults() Config {
	c.Rounds = cmp.Or(c.Rounds, 100)
	c.LearningRate = cmp.Or(c.LearningRate, 0.1)
	c.MaxDepth = cmp.Or(c.MaxDepth, 4)
	c.MinLeafRows = cmp.Or(c.MinLeafRows, 5)
	c.MinLeafWeight = cmp.Or(c.MinLeafWeight, 1e-3)
	c.Lambda = max(0, cmp.Or(c.Lambda, 1))
	c.Subsample = cmp.Or(c.Subsample, 1)
	c.ColSample = cmp.Or(c.ColSample, 1)
	c.ValidShare = cmp.Or(c.ValidShare, 0.15)
	return c
}

// validate names the first field that is out of range. It is asked after
// withDefaults; the negated comparisons also catch NaN.
func (c Config) validate() error {
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{"Rounds", c.Rounds > 0, "positive"},
		{"LearningRate", c.LearningRate > 0 && c.LearningRate <= 1, "in (0, 1]"},
		{"MaxDepth", c.MaxDepth > 0 && c.MaxDepth <= deepest, "1 to 32"},
		{"MaxLeaves", c.MaxLeaves == 0 || c.MaxLeaves >= 2, "0 or at least 2"},
		{"MinLeafRows", c.MinLeafRows > 0, "positive"},
		{"MinLeafWeight", c.MinLeafWeight > 0, "positive"},
		{"MinGain", c.MinGain >= 0, "0 or more"},
		{"Lambda", c.Lambda >= 0, "a number"},
		{"Subsample", c.Subsample > 0 && c.Subsample <= 1, "in (0, 1]"},
		{"ColSample", c.ColSample > 0 && c.ColSample <= 1, "in (0, 1]"},
		{"EarlyStop", c.EarlyStop >= 0, "0 or more"},
		{"ValidShare", c.ValidShare > 0 && c.ValidShare < 1, "in (0, 1)"},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s must be %s", ErrConfig, f.name, f.want)
		}
	}
	return nil
}
