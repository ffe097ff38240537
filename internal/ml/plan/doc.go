// Package plan learns how the memory of a task grows during its runs, and plans limits that
// grow with it instead of starting at the peak.
//
//	curves of earlier runs ─▶ envelopes by elapsed time and by level ─┐
//	static grant ─────────────────────────────────────────────────────┴─▶ rules ─▶ limit(t, level)
//	replay of every rule on each run after the first, before its curve is learned ─▶ risk and cost per rule
//
// A limit only grows. It should cover the memory that the run can reach before the next resize is in
// force. The time until then is the horizon: the time between two reads of the usage plus the
// reaction time. A level is the largest memory of a run so far. A curve has the levels of a run in steps of
// equal width; an envelope summarises curves. A rule sets the limit to the static grant, to a share of it, or to an
// estimate of the level at the end of the horizon, which is derived from earlier runs. The limit keeps a headroom above
// the current level. A rule is evaluated on whole runs: if a curve is above the limit in one step, the run counts as
// killed. The replay has a tight static grant, so that the kill rate holds for larger grants. Cores chooses CPU requests, which
// may also fall.
//
// The package handles numbers only: no tasks, clock or I/O. The same runs give the same plans.
package plan
