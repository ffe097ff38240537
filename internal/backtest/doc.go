// Package backtest replays a history in time order and measures the memory that each policy would have
// wasted. In this package a policy is a rule that sizes tries, and not the settings of a task. The policies are
// loadaware's own policy and simpler rules (baselines), with which it is compared.
//
//	            ┌── Question: try, features, request ──▶ Policy.Predict ──▶ Answer
//	Trace ──row─┤                                                            │ below the peak: Learn a kill, then Predict a lift
//	            └── Outcome: peak or kill ─────────────▶ Policy.Learn ◀──────┘ sufficient: Learn the peak, at once or (delayed feedback) when the try ends
//
// The types prevent look-ahead: a Question has no peak, and a policy receives the Outcome of a try only after the
// replay has added the costs of its Answer to the sums. With delayed feedback a policy still learns a kill before the
// next row, although other tries may start before the killed try has ended. Therefore the replay kills fewer of the
// tries that start together than the service would.
//
// The package depends on the models and on source/file, but not on servers or stores.
package backtest
