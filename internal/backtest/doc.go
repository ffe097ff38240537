// Package backtest replays history in order of time, and says what every policy
// would have wasted on it: loadaware's own, and the rivals that it must beat.
//
//	            ┌── Question: try, features, request ──▶ Policy.Predict ──▶ Answer
//	Trace ──row─┤                                                            │ below the peak: a kill, asked again
//	            └── Outcome: how it ended ─────────────▶ Policy.Learn ◀──────┘ holds: the peak, now or at its end
//
// Looking ahead is ruled out by type: a Question has no peak, and an Outcome is
// told only after the answer to its Question was accounted.
//
// It knows the words of sizing, the files of trace and the models of fitting, and
// nothing of servers or stores.
package backtest
