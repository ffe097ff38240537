package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Action names a change to a task or a campaign.
type Action string

// The audited actions.
const (
	PolicyChanged   Action = "policy changed"
	ModelActivated  Action = "model activated"   // by a training or by a person
	ModelRolledBack Action = "model rolled back" // an older version is active again
	ModelWithdrawn  Action = "model withdrawn"   // excluded from later rollbacks, until a person activates it
	ModelUnpinned   Action = "model unpinned"
	TaskDeleted     Action = "task deleted"
	TaskRenamed     Action = "task renamed"

	CampaignCreated Action = "campaign created"
	CampaignPaused  Action = "campaign paused"
	CampaignResumed Action = "campaign resumed"
	CampaignStopped Action = "campaign stopped" // by its budget
	RunsRegistered  Action = "campaign runs registered"
	RunReset        Action = "campaign run reset"
)

// The actors of changes that were made without a token. Package internal/httpapi/auth adds the actor "local" for
// requests to a server that has no tokens.
const (
	Anonymous = "anonymous"
	Trainer   = "trainer"
	Watchdog  = "watchdog" // the check that rolls back a model whose grants are killed too often
)

// AuditEntry records one change. The transaction that makes the change also writes its entry.
type AuditEntry struct {
	ID            int64     // ascending in order of writing, with gaps
	At            time.Time // precise to the microsecond
	Who           string    // the actor of the context (sizing.Actor)
	Action        Action
	Task          sizing.TaskKey // the name at the time of the change; without a task id for a campaign
	Before, After []byte         // JSON; nil if there was no value
	Reason        string         // empty if none was given
}

// AuditFilter selects entries. Zero fields select all.
type AuditFilter struct {
	Task   sizing.TaskKey // each non-empty part must match
	Before int64          // only ids below this
}

// Audit is the audit trail. Per task it keeps the newest KeepPublications entries about models that the trainer
// published (Models.Publish). It keeps all other entries forever.
type Audit interface {
	// Audit lists at most `limit` entries, newest first.
	Audit(ctx context.Context, f AuditFilter, limit int) ([]AuditEntry, error)
}

// KeepPublications is the number of entries about models published by the trainer that the audit trail keeps
// per task.
const KeepPublications = 100
