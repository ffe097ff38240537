package store

import (
	"context"

	"github.com/loadaware/loadaware/internal/sizing"
)

// ChangeLog lists what changed, so that a replica that missed notifications need not read all
// tasks.
type ChangeLog interface {
	// ChangedSince lists the tasks that were created or deleted, or got another active version, policy
	// or name, since the Watermark of an earlier call. It misses no change, except that names which a deletion
	// or a rename freed may be missing after a day. It may list again changes that committed around the
	// earlier call. With since = 0 it lists no tasks and returns a Watermark.
	ChangedSince(ctx context.Context, since int64) (ChangedTasks, error)
}

// ChangedTasks are the changes since a watermark.
type ChangedTasks struct {
	Watermark int64 // for the next call; if it is lower than the last one, the database was replaced
	Tasks     []ChangedTask
}

// ChangedTask is the present state of a changed task.
type ChangedTask struct {
	Task    sizing.TaskKey
	Version int // the active version; 0 if there is none
	Policy  sizing.Policy
	IsGone  bool // a deletion or a rename freed the name; another task may have it now
}
