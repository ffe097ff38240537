package store

import (
	"context"
	"time"
)

// Run is a run of `loadaware experiment` that was kept; a run of Airflow is told by
// its RunID elsewhere. Whatever is JSON here is bytes to the store, comes back as
// it was given, and may be nil: not known.
type Run struct {
	ID          int64     // 1, 2, …: given by SaveRun, in the order of saving
	Name        string    // unique; empty: unnamed
	CreatedAt   time.Time // to the microsecond
	Fingerprint string    // SHA-256 of the rows of history that it learned from, hexadecimal
	Parameters  []byte    // JSON: what was asked for
	Rows        []byte    // JSON: its figures, which runs are compared by
	Report      []byte    // JSON: all that it came to
}

// RunModel is a model that a run of an experiment came to.
type RunModel struct {
	Task, Family string
	Blob         []byte // not empty
}

// Runs are the experiments that were kept. They name tasks by text: to rename or
// delete a task leaves them as they were.
type Runs interface {
	// SaveRun stores a run with its models, all of it or nothing, and returns its id;
	// r.ID is not looked at. Conflict if the name is taken. Invalid if the name reads
	// as a whole number, which would be taken for an id, if JSON is none, or if a
	// model has no bytes.
	SaveRun(ctx context.Context, r Run, models []RunModel) (id int64, err error)
	// Run finds one by its id in decimal, or by its name; NotFound if none.
	Run(ctx context.Context, idOrName string) (Run, error)
	// Runs lists at most limit runs without their reports, newest first, below the
	// id before (0: from the newest).
	Runs(ctx context.Context, before int64, limit int) ([]Run, error)
	// RunModels reads the models of a run in the order they were given. NotFound if
	// there is no such run; Internal if a blob is not the one that was saved.
	RunModels(ctx context.Context, id int64) ([]RunModel, error)
}
