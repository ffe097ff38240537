// Package experts decides how far above a prediction to allocate, by replay.
//
// Several models predict the log of a peak. Each has ways to spread its honest
// residuals (those of rows it was asked about before it was told), and each
// spread is read at several prices per kill: that makes an expert.
//
//	row ─▶ Point (what the models say) ─▶ 8 models × 5 spreads × 11 prices
//	                                          │ every expert is charged with every
//	told peak ────────────────────────────────┤ row: kills whole, retries too
//	                                          ▼
//	Choice: the experts of least cost whose kill rate so far is within the risk,
//	        averaged by how near their cost is to the least
//
// Nothing here is tuned to a distribution: what did cheapest on what came later
// decides (prediction with expert advice, Cesa-Bianchi & Lugosi 2006; residual
// quantiles are those of split conformal prediction, Vovk et al. 2005).
//
// It knows numbers only: no tasks, no units, no clock, no I/O, no randomness.
package experts
