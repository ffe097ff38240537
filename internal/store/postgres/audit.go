package postgres

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// change is an audit entry to write. before and after are encoded as JSON; nil means no value.
type change struct {
	task          sizing.TaskKey
	action        store.Action
	before, after any
	reason        string
	routine       bool // made by Publish; if the actor is the trainer, only the newest KeepPublications such entries of a task stay
}

const insertAuditSQL = `
	INSERT INTO audit (who, action, namespace, dag_id, task_id, before, after, reason, routine)
	VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''), $9)`

// expireRoutineSQL deletes all routine entries of the task (models that the trainer published) except the newest $4.
const expireRoutineSQL = `
	DELETE FROM audit
	WHERE routine AND namespace = $1 AND dag_id = $2 AND task_id = $3 AND id < (
		SELECT id FROM audit
		WHERE routine AND namespace = $1 AND dag_id = $2 AND task_id = $3
		ORDER BY id DESC OFFSET $4 - 1 LIMIT 1)`

func audit(ctx context.Context, tx pgx.Tx, c change) error {
	before, err := marshalNullable(c.before)
	if err != nil {
		return err
	}
	after, err := marshalNullable(c.after)
	if err != nil {
		return err
	}
	who := actor(ctx)
	routine := c.routine && who == store.Trainer
	key := c.task
	_, err = tx.Exec(ctx, insertAuditSQL, who, c.action, key.Namespace, key.DAG, key.Task, before, after, c.reason, routine)
	if err == nil && routine {
		_, err = tx.Exec(ctx, expireRoutineSQL, key.Namespace, key.DAG, key.Task, store.KeepPublications)
	}
	return err
}

func actor(ctx context.Context) string { return cmp.Or(sizing.Actor(ctx), store.Anonymous) }

// marshalNullable returns v as JSON, or nil, which is stored as NULL, if v is nil.
func marshalNullable(v any) (*string, error) {
	if v == nil {
		return nil, nil
	}
	body, err := json.Marshal(v)
	text := string(body)
	return &text, err
}

// rawJSON wraps stored JSON so that marshalNullable does not encode it again. Nil stays nil.
func rawJSON(stored []byte) any {
	if stored == nil {
		return nil
	}
	return json.RawMessage(stored)
}

func (c champion) state() any {
	if c.version == 0 {
		return nil
	}
	return struct {
		Version  int    `json:"version"`
		PinnedBy string `json:"pinned_by,omitempty"`
	}{c.version, c.pinnedBy}
}

func taskJSON(k sizing.TaskKey) any {
	return map[string]string{"namespace": k.Namespace, "dag_id": k.DAG, "task_id": k.Task}
}

const auditSQL = `
	SELECT id, at, who, action, namespace, dag_id, task_id, before, after, coalesce(reason, '')
	FROM audit
	WHERE (namespace = $1 OR $1 = '') AND (dag_id = $2 OR $2 = '') AND (task_id = $3 OR $3 = '')
		AND (id < $4 OR $4 = 0)
	ORDER BY id DESC LIMIT $5`

// Audit lists entries, newest first.
func (s *Store) Audit(ctx context.Context, f store.AuditFilter, limit int) ([]store.AuditEntry, error) {
	rows, err := s.pool.Query(ctx, auditSQL, f.Task.Namespace, f.Task.DAG, f.Task.Task, f.Before, max(limit, 0))
	if err != nil {
		return nil, wrapError("read the audit trail", err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e store.AuditEntry, err error) {
		err = row.Scan(&e.ID, &e.At, &e.Who, &e.Action, &e.Task.Namespace, &e.Task.DAG, &e.Task.Task, &e.Before, &e.After, &e.Reason)
		e.At = e.At.UTC()
		return e, err
	})
	return entries, wrapError("read the audit trail", err)
}
