// Package stories runs plain-text behaviour tests against the real service on a real
// PostgreSQL. It is for tests only and may import every package.
//
// A story is a text file. Each line executes one step and gives the expected result:
//
//	verb   dag.task  key=value …  [xN]   [=> expectation …]
//
//	observe  etl.load  rows=1e6..5e6 peak=1Gi..5Gi requested=64Gi x40   => new
//	train    etl.load                                                    => published
//	predict  etl.load  rows=2e6 requested=64Gi                           => model 2Gi..3Gi
//
// The verbs:
//
//	observe        report a try: outcome= (default success) peak= duration= (s, default 300) cpu= at= (the allocation)
//	oom            the same with outcome=oom_killed
//	unschedulable  the same with outcome=unschedulable
//	predict        request a prediction; without run= the request names no run
//	lift           request a lift after a try with the allocation at= and the outcome reason= (default oom_killed)
//	train          train the task now: published if this publishes a model, unpublished if not
//	policy         set the policy: mode= floor= cap= risk= lifts= never_above= (defaults if missing)
//	void           delete the report of a try
//	task           read the details of the task
//	wait 2h        advance the clock by a duration without spaces and decimal points
//	restart        replace the service by a new one on the same database, like a new process, and wait until it is ready
//
// For all verbs about a try, run= map= try= identify the try (observe creates a new run if run= is
// missing), requested= is the static request, and cap= is the caller's cap. A key that is neither one of these nor
// listed for observe or lift is a feature. void ignores all keys except run=, map= and try=.
// xN repeats the step N times. A key with a range lo..hi then takes N evenly spaced values from lo to hi
// in a fixed order. The order is the same for all keys, so that a=1..5 and b=10..50 stay proportional.
//
// An expectation is a word of the answer or a comparison. The words are the source and the mode of a
// prediction, the verdict of a lift, retry if the lift allows one, the group of a task, the kind of an error, and the
// results of the other verbs: new, duplicate or amended (observe), published or unpublished (train), set (policy), voided
// (void), later (wait) and ready (restart). The comparisons 2Gi, 2Gi..3Gi and <=3Gi check the granted memory;
// promised<=0.02 checks another number of the answer. The other numbers are request, cpu, rungs (of the ladder), promised,
// shadow and version of a prediction; attempt, left (attempts) and shadow of a lift; version of a training; observations,
// kills and largest (peak) of a task. An unexpected error fails the story. A # starts a comment.
package stories
