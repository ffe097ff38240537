// Package store is the contract of what is kept: observations, receipts, models,
// policies, the list of tasks that are due for training, and experiments.
//
// It knows the words of sizing and nothing of SQL, HTTP or learning: a model is
// bytes to it. Package storetest is its exam; package postgres implements it.
//
// Every method may be called at once from many goroutines and many replicas.
// Errors carry a sizing.Kind: NotFound, Conflict, Unavailable (the database cannot
// be reached: nothing was changed), Internal.
package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Store keeps what we saw and what we learned.
type Store interface {
	Observations
	Receipts
	Models
	Tasks
	Due
	Runs
	Audit
	Inquiries
	Retention

	// Ping asks the database for a sign of life.
	Ping(context.Context) error
}

// Observations are what was told of ended tries.
type Observations interface {
	// Record commits every observation that can be, and answers for each, in
	// order. It returns after commit: what it reported as recorded survives a
	// crash of the service and of the database. An error means that nothing of the
	// call is certain, and that the call may be repeated whole.
	//
	// The key of a try is unique. The same try again, saying the same: Duplicate.
	// Filling fields that were not known: Amended. Contradicting any known field:
	// Recorded.Err of kind Conflict, naming the field, and nothing changed. A
	// provisional kill is amended by the report of the same kill, and Replaced by a report
	// of another outcome. Features that are
	// nil are taken from the newest receipt of the same try, else stay unknown.
	// Times count to the microsecond. The first series of a try stays: one that comes
	// later amends where there was none, and else is neither news nor contradiction;
	// it makes no task due. A task that is new is created. Every task
	// that something new was recorded for becomes due (see Due): after an OOM at
	// once, else after the debounce.
	Record(context.Context, []sizing.Observation) ([]sizing.Recorded, error)

	// Void takes a report back as if it had never been made. NotFound if none.
	Void(context.Context, sizing.TryKey) error

	// History reads what is to be learned from, bounded: all rows up to
	// keep.Total; beyond it the newest keep.Recent, the keep.High of the highest
	// peaks and every OOM among them, and of the rest a fixed thinned sample whose
	// weights restore the balance. Where a row's peak was merely sampled, Pairs are
	// the newest PairsKept tries of the namespace whose peak was measured too. Promised
	// is what the receipt says that the report names, or else the newest receipt of the
	// try from before its end; where there is none, the oldest from the day after it.
	// NotFound if the task is unknown.
	History(ctx context.Context, task sizing.TaskKey, keep Keep) (sizing.History, error)

	// Since reads the rows that arrived after seq, oldest first, at most limit.
	Since(ctx context.Context, task sizing.TaskKey, seq int64, limit int) (sizing.History, error)

	// Kills lists the OOM-killed tries of one (run, map index), oldest first.
	Kills(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) ([]Kill, error)

	// Terms are what the callers said of one (run, map index) up to a try: each field as
	// the newest try says it, by the report of its kill or else by its newest receipt.
	// The zero Terms where nothing is stored.
	Terms(context.Context, sizing.TryKey) (Terms, error)

	// Series is what a try used over time; NotFound if none is stored. It goes with
	// the report of the try.
	Series(context.Context, sizing.TryKey) (sizing.Series, error)

	// Refusals lists the task's newest allocations that were Unschedulable since a time,
	// oldest first, at most limit.
	Refusals(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]Refusal, error)

	// KillsAtCap counts the task's OOM kills with at least ceiling allocated since
	// its last success.
	KillsAtCap(ctx context.Context, task sizing.TaskKey, ceiling sizing.Bytes) (int, error)
}

// Keep bounds a History. Zero fields take the defaults of DefaultKeep.
type Keep struct{ Total, Recent, High int }

// DefaultKeep is what training reads: its cost is flat beyond Total rows.
var DefaultKeep = Keep{Total: 20_000, Recent: 8_000, High: 2_000}

// PairsKept bounds the pairs of a History.
const PairsKept = 500

// Kill is one OOM-killed try.
type Kill struct {
	Try       int
	Allocated sizing.Bytes
	At        time.Time
}

// Terms are what callers said of a run. Zero fields are not known.
type Terms struct {
	Requested sizing.Resources
	MaxMemory sizing.Bytes
	Features  sizing.Features
}

// Refusal is an allocation that fitted no node.
type Refusal struct {
	Memory sizing.Bytes
	At     time.Time
}

// Granted is one answer to a try, and what came of the try.
type Granted struct {
	RunID    string
	MapIndex int
	Try      int
	Promised *float64 // nil: nothing was
	Limit    sizing.Bytes
	Lifted   bool // an answer after a kill of the run that was to be applied
	At       time.Time
	Outcome  sizing.Outcome  // UnknownOutcome: not reported
	Features sizing.Features // of tries that were not reported; nil: not known
}

// Receipts are the stored answers.
type Receipts interface {
	// SaveReceipts stores all of them or none. A prediction id that is known is
	// left as it is.
	SaveReceipts(context.Context, []sizing.Receipt) error
	// Receipt finds one by its prediction id; NotFound if none.
	Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error)
	// ReceiptOfTry finds the newest one of a try; NotFound if none.
	ReceiptOfTry(context.Context, sizing.TryKey) (sizing.Receipt, error)
	// Realised compares the promises of first tries, by their receipts, with what
	// was observed of them. The interval is left for the caller to fill. It looks
	// at the newest limit receipts of the task.
	Realised(ctx context.Context, task sizing.TaskKey, limit int) (sizing.Realised, error)
	// Promises are the evidence for or against the active model: what was promised
	// of first tries that have ended, and what came of them, in the order in which
	// the ends were reported. Of the newest limit receipts of first tries those
	// count that a version answered which was not withdrawn, after the task's model
	// was last chosen by hand or by RollBack.
	Promises(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.Promise, error)
	// Granted lists the newest answers to tries of a task since a time, oldest first, at
	// most limit. Answers without a run id are to no try.
	Granted(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]Granted, error)
	// Unreported looks at the newest limit receipts of first tries whose prediction
	// ids are below before, in byte order: how many tries they are of, and of how many
	// of those nothing was ever reported.
	Unreported(ctx context.Context, before string, limit int) (tries, unreported int, err error)
}

// Model is a stored model: bytes that only package fitting understands.
type Model struct {
	Task         sizing.TaskKey
	Version      int // 1, 2, …: given by Publish
	Family       string
	Format       int    // of Blob
	Blob         []byte // carries its own checksum
	Share        []byte // its share of what the tasks of its DAG learn together; nil: an earlier release published it
	Observations int    // rows it learned from
	LastSeq      int64  // the newest observation it learned from
	TrainedAt    time.Time
	Evaluation   []byte // JSON: how it was chosen
	Active       bool
	PinnedBy     string // who chose the active version by hand; empty: it is not pinned
	Withdrawn    bool   // by RollBack
}

// Models are versions per task, of which at most one is active.
type Models interface {
	// Publish stores m as the next version and makes it active, if the active
	// version is still expected (0: none) and not pinned by a person; else Conflict
	// and nothing changed. A pin of the watchdog ends with it. Listeners of Changes
	// are told. Of the old versions beyond the newest KeepVersions only every
	// MilestoneEvery-th stays, and not more than KeepVersions of those. It returns the
	// new version.
	Publish(ctx context.Context, m Model, expected int) (version int, err error)
	// Activate makes a stored version active and pins it: nothing is published over
	// it until Unpin. NotFound if it is not stored.
	Activate(ctx context.Context, task sizing.TaskKey, version int) error
	// Unpin lets trainings publish again; the active version stays until one does.
	// NotFound if the task is unknown; no error where nothing is pinned.
	Unpin(ctx context.Context, task sizing.TaskKey) error
	// RollBack makes a stored version active in place of one that broke its
	// promises, and pins it as the watchdog's. Conflict, and nothing changed, unless
	// r.From is active; NotFound if r.To is not stored.
	RollBack(ctx context.Context, r RollBack) error
	// Model reads a stored version with its blob; NotFound if it is not stored.
	Model(ctx context.Context, task sizing.TaskKey, version int) (Model, error)
	// ActiveModel reads the active model with its blob; NotFound if there is none.
	ActiveModel(ctx context.Context, task sizing.TaskKey) (Model, error)
	// ModelVersions lists the stored versions, newest first, without blobs.
	ModelVersions(ctx context.Context, task sizing.TaskKey) ([]Model, error)
	// ActiveVersions lists the active version of every task that has one.
	ActiveVersions(context.Context) (map[sizing.TaskKey]int, error)
	// Shares calls each with the Task, the Version and the Share of every active model of
	// a DAG (task.Task is ignored), and with its Blob where the Share is nil. An error of
	// each ends it.
	Shares(ctx context.Context, task sizing.TaskKey, each func(Model) error) error
	// Unpublished lists the tasks that have observations and no active model.
	Unpublished(context.Context) ([]sizing.TaskKey, error)
	// Changes calls changed for every publish, activation, policy change, rename
	// and deletion, by any replica, until ctx ends or the connection breaks, which
	// it returns as an error. It calls ready once it is listening: what happened
	// before has to be read by ActiveVersions.
	Changes(ctx context.Context, ready func(), changed func(sizing.TaskKey)) error
}

// RollBack is a decision of the watchdog.
type RollBack struct {
	Task      sizing.TaskKey
	From, To  int
	Withdrawn []int // never gone back to, unless a person activates them
	Reason    string
}

// What is kept of a model for rollback: the newest versions, and milestones, for a
// task that is trained with every run must not forget within ten runs how it was.
const (
	KeepVersions   = 10
	MilestoneEvery = 16
)

// Tasks are the tasks themselves and what people decided for them.
type Tasks interface {
	// Tasks lists profiles ordered by (namespace, dag, task), at most limit, after
	// the given key (zero: from the start). namespace "" lists all.
	Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error)
	// Task is one profile; NotFound if the task is unknown. Counts, quantiles and
	// largest peak are those of the observations, also of removed ones; Group, Realised and
	// Ambiguous are left for the caller to fill.
	Task(context.Context, sizing.TaskKey) (sizing.Profile, error)
	// Policies reads all policies that were set, and Policy one (the zero Policy if
	// none was set). SetPolicy creates the task if it is new.
	Policies(context.Context) (map[sizing.TaskKey]sizing.Policy, error)
	Policy(context.Context, sizing.TaskKey) (sizing.Policy, error)
	SetPolicy(context.Context, sizing.TaskKey, sizing.Policy) error
	// DeleteTask removes the task and all that is stored of it; Rename moves it
	// all to another name. NotFound if from is unknown, Conflict if to exists.
	DeleteTask(context.Context, sizing.TaskKey) error
	Rename(ctx context.Context, from, to sizing.TaskKey) error
}

// Due is the list of tasks whose news are to be learned: one row a task.
type Due interface {
	// MarkDue makes a task due at a time, or earlier if it already is.
	MarkDue(ctx context.Context, task sizing.TaskKey, at time.Time) error
	// Claim leases the task that has been due for longest; NotFound if none is. A
	// lease that was not renewed in time is free to be claimed by others.
	Claim(ctx context.Context, owner string, lease time.Duration) (Claim, error)
	// Renew extends a lease; Conflict if it was lost.
	Renew(ctx context.Context, c Claim, lease time.Duration) error
	// Finish ends a claim. News that came after the claim keep the task due; retry
	// non-zero makes it due again at that time (after a failure). Conflict if the
	// lease was lost.
	Finish(ctx context.Context, c Claim, retry time.Time) error
	// Backlog says how much there is to be claimed.
	Backlog(context.Context) (Backlog, error)
}

// Backlog is what waits for its training.
type Backlog struct {
	Waiting int           // tasks that are due and that nobody has claimed
	Oldest  time.Duration // for how long the first of them has been due; 0 if none is
}

// Claim is one leased task.
type Claim struct {
	Task  sizing.TaskKey
	Owner string
	Token int64 // changes with every claim
}
