// Package stories runs plain-text behaviour tests against the real service on a real
// PostgreSQL. It is for tests only and may import every package.
//
// A story is a text file. Each line executes one step and states the expected result:
//
//	verb   dag.task  key=value …  [xN]   [=> expectation …]
//
//	observe  etl.load  rows=1e6..5e6 peak=1Gi..5Gi requested=64Gi x40   => new
//	train    etl.load                                                    => published
//	predict  etl.load  rows=2e6 requested=64Gi                           => model 2Gi..3Gi
//
// The verbs:
//
//	observe        report a try: outcome= (default success) peak= at= duration= cpu=
//	oom            observe with outcome=oom_killed; at= is the allocation of the try
//	unschedulable  observe with outcome=unschedulable
//	predict        request a prediction; without run= it is an ad-hoc look-up
//	lift           request a lift after a kill (reason=, default oom_killed) at the allocation at=
//	train          train now
//	policy         set mode= floor= cap= risk= lifts= never_above= ; the others get their defaults
//	void           delete the report of a try
//	task           read the profile of the task
//	wait 2h        advance the clock
//	restart        start a new process on the same database
//
// For all verbs, run= map= try= name the try (observe creates a new run if run= is missing),
// requested= and cap= are the static request and the caller's cap, and every other key is a
// feature. xN repeats the step N times; a=lo..hi then takes values between lo and hi in a fixed
// mixed order, the same for all keys, so that a=1..5 and b=10..50 stay proportional.
//
// An expectation is a word of the answer (its source, mode, verdict or error kind; new,
// duplicate, amended, published, unpublished), or a comparison: 2Gi, 2Gi..3Gi and <=3Gi compare
// the granted memory, and promised<=0.02 any other number of the answer. An unexpected error
// fails the story. A # starts a comment.
package stories
