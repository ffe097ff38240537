// Package gbt implements histogram-based gradient-boosted trees, like LightGBM (Ke et al.
// 2017) and XGBoost (Chen & Guestrin 2016).
//
//	table ─▶ BinnedTable ─▶ histograms ─▶ split ─▶ grower ─▶ booster ─▶ forest
//	         codes          Σg Σh n per    best     growing   rounds     flat nodes:
//	         0…255          bin, column    gain     nodes     of trees   predict, explain, bytes
//
// g and h are the first and second derivatives of the loss at a row, and n counts rows. The losses
// are squared error and quantile (Regressor) and softmax (Classifier). Cuts are raw values, so
// a model predicts without the bins of its training table. A missing value (NaN) follows the direction learned
// at its node.
//
// The package handles numbers only: no tasks, memory amounts, clock or I/O. The same rows
// and Config, which has the seed, give the same model, bit for bit.
package gbt

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrConfig reports an invalid Config.
var ErrConfig = errors.New("gbt: invalid config")

// Config holds the hyperparameters. The zero value suits a table with a few dozen to tens of
// thousands of rows.
type Config struct {
	Rounds       int     // largest number of boosting rounds; 100 if zero
	LearningRate float64 // shrinkage of leaf values; 0.1 if zero
	MaxDepth     int     // largest number of splits from root to leaf; 4 if zero, at most 32
	MaxLeaves    int     // largest number of leaves per tree, best gain first; unlimited if zero

	MinLeafRows   int     // least number of rows in a leaf; 5 if zero
	MinLeafWeight float64 // least Σ hessian in a leaf (Σ weight in regression); 1e-3 if zero
	MinGain       float64 // a split must have a larger gain; the gain is twice the reduction of the penalised loss
	Lambda        float64 // L2 penalty on leaf values; a quantile fit uses it in the gains of splits only. 1 if zero, none if negative

	Subsample float64 // share of rows sampled per round; 1 if zero
	ColSample float64 // share of columns sampled per tree; 1 if zero

	// MaxBins is the number of bins per column without the missing bin, 2 to 255. If it is zero, the number is rows/16, but
	// at least 64 and at most 255. A fit on a Sample ignores it, because a Sample is binned already.
	MaxBins int

	EarlyStop int // rounds without improvement before stopping; never if zero

	// ValidShare is the share of rows held out at random for early stopping if no validation rows are given; 0.15 if it is
	// zero. If the rows are in order of time, give the newest ones as validation rows instead.
	ValidShare float64

	Seed uint64 // seed of all random numbers
}

const maxDepth = 32 // bounds the recursion in Explain and UnmarshalBinary

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

// validate returns an error that names the first field out of range; it does not check MaxBins, which NewBinned checks. Call
// it after withDefaults. Every comparison is false for NaN, so NaN is out of range.
func (c Config) validate() error {
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{"Rounds", c.Rounds > 0, "positive"},
		{"LearningRate", c.LearningRate > 0 && c.LearningRate <= 1, "in (0, 1]"},
		{"MaxDepth", c.MaxDepth > 0 && c.MaxDepth <= maxDepth, "1 to 32"},
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
