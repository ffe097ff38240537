package store

import (
	"context"

	"github.com/loadaware/loadaware/internal/sizing"
)

// ChangeLog lists changed tasks, so that a replica that missed notifications does not have to read all tasks.
type ChangeLog interface {
	// ChangedSince lists the tasks that were created or deleted, or got another active version, policy
	// or name, after the earlier call that returned the Watermark `since`. Only a name that a deletion or a rename
	// freed more than a day ago may be missing. The list may repeat changes that were committed shortly before the
	// earlier call. With since = 0 ChangedSince lists no tasks and returns a Watermark.
	ChangedSince(ctx context.Context, since int64) (ChangedTasks, error)
}

// ChangedTasks are the changes since a watermark.
type ChangedTasks struct {
	Watermark int64 // for the next call; if it is lower than that of the last call, the database was replaced
	Tasks     []ChangedTask
}

// ChangedTask is the present state of a changed task.
type ChangedTask struct {
	Task    sizing.TaskKey
	Version int // the active version; 0 if there is none
	Policy  sizing.Policy
	IsGone  bool // a deletion or a rename freed the name; another task may have it now
}
