package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const insertShapesSQL = `
	INSERT INTO runtime_shapes (namespace, version, learned_at, content) VALUES ($1, 1, $2, $3)
	ON CONFLICT (namespace) DO NOTHING
	RETURNING version`

const updateShapesSQL = `
	UPDATE runtime_shapes SET version = version + 1, learned_at = $2, content = $3
	WHERE namespace = $1 AND version = $4
	RETURNING version`

// SaveShapes replaces the shapes of a namespace if their stored version is still next.Version.
func (s *Store) SaveShapes(ctx context.Context, next store.Shapes) (version int, err error) {
	query, args := insertShapesSQL, []any{next.Namespace, next.LearnedAt, next.Content}
	if next.Version > 0 {
		query, args = updateShapesSQL, append(args, next.Version)
	}
	err = s.pool.QueryRow(ctx, query, args...).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, sizing.Errorf(sizing.Conflict, "save the shapes of run times: version %d of namespace %s is not the newest; learn from the newest version", next.Version, next.Namespace)
	}
	return version, wrapError("save the shapes of run times", err)
}

const shapesSQL = `
	SELECT version, learned_at, content FROM runtime_shapes WHERE namespace = $1`

// Shapes returns the shapes of a namespace.
func (s *Store) Shapes(ctx context.Context, namespace string) (store.Shapes, error) {
	stored := store.Shapes{Namespace: namespace}
	err := s.pool.QueryRow(ctx, shapesSQL, namespace).Scan(&stored.Version, &stored.LearnedAt, &stored.Content)
	if errors.Is(err, pgx.ErrNoRows) {
		return stored, sizing.Errorf(sizing.NotFound, "namespace %s has no shapes of run times yet: at least two of its tasks need 20 runs each", namespace)
	}
	stored.LearnedAt = stored.LearnedAt.UTC()
	return stored, wrapError("read the shapes of run times", err)
}

const shapeVersionsSQL = `
	SELECT namespace, version FROM runtime_shapes`

// ShapeVersions returns the version of the shapes of every namespace that has shapes.
func (s *Store) ShapeVersions(ctx context.Context) (map[string]int, error) {
	return s.versions(ctx, "list the shapes of run times", shapeVersionsSQL)
}

const setStructureSQL = `
	INSERT INTO dag_structure (namespace, dag_id, tasks, updated_at, changed_at) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (namespace, dag_id) DO UPDATE SET tasks = excluded.tasks, updated_at = excluded.updated_at, changed_at = excluded.changed_at`

// SetStructure replaces the structure of a DAG.
func (s *Store) SetStructure(ctx context.Context, d sizing.Structure) error {
	tasks, err := json.Marshal(d.Tasks)
	if err != nil {
		return fmt.Errorf("store the structure of DAG %s: %w", d.DAG, err)
	}
	_, err = s.pool.Exec(ctx, setStructureSQL, d.Namespace, d.DAG, tasks, d.UpdatedAt, knownTime(&d.ChangedAt))
	return wrapError("store the structure of a DAG", err)
}

const structureSQL = `
	SELECT tasks, updated_at, changed_at FROM dag_structure WHERE namespace = $1 AND dag_id = $2`

// Structure returns the structure of a DAG.
func (s *Store) Structure(ctx context.Context, namespace, dag string) (sizing.Structure, error) {
	d := sizing.Structure{Namespace: namespace, DAG: dag}
	var tasks []byte
	var changed *time.Time
	err := s.pool.QueryRow(ctx, structureSQL, namespace, dag).Scan(&tasks, &d.UpdatedAt, &changed)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, sizing.Errorf(sizing.NotFound, "DAG %s of namespace %s has no structure; send it with PUT /dags/{dag_id}/structure", dag, namespace)
	}
	if err != nil {
		return d, wrapError("read the structure of a DAG", err)
	}
	if err := json.Unmarshal(tasks, &d.Tasks); err != nil {
		return d, fmt.Errorf("read the structure of DAG %s: %w", dag, err)
	}
	d.UpdatedAt, d.ChangedAt = d.UpdatedAt.UTC(), timeOrZero(changed)
	return d, nil
}
