// Package growth replays runs sample by sample, and compares limits that change during a run with a static
// grant. Every policy plans a run before it learns the series of the run, except two with hindsight.
//
// A series is the usage of one run over time. A run whose memory exceeds its limit is killed and starts again with lifted
// limits. The costs of the policy include the try until the kill. The first run of a task has no plan, because the task
// has no earlier series. The policies learn this run, but it counts in the figures only if Config.Request is set.
package growth
