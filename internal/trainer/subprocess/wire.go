// Package subprocess runs a trainer in a process of its own, at a lower priority than the
// one that answers: a training takes neither the processor nor the memory of those who
// wait for an answer, and where it fails it takes nothing down with it.
//
//	Process (answers)                      Line (learns)
//	  TrainNow ── order ───── stdin ─────▶  trainer.TrainNow
//	           ◀── told ────── stdout ────  report, or error
//	  ended    ◀── told ────── stdout ────  every training that ended
//
// Both read histories from the store and publish to it; only orders and what came of
// them pass between the two, as JSON, one object a line. The child ends when its input
// does: with its parent, however that ended.
package subprocess

import (
	"errors"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// order asks for one training.
type order struct {
	ID    uint64
	Task  sizing.TaskKey
	Actor string // who asks; "" for the trainer itself
}

// told is what came of an order, or, without an ID, of any training or search.
type told struct {
	ID     uint64
	Report trainer.Report
	Failed *failure
	Search bool
	Took   time.Duration
}

// failure is an error on its way.
type failure struct {
	Kind   sizing.Kind
	Detail string // for the caller; "" where the error is nobody's but ours
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
