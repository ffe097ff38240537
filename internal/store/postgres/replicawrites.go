package postgres

import (
	"context"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// These are the changes that a person makes and then looks for in a list or in the audit trail.

// SetPolicy writes to the primary. Reads come from the primary until the standby has replayed the change.
func (r *ReplicatedStore) SetPolicy(ctx context.Context, task sizing.TaskKey, policy sizing.Policy) error {
	defer r.invalidate()
	return r.Store.SetPolicy(ctx, task, policy)
}

// DeleteTask writes to the primary like SetPolicy.
func (r *ReplicatedStore) DeleteTask(ctx context.Context, task sizing.TaskKey) error {
	defer r.invalidate()
	return r.Store.DeleteTask(ctx, task)
}

// Rename writes to the primary like SetPolicy.
func (r *ReplicatedStore) Rename(ctx context.Context, from, to sizing.TaskKey) error {
	defer r.invalidate()
	return r.Store.Rename(ctx, from, to)
}

// Activate writes to the primary like SetPolicy.
func (r *ReplicatedStore) Activate(ctx context.Context, task sizing.TaskKey, version int) error {
	defer r.invalidate()
	return r.Store.Activate(ctx, task, version)
}

// Unpin writes to the primary like SetPolicy.
func (r *ReplicatedStore) Unpin(ctx context.Context, task sizing.TaskKey) error {
	defer r.invalidate()
	return r.Store.Unpin(ctx, task)
}

// Void writes to the primary like SetPolicy.
func (r *ReplicatedStore) Void(ctx context.Context, try sizing.TryKey) error {
	defer r.invalidate()
	return r.Store.Void(ctx, try)
}

// SaveRun writes to the primary like SetPolicy.
func (r *ReplicatedStore) SaveRun(ctx context.Context, run store.Run, models []store.RunModel) (int64, error) {
	defer r.invalidate()
	return r.Store.SaveRun(ctx, run, models)
}

// CreateCampaign writes to the primary like SetPolicy.
func (r *ReplicatedStore) CreateCampaign(ctx context.Context, c campaign.Campaign) (campaign.Campaign, error) {
	defer r.invalidate()
	return r.Store.CreateCampaign(ctx, c)
}

// PauseCampaign writes to the primary like SetPolicy.
func (r *ReplicatedStore) PauseCampaign(ctx context.Context, id int64, paused bool, budget *campaign.Budget) (campaign.Campaign, error) {
	defer r.invalidate()
	return r.Store.PauseCampaign(ctx, id, paused, budget)
}

// RegisterRuns writes to the primary like SetPolicy.
func (r *ReplicatedStore) RegisterRuns(ctx context.Context, id int64, runs []campaign.ArchivedRun) (registered, already int, err error) {
	defer r.invalidate()
	return r.Store.RegisterRuns(ctx, id, runs)
}

// ResetRun writes to the primary like SetPolicy.
func (r *ReplicatedStore) ResetRun(ctx context.Context, id int64, number int, to campaign.State, notes string) (campaign.Run, error) {
	defer r.invalidate()
	return r.Store.ResetRun(ctx, id, number, to, notes)
}
