package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// UsageProfiles are the usage profiles of a namespace. Only package usageprofile interprets Content.
type UsageProfiles struct {
	Namespace string
	Version   int // 1, 2, …: assigned by SaveUsageProfiles
	Format    int // version of the encoding of Content
	Runs      int // number of reports of the namespace when the profiles were found; reports that retention has removed count, too
	LearnedAt time.Time
	Content   []byte
}

// MaxUsageProfiles is the largest Content of UsageProfiles in bytes. SaveUsageProfiles fails with a larger one.
const MaxUsageProfiles = 5 << 20

// Usage stores what is learned about how the runs of a namespace use resources.
type Usage interface {
	// SaveUsageProfiles replaces the profiles of a namespace if their stored version is still
	// p.Version (0: none), and returns the next version. Otherwise it returns Conflict.
	SaveUsageProfiles(ctx context.Context, p UsageProfiles) (version int, err error)
	// UsageProfiles returns the profiles of a namespace, or NotFound if there are none. Content is nil
	// if their version equals known.
	UsageProfiles(ctx context.Context, namespace string, known int) (UsageProfiles, error)
	// RecentContext reads the newest successes and OOM kills of a task with their context, at most limit of them,
	// oldest first. It returns no rows if the task is unknown.
	RecentContext(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.ContextRow, error)
}
