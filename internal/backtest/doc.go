// Package backtest replays a history in time order and measures the memory that each
// policy would have wasted: loadaware's own policy and the baselines it must beat. A policy is here a
// rule that sizes tries, and not the settings of a task.
//
//	            ┌── Question: try, features, request ──▶ Policy.Predict ──▶ Answer
//	Trace ──row─┤                                                            │ below the peak: Learn a kill, then Predict a lift
//	            └── Outcome: peak or kill ─────────────▶ Policy.Learn ◀──────┘ sufficient: Learn the peak, now or at the end
//
// The types prevent look-ahead: a Question has no peak, and a policy receives an
// Outcome only after the replay has accounted for its Answer.
//
// The package depends on the models and on source/file, but not on servers or stores.
package backtest
