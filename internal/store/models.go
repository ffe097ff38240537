package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Model is a stored model. Only package taskmodel interprets the blob.
type Model struct {
	Task         sizing.TaskKey
	Version      int    // 1, 2, …: assigned by Publish
	Family       string // kind of the model, such as experts
	Format       int    // version of the encoding of Blob
	Blob         []byte // contains its own checksum
	Share        []byte // what the task contributes to the pool of its DAG; read only by Shares and NamespaceShares; nil for models of earlier releases
	Observations int    // number of reports of the task at the training, including those that retention removed
	LastSeq      int64  // seq of the newest report of the task at the training
	TrainedAt    time.Time
	Evaluation   []byte // JSON: the evaluation that selected the model
	Active       bool
	PinnedBy     string // who pinned the version, or Watchdog after a rollback; empty if it is not pinned
	Withdrawn    bool   // RollBack excluded the version from later rollbacks, until a person activates it
}

// Models stores the model versions of each task. At most one version of a task is active.
type Models interface {
	// Publish stores m as the next version and activates it if the active version still equals
	// `expected` (0: no active version) and no person has pinned the active version. Otherwise it returns
	// Conflict and changes nothing. It removes a pin of the watchdog and notifies the callers of Changes. It keeps the
	// newest KeepVersions versions and up to KeepMilestones older milestones, and deletes all others.
	Publish(ctx context.Context, m Model, expected int) (version int, err error)
	// Activate activates a stored version and pins it, which blocks Publish until Unpin.
	// It returns NotFound if the version is not stored.
	Activate(ctx context.Context, task sizing.TaskKey, version int) error
	// Unpin lets Publish replace the active version again. It returns NotFound if the task is
	// unknown, and no error if nothing is pinned.
	Unpin(ctx context.Context, task sizing.TaskKey) error
	// RollBack activates an older version, because significantly more tries of the active version
	// were killed than promised, and pins the older version for the watchdog. It returns Conflict if
	// r.From is not active, and NotFound if r.To is not stored; both change nothing.
	RollBack(ctx context.Context, r Rollback) error
	// Model returns a stored version with its blob, or NotFound if it is not stored.
	Model(ctx context.Context, task sizing.TaskKey, version int) (Model, error)
	// ActiveModel returns the active model with its blob, or NotFound if there is none.
	ActiveModel(ctx context.Context, task sizing.TaskKey) (Model, error)
	// ModelVersions lists the stored versions, newest first, without blobs.
	ModelVersions(ctx context.Context, task sizing.TaskKey) ([]Model, error)
	// ActiveVersions returns the active version of every task with an active model.
	ActiveVersions(context.Context) (map[sizing.TaskKey]int, error)
	// Shares calls `each` for every active model of the DAG of `task`; it ignores task.Task. The Model has
	// only its Task, Version, Share and Active, and its Blob if the Share is nil. Shares stops at the
	// first error that `each` returns.
	Shares(ctx context.Context, task sizing.TaskKey, each func(Model) error) error
	// NamespaceShares calls `each` for every active model with a Share in a namespace, in the order of the DAGs and tasks.
	// The Model has only its Task, Version, Share and Active. NamespaceShares stops at the first error that `each` returns.
	NamespaceShares(ctx context.Context, namespace string, each func(Model) error) error
	// Unpublished lists the tasks with observations and without an active model.
	Unpublished(context.Context) ([]sizing.TaskKey, error)
	// Changes calls `changed` after every publication, activation, rollback, policy change, rename and
	// deletion by any replica. It returns an error when ctx ends or the connection breaks. It calls
	// `ready` once, when it listens: from then on it misses no change.
	Changes(ctx context.Context, ready func(), changed func(sizing.TaskKey)) error
}

// Rollback is a decision of the watchdog to return to an older version.
type Rollback struct {
	Task      sizing.TaskKey
	From, To  int   // the active version; the older version that becomes active
	Withdrawn []int // versions excluded from later rollbacks, until a person activates them
	Reason    string
}

// These constants say which versions of a task stay for a rollback: the newest KeepVersions, and
// before them the milestones, which are the multiples of MilestoneEvery among the newest
// KeepMilestones · MilestoneEvery versions. Without milestones a task that trains after every run
// would lose its older models within six runs.
const (
	KeepVersions   = 6
	KeepMilestones = 4
	MilestoneEvery = 16
)
