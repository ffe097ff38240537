// Package growth replays runs sample by sample, and compares limits that grow during a run with
// a static grant. Every policy plans a run before it learns the series of the run.
//
// A run whose memory exceeds its limit is killed. Its policy is charged for the try until the kill
// and starts again with more. The first run of a task has no earlier series and so no plan. It is
// learned, and counts only if a request is given for first runs.
package growth
