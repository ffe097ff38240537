package store

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// RunLimits bounds a read of the newest runs of a task. The store reads the newest Tries tries that ended at Since or
// later, and summarises the newest Runs runs of these tries.
type RunLimits struct {
	Since  time.Time // zero: no bound
	Tries  int
	Runs   int
	Sample int // number of successes in TaskRuns.Sample
}

// TaskRuns describes the newest runs of a task, which may have thousands of mapped instances.
type TaskRuns struct {
	Sample sizing.History // a uniform sample of the successes that were read, oldest first, without Total, LastSeq and Pairs
	Runs   []TaskRun      // in any order
	Since  time.Time      // each run that started after this time was read; RunLimits.Since, or later if Tries or Runs omitted runs
}

// TaskRun summarises the tries of a task in one run of its DAG. Only successes with a known duration count as instances; of an
// instance that was cleared and succeeded again only the first success counts.
type TaskRun struct {
	RunID      string
	Start, End time.Time     // Start: of the first instance, or the end of an earlier try that is no instance; End: of the last instance, zero without instances
	Instances  int           // number of instances
	Longest    time.Duration // the longest run time of an instance
	Features   []float64     // of the instance with the longest run time
	HasFailed  bool          // a try ended without success
	IsPartial  bool          // older tries of the run were not read
}
