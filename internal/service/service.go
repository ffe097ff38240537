// Package service is the use cases: predict, observe, lift, train, and the rest
// of what a caller can ask for.
//
// It knows the words of sizing, the store's contract and opened models, and
// nothing of HTTP or SQL. A first-try Predict never touches the database: opened
// models live in memory and are swapped whole.
package service

import (
	"context"
	"errors"
	"log/slog"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Service answers. Its methods may be called at once from many goroutines.
type Service struct {
	store   store.Store
	trainer *trainer.Trainer
	log     *slog.Logger
}

// New makes a Service; Run starts its background work.
func New(st store.Store, tr *trainer.Trainer, log *slog.Logger) *Service {
	return &Service{store: st, trainer: tr, log: log}
}

var errNotBuilt = errors.New("not built yet")

// Run loads the models, follows changes and writes receipts until ctx ends, then
// flushes what is queued.
func (s *Service) Run(ctx context.Context) error { return errNotBuilt }

// Predict answers an Ask. NotFound where nothing is known and nothing requested.
func (s *Service) Predict(ctx context.Context, ask *sizing.Ask) (*sizing.Allocation, error) {
	return nil, errNotBuilt
}

// Observe records what was told, after commit. One answer per observation; those
// that are Invalid alone fail alone.
func (s *Service) Observe(ctx context.Context, obs []sizing.Observation) ([]sizing.Recorded, error) {
	return nil, errNotBuilt
}

// Lift answers after a kill.
func (s *Service) Lift(ctx context.Context, ask *sizing.LiftAsk) (sizing.Lift, error) {
	return sizing.Lift{}, errNotBuilt
}

// Void takes a report back.
func (s *Service) Void(ctx context.Context, try sizing.TryKey) error { return errNotBuilt }

// Tasks lists profiles after a key, at most limit.
func (s *Service) Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	return nil, errNotBuilt
}

// Task is one profile, whole.
func (s *Service) Task(ctx context.Context, task sizing.TaskKey) (sizing.Profile, error) {
	return sizing.Profile{}, errNotBuilt
}

// Train trains now, and returns when what it published answers here.
func (s *Service) Train(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	return trainer.Report{}, errNotBuilt
}

// Models lists the stored versions, newest first.
func (s *Service) Models(ctx context.Context, task sizing.TaskKey) ([]store.Model, error) {
	return nil, errNotBuilt
}

// Activate makes a stored version answer again.
func (s *Service) Activate(ctx context.Context, task sizing.TaskKey, version int) error {
	return errNotBuilt
}

// Policy and SetPolicy read and write what people decided.
func (s *Service) Policy(ctx context.Context, task sizing.TaskKey) (sizing.Policy, error) {
	return sizing.Policy{}, errNotBuilt
}

// SetPolicy replaces the policy of a task.
func (s *Service) SetPolicy(ctx context.Context, task sizing.TaskKey, p sizing.Policy) error {
	return errNotBuilt
}

// Receipt finds a stored answer; those not yet written are found too.
func (s *Service) Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error) {
	return sizing.Receipt{}, errNotBuilt
}

// DeleteTask and Rename change what is stored of a task.
func (s *Service) DeleteTask(ctx context.Context, task sizing.TaskKey) error { return errNotBuilt }

// Rename moves all that is stored of a task to another name.
func (s *Service) Rename(ctx context.Context, from, to sizing.TaskKey) error { return errNotBuilt }

// Readiness says whether predictions can be answered (Ready), and whether reports
// can be stored ("ok" or "unavailable").
type Readiness struct {
	Ready   bool
	Observe string
	Models  int
}

// Readiness never blocks.
func (s *Service) Readiness() Readiness { return Readiness{} }
