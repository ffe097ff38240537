package tracking

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Store stores experiments, in a database or on a running server.
type Store interface {
	// List returns at most `limit` experiments without their rows and reports, newest first. If `before` is above 0,
	// List returns only experiments whose ids are smaller than `before`.
	List(ctx context.Context, before int64, limit int) ([]*Run, error)
	// Find returns an experiment by its id or name, without its models.
	Find(ctx context.Context, idOrName string) (*Run, error)
	// DescribeModels returns the models of an experiment without their contents.
	DescribeModels(ctx context.Context, id int64) ([]Model, error)
	// Models returns the models of an experiment.
	Models(ctx context.Context, id int64) ([]store.RunModel, error)
	// Save saves an experiment with its models and returns its id.
	Save(ctx context.Context, r store.Run, models []store.RunModel) (id int64, err error)
	// CheckName returns an error of kind sizing.Conflict if an experiment has this name. Numbers are no valid names: Save
	// rejects all of them, and CheckName may reject them.
	CheckName(ctx context.Context, name string) error
	// Location returns the location of the data for messages.
	Location() string
}

type databaseStore struct {
	runs     store.Runs
	location string
}

// NewDatabaseStore returns the Store of a database at the location.
func NewDatabaseStore(runs store.Runs, location string) Store { return databaseStore{runs, location} }

func (s databaseStore) Location() string { return s.location }

func (s databaseStore) List(ctx context.Context, before int64, limit int) ([]*Run, error) {
	stored, err := s.runs.Runs(ctx, before, limit)
	if err != nil {
		return nil, err
	}
	runs := make([]*Run, len(stored))
	for i := range stored {
		runs[i] = newSummary(&stored[i])
	}
	return runs, nil
}

func (s databaseStore) Find(ctx context.Context, idOrName string) (*Run, error) {
	stored, err := s.runs.Run(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return newRun(&stored)
}

func (s databaseStore) Models(ctx context.Context, id int64) ([]store.RunModel, error) {
	return s.runs.RunModels(ctx, id)
}

func (s databaseStore) DescribeModels(ctx context.Context, id int64) ([]Model, error) {
	stored, err := s.runs.RunModels(ctx, id)
	if err != nil {
		return nil, err
	}
	var models []Model
	for _, m := range stored {
		sum := sha256.Sum256(m.Blob)
		models = append(models, Model{Task: m.Task, Family: m.Family, Bytes: len(m.Blob), SHA256: hex.EncodeToString(sum[:])})
	}
	return models, nil
}

func (s databaseStore) Save(ctx context.Context, r store.Run, models []store.RunModel) (int64, error) {
	return s.runs.SaveRun(ctx, r, models)
}

func (s databaseStore) CheckName(ctx context.Context, name string) error {
	_, err := s.runs.Run(ctx, name)
	switch {
	case err == nil:
		return sizing.Errorf(sizing.Conflict, "an experiment named %q is stored already", name)
	case sizing.KindOf(err) == sizing.NotFound:
		return nil
	}
	return err
}
