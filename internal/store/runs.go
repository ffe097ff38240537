package store

import (
	"context"
	"time"
)

// Run is a stored run of the command loadaware experiment. It is not a run of a task, which is an Airflow run.
// The store does not interpret the JSON fields and returns them unchanged; nil means unknown.
type Run struct {
	ID          int64     // 1, 2, …: assigned by SaveRun in order
	Name        string    // unique; empty if unnamed
	CreatedAt   time.Time // precise to the microsecond
	Fingerprint string    // SHA-256 of the history rows used, in hexadecimal
	Parameters  []byte    // JSON: the parameters
	Rows        []byte    // JSON: the metrics by which runs are compared
	Report      []byte    // JSON: the full report
}

// RunModel is a model that an experiment fitted.
type RunModel struct {
	Task, Family string // the name of the task as text; serving, or the family, oversampling and bins of a classifier
	Blob         []byte // not empty
}

// Runs stores experiments. An experiment names its tasks as text, so that renaming or deleting a
// task does not change it.
type Runs interface {
	// SaveRun stores a run with all of its models, or nothing, and returns its id. It ignores
	// r.ID. It returns Conflict if the name exists. It returns Invalid if the name is a whole
	// number, which Run would read as an id, if a JSON field is malformed, or if a blob is empty.
	SaveRun(ctx context.Context, r Run, models []RunModel) (id int64, err error)
	// Run returns a run by its decimal id or its name, or NotFound if there is none.
	Run(ctx context.Context, idOrName string) (Run, error)
	// Runs lists at most `limit` runs whose ids are below `before` (0: from the newest), newest first, without
	// their reports.
	Runs(ctx context.Context, before int64, limit int) ([]Run, error)
	// RunModels returns the models of a run in the order of SaveRun. It returns NotFound if there
	// is no such run, or Internal if a stored blob is corrupt.
	RunModels(ctx context.Context, id int64) ([]RunModel, error)
}
