// Package experts chooses the safety margin above a predicted peak. It uses prediction
// with expert advice (Cesa-Bianchi & Lugosi 2006) over margins from quantiles of
// out-of-sample residuals, as in split conformal prediction (Vovk et al. 2005).
//
// Several models predict the log of a peak. Each model has several residual
// distributions, and each distribution is read at several prices per kill. A triple of
// model, distribution and price is an expert.
//
//	row ─▶ Point (predictions) ─▶ 8 models × 5 distributions × 11 prices = 440 experts
//	                                          │ every expert is charged for every
//	observed peak ────────────────────────────┤ row: killed tries in full, and retries
//	                                          ▼
//	Picks: the experts whose kill rate is within the risk target, weighted by how close
//	       their cost is to the lowest cost
//
// The rule assumes no distribution: experts are compared by their out-of-sample cost.
//
// The package handles numbers only: no tasks, units, clock, I/O or randomness.
package experts
