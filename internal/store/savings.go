package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Savings reads the savings ledger: sums per task and UTC day over all recorded reports,
// except voided ones and those of reproduced runs. A sum still includes observations that retention has
// removed. Deleting a task deletes its sums.
type Savings interface {
	// SavingsSums adds up the ledger over the tasks and days of a filter. It returns one sum per
	// value of the key, ordered by that value.
	SavingsSums(ctx context.Context, f SavingsFilter, by SavingsKey) ([]SavingsSum, error)
	// SumMonths stores, per task and calendar month, the sums of the days before the UTC day `before`. It does this for at most
	// `limit` tasks whose stored sums end before that day, and returns the number of these tasks. It skips tasks that a report is
	// changing now. It makes SavingsSums and TaskUsage faster and does not change what they return.
	SumMonths(ctx context.Context, before time.Time, limit int) (tasks int, err error)
	// Baselines lists the static requests of the tasks of a filter in the order of Tasks. It
	// ignores the days of the filter.
	Baselines(ctx context.Context, f SavingsFilter) ([]Baseline, error)
	// TaskUsage summarises the usage of every task of a namespace ("" for all) over all days, in the
	// order of Tasks. It omits tasks without a success with a measured or sampled peak.
	TaskUsage(ctx context.Context, namespace string) ([]sizing.Usage, error)
	// PeakSample selects the runs whose last try is in a fixed uniform sample of at most `limit` tries of the task. Of these
	// it returns those with a success of known peak, and those that were OOM-killed and never succeeded. It returns
	// NotFound if the task is unknown.
	PeakSample(ctx context.Context, task sizing.TaskKey, limit int) ([]PeakRow, error)
}

// SavingsKey is the key by which the ledger is summed.
type SavingsKey string

// The keys. A sum by task has its namespace and DAG, a sum by DAG its namespace.
const (
	ByDay      SavingsKey = "day"
	ByDAG      SavingsKey = "dag"
	ByTask     SavingsKey = "task"
	ByOwner    SavingsKey = "owner"
	ByDAGOwner SavingsKey = "dag_owner" // one sum for each DAG and owner
	ByAll      SavingsKey = ""          // one sum over everything; no sum if there are no tries
)

// Scope selects the tasks of a namespace whose DAG id begins with DAGPrefix. An empty field selects all.
type Scope struct{ Namespace, DAGPrefix string }

// SavingsFilter selects tasks and days.
type SavingsFilter struct {
	Scopes    []Scope   // selects tasks in at least one of these; no tasks if empty
	Namespace string    // all if empty
	DAG, Task string    // all if empty
	From, To  time.Time // selects the UTC days in [From, To); a zero time does not limit
	// Monthly makes SavingsSums return one sum per key and calendar month, ordered by month first. The Day
	// of a sum is the first day of its month.
	Monthly bool
}

// SavingsSum is the sum over the tries of one key. Memory is in GB·h (GB = 1e9 bytes), CPU in core
// hours. The memory allocation of a try is the mean limit of its executed plan, or else the reported allocation, or
// else the reported request. Its peak is the measured one, or else the sampled one. A nil amount is unknown, because
// no try reported the values from which the amount is computed.
type SavingsSum struct {
	Day       time.Time // zero unless grouped by day or month
	Task      sizing.TaskKey
	Owner     string    // of the tasks' metadata; empty if unknown
	First     time.Time // the first day with a try
	Last      time.Time // the last day with a try
	Tries     int
	Successes int
	Kills     int // OOM kills

	Unaccounted int // not accounted: successes and kills without a duration or an allocation
	Unmeasured  int // not measured: successes without a duration or a peak; Used omits them

	Hours     *float64 // durations of the accounted successes
	Requested *float64 // static request × duration of the accounted successes, of the tasks with a known request
	Granted   *float64 // allocation × duration of the accounted successes
	Used      *float64 // peak × duration of the measured successes
	UsedHours *float64 // durations of the successes in Used
	Killed    *float64 // allocation × duration of the accounted OOM kills
	Wasted    *float64 // (allocation − peak) × duration of the accounted, measured successes, plus Killed
	Saved     *float64 // Requested − Granted − Killed + NoRequest
	NoRequest float64  // the part of Granted + Killed of tasks whose request is unknown
	SavedCPU  *float64 // requested − granted − killed core hours, over the tries whose CPU request and allocation are known
}

// Baseline is the static request of a task against which its savings are counted: its first known
// request. Zero amounts and times are unknown.
type Baseline struct {
	Task     sizing.TaskKey
	Request  sizing.Resources
	MemoryAt time.Time       // when Request.Memory was first seen
	CPUAt    time.Time       // when Request.CPU was first seen
	Changes  []RequestChange // later requests, oldest first; the last one of each day
}

// RequestAt returns the static request at a time.
func (b *Baseline) RequestAt(t time.Time) sizing.Resources {
	request := b.Request
	for _, c := range b.Changes {
		if c.At.After(t) {
			break
		}
		request = c.Request
	}
	return request
}

// RequestChange is a static request that replaced an earlier one.
type RequestChange struct {
	At      time.Time
	Request sizing.Resources
}

// PeakRow is one run: the tries of one run id and map index.
type PeakRow struct {
	Peak     sizing.Bytes  // the largest measured or sampled peak; if IsKilled, a lower bound of the peak
	Duration time.Duration // of the longest success or, if no success has a known duration, of the longest OOM kill; 0 if unknown
	IsKilled bool          // some tries were OOM-killed, and none succeeded
}
