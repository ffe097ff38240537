// Package store defines the storage contract: one interface for each kind of stored data, such as
// observations, receipts, models, savings and campaigns.
//
// It knows the types of packages sizing and campaign, and nothing of SQL, HTTP or learning: a model is
// an opaque blob. Package postgres implements it; package storetest is its conformance suite.
//
// Every method is safe for concurrent use by many goroutines and replicas. Errors carry a
// sizing.Kind: Invalid, NotFound, Conflict, Unavailable (the database cannot serve the call now; the
// call may be repeated) or Internal. If the connection breaks during a commit, a call that returns
// Unavailable may have changed the data.
package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Store is the whole contract.
type Store interface {
	Observations
	Receipts
	Models
	ChangeLog
	Tasks
	TrainingQueue
	Runs
	Audit
	Reconciliation
	Retention
	Savings
	Cohorts
	Campaigns
	RunTimes
	Usage
	Plans

	// Ping checks that the database answers.
	Ping(context.Context) error
}

// Observations stores the reports of ended tries.
type Observations interface {
	// Record stores observations and returns one result per observation, in order. It
	// returns after commit: a recorded observation survives a crash of the service and of
	// the database. After an error it is unknown which observations are stored; the whole
	// call may be repeated safely.
	//
	// The key of a try is unique. A repeated report whose known fields equal the stored ones is a
	// Duplicate. A repeated report that fills unknown fields is Amended. A report that contradicts a known field changes
	// nothing and gets an Err of kind Conflict that names the field. Another prediction id is no contradiction: it is ignored
	// with a warning. A report that contradicts a provisional one, and is not provisional itself, replaces the provisional one
	// (Replaced), and takes over the values of the provisional one that it lacks itself. If
	// only one of two reports is a provisional OOM kill with a time, and the other is a failure that may be this kill, the
	// try becomes or stays an OOM kill (Explained, if the report changes the stored outcome or replaces the stored report).
	// A lift request for a stored try is a Duplicate with the stored Allocated; if a success is stored, the lift request
	// gets an Err of kind Conflict.
	//
	// A DAG run that is deleted and created again is another execution with the same keys of tries. A report is of a later execution
	// if its try started at least a minute after the stored try ended, and if its peak differs or its prediction was made at
	// least a minute after this end. Such a report becomes the report of the try, and the reports of the run's earlier execution get
	// another run id (Superseded). A report of an earlier execution is compared with the stored report of that execution, or stored
	// with another run id (Late). If the start is unknown, PredictedAt takes its place.
	//
	// Record replaces nil features, also in its argument, by those of the newest receipt of the try or else of its run. Without
	// such a receipt it stores the features of a stored report of the run. Times are compared with microsecond precision. A usage
	// series, an executed plan or a context (see ContextRows) amends a try without one, and is ignored otherwise. A detailed
	// series amends a try without a series for plans (see Plans), replaces such a series with longer steps, and is ignored
	// otherwise.
	//
	// Record creates unknown tasks. Each task with a new or amended observation becomes due for
	// training (see TrainingQueue): at once after an OOM kill of a run that is not reproduced, otherwise
	// after the debounce time. A report that only adds a series, a plan or a context does not make its task due.
	Record(context.Context, []sizing.Observation) ([]sizing.RecordResult, error)

	// Void deletes the report of a try as if it had never been made. It returns NotFound if there is
	// none.
	Void(context.Context, sizing.TryKey) error

	// History reads the training rows of a task: all rows if the task has at most limits.Total. Of a
	// longer history it reads the newest limits.Recent rows, the rows with the limits.High highest
	// peaks (OOM kills included), and a fixed sample of the other rows, weighted so that the weights of all rows
	// sum to the full count. If the peak of any row is only sampled, Pairs holds the newest sizing.MaxPairs
	// successes of the namespace with both a measured and a sampled peak. Promised comes from the receipt that the
	// report names, or else from the newest receipt of the try before its end, or else from its oldest receipt
	// in the 24 hours after its end. A try that was killed below the static grant of its plan has no promise.
	// A reproduced run has the time of the archived run and no promise. History returns NotFound if the
	// task is unknown.
	History(ctx context.Context, task sizing.TaskKey, limits HistoryLimits) (sizing.History, error)

	// Since reads the rows that arrived after row `seq`, in order of arrival, at most `limit`. It omits
	// reproduced runs, because they show no recent behaviour.
	Since(ctx context.Context, task sizing.TaskKey, seq int64, limit int) (sizing.History, error)

	// NewestSince reads the rows that arrived after row `seq` and not after row `last`, like Since. If there are more
	// than `limit` such rows, it omits the oldest.
	NewestSince(ctx context.Context, task sizing.TaskKey, seq, last int64, limit int) (sizing.History, error)

	// RecentTries reads the newest tries of a task, at most `limit` of them, oldest first, without Promised,
	// Granted and Pairs. It returns NotFound if the task is unknown.
	RecentTries(ctx context.Context, task sizing.TaskKey, limit int) (sizing.History, error)

	// TriesBefore reads like RecentTries, but only tries that ended at the time `end` or earlier; all tries if `end`
	// is zero.
	TriesBefore(ctx context.Context, task sizing.TaskKey, end time.Time, limit int) (sizing.History, error)

	// RecentTriesOf returns the RecentTries of several tasks of a DAG by task id, read in one
	// snapshot, without Total and LastSeq. It omits unknown tasks.
	RecentTriesOf(ctx context.Context, namespace, dag string, tasks []string, limit int) (map[string]sizing.History, error)

	// NewestRuns summarises the newest runs of several tasks of a DAG by task id, read in one snapshot. It omits unknown
	// tasks and reproduced runs.
	NewestRuns(ctx context.Context, namespace, dag string, tasks []string, limits RunLimits) (map[string]TaskRuns, error)

	// TriesOfRun reads the ended tries of one (run, map index), oldest first, like
	// RecentTries; at most the newest MaxTriesOfRun.
	TriesOfRun(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) (sizing.History, error)

	// Kills lists the OOM-killed tries of one (run, map index), oldest first.
	Kills(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) ([]Kill, error)

	// RunInputs returns the inputs of one (run, map index) up to the given try. MaxMemory is that of the newest receipt,
	// which may have none. Each other field except Static and At has its newest known value: later tries come before earlier
	// ones. Within a try, the request in the report of the OOM kill comes before the receipts of the try, and newer
	// receipts before older ones. The result is zero if nothing is stored.
	RunInputs(context.Context, sizing.TryKey) (RunInputs, error)

	// Series returns the usage series of a try, or NotFound if none is stored. Voiding or
	// removing the report deletes it.
	Series(context.Context, sizing.TryKey) (sizing.Series, error)

	// ContextRows reads successes and OOM kills with their context: the metadata, the mean usage
	// and the placement (node type, load of the cluster) of the report. It takes the newest rows of
	// every task of a namespace, at most `perTask` of each, and returns the newest of them, at most `limit`,
	// oldest first. Like a series, the first context of a try stays. A task stores its newest MaxMetadataSets different sets
	// of metadata. A report with a further set gets a warning, and the rows with the oldest set lose their metadata.
	ContextRows(ctx context.Context, namespace string, perTask, limit int) ([]sizing.ContextRow, error)

	// SchedulingFailures lists the allocations of the task's newest tries that ended Unschedulable since a time,
	// oldest first, at most `limit`. It omits unknown allocations.
	SchedulingFailures(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]SchedulingFailure, error)

	// KillsAtCap lists the OOM kills with an allocation from `least` to `most` that ended after the last success of the
	// task, newest first, at most the newest thousand. It omits a kill if a later try of the same run and map
	// index got a larger allocation, and it ignores reproduced runs.
	KillsAtCap(ctx context.Context, task sizing.TaskKey, least, most sizing.Bytes) ([]sizing.TryKey, error)
}

// HistoryLimits bounds the rows of a History: Total in all, the Recent newest, and those with the
// High highest peaks. Zero fields take the values of DefaultHistoryLimits, and a Total below MinHistoryTotal becomes
// MinHistoryTotal. If Recent + High is then not below Total, Recent becomes 2/5 and High 1/10 of Total, but at least 1.
type HistoryLimits struct{ Total, Recent, High int }

// MinHistoryTotal is the smallest Total of HistoryLimits: the newest row, the row with the highest peak, and one row of
// the sample, whose weight makes all weights sum to the full count.
const MinHistoryTotal = 3

// DefaultHistoryLimits are the limits of training. The cost of a training does not grow beyond Total
// rows.
var DefaultHistoryLimits = HistoryLimits{Total: 20_000, Recent: 8_000, High: 2_000}

// MaxMetadataSets bounds the different sets of metadata of a task.
const MaxMetadataSets = 64

// MaxTriesOfRun bounds the tries that TriesOfRun reads.
const MaxTriesOfRun = 50

// Kill is one OOM-killed try.
type Kill struct {
	Try       int          // number of the try, from 1
	Allocated sizing.Bytes // the peak if the allocation is unknown; 0 if both are unknown
	Outcome   sizing.Outcome
	Peak      sizing.Bytes // the larger of the measured and the sampled peak; 0 if both are unknown
	At        time.Time    // the end of the try; see sizing.HistoryRow
}

// RunInputs are the inputs that callers sent for a run. Zero fields are unknown.
type RunInputs struct {
	Requested sizing.Resources
	MaxMemory sizing.Bytes // the caller's cap; see sizing.Ask
	Features  sizing.Features
	Static    sizing.Bytes // the largest static grant of the answers with a memory plan
	At        time.Time    // of the newest receipt of the given try
}

// SchedulingFailure is an allocation that fitted no node.
type SchedulingFailure struct {
	Memory sizing.Bytes
	At     time.Time // the end of the try; see sizing.HistoryRow
}

// GrantedTry is one answer to a try, with the outcome of the try.
type GrantedTry struct {
	RunID       string
	MapIndex    int
	Try         int
	Promised    *float64        // the promised risk of an OOM kill; nil if the answer has none
	BeforeGuard *float64        // the promised risk without the guard's factor; nil if unknown
	RunScore    float64         // see sizing.Observation
	Limit       sizing.Bytes    // the granted limit
	Lifted      bool            // the answer is an enforced lift after a kill of the run
	At          time.Time       // of the answer
	Outcome     sizing.Outcome  // UnknownOutcome if the try is not reported
	Features    sizing.Features // only of tries that are not reported; nil if unknown
	Planned     bool            // the memory follows a plan; only of tries that are not reported, or were OOM-killed below Limit
}

// Cohorts stores the cohort of each namespace: the model that sizes its tasks without history.
type Cohorts interface {
	// PublishCohort stores c as the next version of its namespace if the stored version is still
	// c.Version (0: none). Otherwise it returns Conflict and changes nothing.
	PublishCohort(ctx context.Context, c Cohort) (version int, err error)
	// Cohort returns the cohort of a namespace, or NotFound if none is stored.
	Cohort(ctx context.Context, namespace string) (Cohort, error)
	// CohortVersions returns the version of the cohort of every namespace that has one.
	CohortVersions(context.Context) (map[string]int, error)
	// CohortAge returns the numbers of reports and OOM kills of a namespace at the last training of
	// its cohort, and now. A training uses at most `perTask` reports and `perTask` kills of a task.
	CohortAge(ctx context.Context, namespace string, perTask int) (CohortAge, error)
}

// Cohort is the model of a namespace for its tasks without history. Only package cohort interprets the blob.
type Cohort struct {
	Namespace string
	Version   int // 1, 2, …: assigned by PublishCohort
	Format    int // version of the encoding of Blob
	Blob      []byte
	// Runs and Kills are the numbers of reports, and of OOM kills among them, at the training. They include removed
	// observations; the kills do not include those of reproduced runs.
	Runs, Kills int
	// UsedRuns and UsedKills count like Runs and Kills, but of each task at most as many reports, or kills, as a
	// training uses.
	UsedRuns, UsedKills int
	TrainedAt           time.Time // start of the training
}

// CohortAge holds the numbers of reports and OOM kills of a namespace at the last training of its cohort, and now.
type CohortAge struct {
	Version                   int // 0: none
	Format                    int
	LearnedRuns, LearnedKills int  // UsedRuns and UsedKills at the training
	Runs, Kills               int  // now; see Cohort
	UsedRuns, UsedKills       int  // now; see Cohort
	HasNewProfiles            bool // usage profiles were found after the cohort was trained
}

// Receipts stores the receipts of answers.
type Receipts interface {
	// SaveReceipts stores all receipts or none. It ignores a receipt whose prediction id is
	// already stored.
	SaveReceipts(context.Context, []sizing.Receipt) error
	// Receipt returns the receipt of a prediction id, or NotFound if there is none.
	Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error)
	// ReceiptOfTry returns the receipt in force when a try ran: the receipt that its report names, or else the newest from
	// before its end, or else, because the reporter's clock may be slow, the oldest of the 24 hours after it. Without
	// a report it returns the newest receipt. It returns NotFound if there is none of these.
	ReceiptOfTry(context.Context, sizing.TryKey) (sizing.Receipt, error)
	// Realised compares the promised risks of first tries with their outcomes, over the newest receipts of the task, at
	// most `limit` of them, without reproduced runs and without kills below the static grant of a plan. The caller sets Low and High.
	Realised(ctx context.Context, task sizing.TaskKey, limit int) (sizing.RealisedRisk, error)
	// Promises lists the promised risks of first tries that succeeded or were OOM-killed, in the
	// order in which the outcomes were reported. They are the evidence for or against the active
	// model. It reads the newest receipts of first tries, at most `limit` of them, and omits withdrawn versions,
	// receipts from before the last manual activation or the last RollBack, whichever is later, reproduced runs, and kills
	// below the static grant of a plan.
	Promises(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.Promise, error)
	// GrantedTries lists the newest answers to tries of a task since a time, oldest first,
	// at most `limit`. It omits predictions without a run id, which are no tries, and reproduced runs.
	GrantedTries(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]GrantedTry, error)
	// RecentTasks lists the tasks of the newest receipts, at most `limit` receipts, newest first.
	RecentTasks(ctx context.Context, limit int) ([]sizing.TaskKey, error)
	// CountUnreported reads the newest receipts of first tries whose prediction ids are below `before` in byte order, at
	// most `limit` receipts. It counts their tries, and how many of these tries are not reported. It ignores receipts
	// without a run id.
	CountUnreported(ctx context.Context, before string, limit int) (tries, unreported int, err error)
}

// Tasks stores the tasks and their policies.
type Tasks interface {
	// Tasks lists the profiles (summaries) of at most `limit` tasks, ordered by (namespace, dag, task),
	// after the given key (zero: from the start). Namespace "" means all namespaces.
	Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error)
	// TasksBrief lists profiles like Tasks, without the request, the schema, and the quantiles of
	// memory (except Max) and seconds. These quantiles would need thousands of observations per task.
	TasksBrief(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error)
	// Task returns the profile of a task, or NotFound if the task is unknown. Its counts include removed
	// observations. The caller sets Group, Bins, Realised, Ambiguous and Quarantined.
	Task(context.Context, sizing.TaskKey) (sizing.Profile, error)
	// Owners returns the owner of each task of a namespace ("" for all), from the newest set of
	// metadata that has the entry "owner". It omits tasks without an owner.
	Owners(ctx context.Context, namespace string) (map[sizing.TaskKey]string, error)
	// Policies returns all policies that are set.
	Policies(context.Context) (map[sizing.TaskKey]sizing.Policy, error)
	// Policy returns one policy, or the zero Policy if none is set.
	Policy(context.Context, sizing.TaskKey) (sizing.Policy, error)
	// SetPolicy replaces the policy of a task. It creates the task if it is unknown.
	SetPolicy(context.Context, sizing.TaskKey, sizing.Policy) error
	// DeleteTask deletes the task and its data, except its audit trail. It returns NotFound if the task is unknown.
	DeleteTask(context.Context, sizing.TaskKey) error
	// Rename moves the data of a task to another name, except its audit trail. It returns NotFound if `from` is
	// unknown, and Conflict if `to` exists.
	Rename(ctx context.Context, from, to sizing.TaskKey) error
}

// TrainingQueue records when each task is due for training, and leases due tasks.
type TrainingQueue interface {
	// MarkDue makes a task due at a time, unless it is due earlier. It returns NotFound if the task is
	// unknown.
	MarkDue(ctx context.Context, task sizing.TaskKey, at time.Time) error
	// Claim leases the task that has been due longest, or returns NotFound if none is due. Another
	// owner may claim the task after the lease expires.
	Claim(ctx context.Context, owner string, lease time.Duration) (Claim, error)
	// Renew extends a lease. It returns Conflict if the lease was lost.
	Renew(ctx context.Context, c Claim, lease time.Duration) error
	// Finish releases a claim. Observations recorded after the claim keep the task due. After a
	// failure, the caller passes the time of a retry, and the task is due at that time at the latest; a
	// zero time means no retry. Finish returns Conflict if the lease was lost.
	Finish(ctx context.Context, c Claim, retry time.Time) error
	// Backlog returns the number of due tasks, and for how long the first of them has been due.
	Backlog(context.Context) (Backlog, error)
}

// Backlog describes the tasks that wait for training.
type Backlog struct {
	Waiting int           // due tasks; a claimed task counts only if it is due again
	Oldest  time.Duration // the time for which the first of them has been due; 0 if none is due
}

// Claim is one leased task.
type Claim struct {
	Task  sizing.TaskKey
	Owner string
	Token int64 // changes with every claim of the task, so that an owner that lost its lease cannot finish a later claim
}
