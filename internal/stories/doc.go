// Package stories runs plain-text stories of behaviour over time against the real
// service on a real PostgreSQL. It is for tests only, and may know every room.
//
// A story is a file; each line does one thing, and says what must come of it:
//
//	verb   dag.task  key=value …  [xN]   [=> expectation …]
//
//	observe  etl.load  rows=1e6..5e6 peak=1Gi..5Gi requested=64Gi x40   => new
//	train    etl.load                                                    => published
//	predict  etl.load  rows=2e6 requested=64Gi                           => model 2Gi..3Gi
//
// The verbs:
//
//	observe        a try ended: outcome= (success if not said) peak= at= duration= cpu=
//	oom            observe with outcome=oom_killed; at= is what the try had
//	unschedulable  observe with outcome=unschedulable
//	predict        how much? Ad hoc unless run= is said
//	lift           after a kill (reason=, oom_killed if not said) with at= : how much now?
//	train          train now
//	policy         mode= floor= cap= risk= lifts= never_above= : all others by default
//	void           take the report of a try back
//	task           what is known of the task
//	wait 2h        the clock moves on
//	restart        a new process on the same database
//
// Of all verbs: run= map= try= name the try (observe makes up a new run where none
// is said), requested= and cap= are the request and the caller's cap, and every
// other key is a feature. With xN the step is done N times, and a=lo..hi runs from
// lo to hi over them, in a fixed mixed order, so that a=1..5 and b=10..50 stay
// proportional.
//
// An expectation is a word of the answer (its source, mode, verdict or kind of
// error; new, duplicate, amended, published, unpublished), or a comparison: 2Gi,
// 2Gi..3Gi and <=3Gi ask for the memory granted, and promised<=0.02 for any other
// number of the answer. An error that was not expected fails the story. A # begins
// a comment.
package stories
