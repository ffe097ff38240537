// Package subprocess runs a trainer in a child process at a lower priority, so that trainings take little
// CPU time from predictions, and failures of trainings do not affect predictions.
//
//	Supervisor (parent)                    Pipe (child)
//	  TrainNow ── request ─── stdin ─────▶  trainer.TrainNow
//	           ◀── result ──── stdout ────  report or error
//	  ended    ◀── result ──── stdout ────  every ended training or parameter search
//
// The child reads histories from the store and publishes to it. Only requests and results
// pass between the processes, as JSON lines. The child ends when its standard input is
// closed, and therefore also when its parent ends.
package subprocess

import (
	"errors"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

type request struct {
	ID    uint64
	Task  sizing.TaskKey
	Actor string // the caller, for the audit trail; "" for a caller without a token: the version then counts as published by the trainer
}

// result without an ID belongs to any training or parameter search (trainer.SearchOnce).
type result struct {
	ID     uint64 // of the request; 0: none
	Report trainer.Report
	Failed *failure // nil: success
	Search bool     // whether it was a parameter search; only without an ID
	Took   time.Duration
}

// failure is an error in the form in which it passes between the processes.
type failure struct {
	Kind   sizing.Kind
	Detail string // for the caller; unused for an internal error, see err
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
	known := &sizing.Error{Kind: f.Kind, Detail: f.Detail}
	if f.Text != f.Detail {
		known.Cause = errors.New(f.Text)
	}
	return known
}
