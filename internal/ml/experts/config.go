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

// Config holds the constants of the method. They were measured on traces of four kinds
// and on synthetic workflows. The zero value is not usable: see Default.
type Config struct {
	Target     float64 // share of first tries that may be killed
	KillPrice  float64 // price of one kill, in mean row costs of the pool
	BurnInRows int     // burn-in: the residuals of the first rows are not stored, because models of few rows have unusual errors
	Chance     float64 // number of rows at the target that a few kills beyond the target may be chance for
	Window     int     // residuals per distribution
	Ledger     int     // rows in the ledger, from which the nearest rows are taken
	Near       int     // number of neighbours in predicted level
	Prior      float64 // rows of nominal risk that are mixed into the kill rate of an expert
	Forget     float64 // decay per row of costs and kills
	Blend      float64 // how strongly the average prefers the cheapest expert
	Slack      float64 // multiple of the lowest kill rate that is accepted when no expert is within the target
	Young      int     // number of rows in the cold start: no expert answers before
	ColdPrice  float64 // price of one kill in the cold start
	Reach      float64 // no amount exceeds the largest peak · (1 + Reach/√rows) …
	FirstReach float64 // … or · (1 + FirstReach/rows)
	Step       float64 // step per row of the adaptive target
	Stale      float64 // factor on earlier costs and kills after a change of the task
	Rung       float64 // share of the previous rung's risk that remains at the next rung
	MinStep    float64 // least ratio of one rung to the previous one
	PriorRows  float64 // cold-start prior: degrees of freedom …
	PriorSpan  float64 // … and standard deviation of the log peak
}

// Default returns the constants with the best measured result. The caller sets the target.
func Default(target float64) Config {
	return Config{
		Target: target, KillPrice: 1, BurnInRows: 8, Chance: 60, Window: 500, Ledger: 2000, Near: 100, Prior: 60, Forget: 0.9995, Blend: 20, Slack: 2,
		Young: 32, ColdPrice: 8, Reach: 1, FirstReach: 5, Step: 0.001, Stale: 0.3, Rung: 0.12, MinStep: 1.3, PriorRows: 4, PriorSpan: 0.3,
	}
}
