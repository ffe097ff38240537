// Package gbt grows gradient-boosted trees on histograms, in the manner of
// LightGBM (Ke et al. 2017) and XGBoost (Chen & Guestrin 2016), and serves them.
//
//	table ─▶ Binned ─▶ histograms ─▶ split ─▶ grower ─▶ boosting ─▶ forest
//	         codes     Σg Σh n per    best     growing    loss by     flat nodes:
//	         0…255     bin, column    gain     nodes      loss        predict, explain, bytes
//
// Losses: squared error and quantile (Regressor), softmax (Classifier). Cuts are
// raw values, so that predicting needs no binning; a missing value (NaN) follows
// the direction learned at its node.
//
// It knows numbers only: no tasks, no bytes of memory, no clock, no I/O. The same
// rows, Config and Seed give the same model, bit for bit.
package gbt
