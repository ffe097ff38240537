// Package gbt implements histogram-based gradient-boosted trees, like LightGBM (Ke et al.
// 2017) and XGBoost (Chen & Guestrin 2016).
//
//	table ─▶ Binned ─▶ histograms ─▶ split ─▶ grower ─▶ boosting ─▶ forest
//	         codes     Σg Σh n per    best     growing    loss by     flat nodes:
//	         0…255     bin, column    gain     nodes      loss        predict, explain, bytes
//
// The losses are squared error and quantile (Regressor) and softmax (Classifier). Cuts are
// raw values, so prediction needs no binning. A missing value (NaN) follows the direction
// learned at its node.
//
// The package handles numbers only: no tasks, memory amounts, clock or I/O. The same rows,
// Config and Seed give the same model, bit for bit.
package gbt
