package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const versionExistsSQL = `
	SELECT EXISTS (SELECT FROM model WHERE task = $1 AND version = $2)`

func checkVersion(ctx context.Context, tx pgx.Tx, id int64, task sizing.TaskKey, version int) error {
	var isStored bool
	if err := tx.QueryRow(ctx, versionExistsSQL, id, version).Scan(&isStored); err != nil {
		return err
	}
	if !isStored {
		return sizing.Errorf(sizing.NotFound, "version %d of %s is not stored: the store keeps the %d newest versions, up to %d milestones (every %dth version) before them, and the active one",
			version, task, store.KeepVersions, store.KeepMilestones, store.MilestoneEvery)
	}
	return nil
}

// activateSQL resets watched_from, because receipts from before a manual activation are no evidence
// about the activated version.
const activateSQL = `
	UPDATE task SET active_version = $2, pinned_version = $2, pinned_by = $3,
		watched_from = now(), withdrawn = array_remove(withdrawn, $2)
	WHERE id = $1`

// Activate activates a stored version and pins it.
func (s *Store) Activate(ctx context.Context, task sizing.TaskKey, version int) error {
	return s.inTx(ctx, "activate a model", readWrite, func(tx pgx.Tx) error {
		old, err := lockActive(ctx, tx, task)
		if err != nil {
			return err
		}
		if err := checkVersion(ctx, tx, old.task, task, version); err != nil {
			return err
		}
		pinned := champion{version: version, pinnedBy: actor(ctx)}
		if _, err := tx.Exec(ctx, activateSQL, old.task, version, pinned.pinnedBy); err != nil {
			return err
		}
		action := store.ModelActivated
		if version < old.version {
			action = store.ModelRolledBack
		}
		if err := audit(ctx, tx, change{task: task, action: action, before: old.state(), after: pinned.state()}); err != nil {
			return err
		}
		return notify(ctx, tx, task)
	})
}

const unpinSQL = `
	UPDATE task SET pinned_version = NULL, pinned_by = NULL WHERE id = $1`

// Unpin lets Publish replace the active version again.
func (s *Store) Unpin(ctx context.Context, task sizing.TaskKey) error {
	return s.inTx(ctx, "unpin a model", readWrite, func(tx pgx.Tx) error {
		old, err := lockActive(ctx, tx, task)
		if err != nil || old.pinnedBy == "" {
			return err
		}
		if _, err := tx.Exec(ctx, unpinSQL, old.task); err != nil {
			return err
		}
		return audit(ctx, tx, change{
			task: task, action: store.ModelUnpinned, before: old.state(), after: champion{version: old.version}.state(),
		})
	})
}

const rollBackSQL = `
	UPDATE task SET active_version = $2, pinned_version = $2, pinned_by = $3, watched_from = now(),
		withdrawn = (SELECT array_agg(DISTINCT v) FROM unnest(withdrawn || $4::int[]) AS v)
	WHERE id = $1`

// RollBack activates and pins an older version for the watchdog. It writes one audit entry for the
// activation and one for each withdrawn version.
func (s *Store) RollBack(ctx context.Context, r store.Rollback) error {
	return s.inTx(ctx, "roll a model back", readWrite, func(tx pgx.Tx) error {
		old, err := lockActive(ctx, tx, r.Task)
		if err != nil {
			return err
		}
		if old.version != r.From {
			return sizing.Errorf(sizing.Conflict, "roll a model back: the active version of %s is %d (0: none), not %d; check the active version", r.Task, old.version, r.From)
		}
		if err := checkVersion(ctx, tx, old.task, r.Task, r.To); err != nil {
			return err
		}
		pinned := champion{version: r.To, pinnedBy: store.Watchdog}
		if _, err := tx.Exec(ctx, rollBackSQL, old.task, r.To, pinned.pinnedBy, r.Withdrawn); err != nil {
			return err
		}
		rolledBack := change{task: r.Task, action: store.ModelRolledBack, before: old.state(), after: pinned.state(), reason: r.Reason}
		if err := audit(ctx, tx, rolledBack); err != nil {
			return err
		}
		for _, version := range r.Withdrawn {
			withdrawn := change{task: r.Task, action: store.ModelWithdrawn, before: champion{version: version}.state(), reason: r.Reason}
			if err := audit(ctx, tx, withdrawn); err != nil {
				return err
			}
		}
		return notify(ctx, tx, r.Task)
	})
}
