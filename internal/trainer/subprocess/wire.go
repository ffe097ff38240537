// Package subprocess runs a trainer in a child process at a lower priority, so that a
// training takes neither CPU nor memory from answers, and a failure does not affect them.
//
//	Supervisor (parent)                    Pipe (child)
//	  TrainNow ── order ───── stdin ─────▶  trainer.TrainNow
//	           ◀── result ──── stdout ────  report or error
//	  ended    ◀── result ──── stdout ────  every training that ended
//
// The child reads histories from the store and publishes to it; only orders and results
// pass between the processes, as JSON lines. The child ends when its standard input is
// closed, and therefore with its parent.
package subprocess

import (
	"errors"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// order requests one training.
type order struct {
	ID    uint64
	Task  sizing.TaskKey
	Actor string // the requesting user; "" for the trainer itself
}

// result is the outcome of an order or, without an ID, of any training or search.
type result struct {
	ID     uint64
	Report trainer.Report
	Failed *failure
	Search bool
	Took   time.Duration
}

// failure is an error in transit.
type failure struct {
	Kind   sizing.Kind
	Detail string // for the caller; "" for an internal error
	Text   string // for the log
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Kind: sizing.KindOf(err), Text: err.Error()}
	if known := (*sizing.Error)(nil); errors.As(err, &known) {
		f.Detail = known.Detail
	}
	return f
}

func (f *failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Kind == sizing.Internal:
		return errors.New(f.Text)
	}
	return &sizing.Error{Kind: f.Kind, Detail: f.Detail, Cause: errors.New(f.Text)}
}
