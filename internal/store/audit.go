package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Action is what was done to a task.
type Action string

// The actions that are written down.
const (
	PolicyChanged   Action = "policy changed"
	ModelActivated  Action = "model activated"   // by a training or by a person
	ModelRolledBack Action = "model rolled back" // an older version answers again
	ModelWithdrawn  Action = "model withdrawn"   // never chosen again by itself
	ModelUnpinned   Action = "model unpinned"
	TaskDeleted     Action = "task deleted"
	TaskRenamed     Action = "task renamed"
)

// Who acts where no token does.
const (
	Anonymous = "anonymous"
	Trainer   = "trainer"
	Watchdog  = "watchdog"
)

// AuditEntry is one change: written in the transaction that made it, by whom
// sizing.Actor names.
type AuditEntry struct {
	ID            int64     // 1, 2, …: the order of writing, with gaps
	At            time.Time // to the microsecond
	Who           string
	Action        Action
	Task          sizing.TaskKey // as it was named then
	Before, After []byte         // JSON; nil where there was or is nothing
	Reason        string         // where there is more to say
}

// AuditFilter chooses entries. Zero fields choose all.
type AuditFilter struct {
	Task   sizing.TaskKey // each part that is not empty must match
	Before int64          // only ids below this
}

// Audit is the trail of changes. Of the publications of trainings only the newest
// KeepRoutine of a task are kept; all else is kept for good.
type Audit interface {
	// Audit lists at most limit entries, newest first.
	Audit(ctx context.Context, f AuditFilter, limit int) ([]AuditEntry, error)
}

// KeepRoutine is how many publications of trainings the trail keeps of a task.
const KeepRoutine = 100
