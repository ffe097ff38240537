package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const saveRunSQL = `
	INSERT INTO experiment (name, created_at, fingerprint, parameters, rows, report)
	VALUES (nullif($1, ''), $2, $3, $4, $5, $6)
	RETURNING id`

const saveRunModelsSQL = `
	INSERT INTO experiment_model (experiment, position, task, family, checksum, blob)
	SELECT $1, n, task, family, checksum, blob
	FROM unnest($2::text[], $3::text[], $4::bytea[], $5::bytea[])
		WITH ORDINALITY AS new (task, family, checksum, blob, n)`

// SaveRun stores a run of an experiment with all of its models, or nothing.
func (s *Store) SaveRun(ctx context.Context, r store.Run, models []store.RunModel) (id int64, err error) {
	if _, isNumber := asExperimentID(r.Name); isNumber {
		return 0, sizing.Errorf(sizing.Invalid, "save an experiment: name %q is a number, which would be read as an id; choose another name", r.Name)
	}
	for _, m := range models {
		if len(m.Blob) == 0 {
			return 0, sizing.Errorf(sizing.Invalid, "save an experiment: the %s model of %s is empty", m.Family, m.Task)
		}
	}
	rows := pointers(models)
	err = s.inTx(ctx, "save an experiment", readWrite, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, saveRunSQL, r.Name, r.CreatedAt, r.Fingerprint, r.Parameters, r.Rows, r.Report).Scan(&id)
		if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) && pgErr.Code == "23505" { // unique_violation
			return sizing.Errorf(sizing.Conflict, "save an experiment: name %q already exists; choose another name", r.Name)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, saveRunModelsSQL, id,
			column(rows, func(m *store.RunModel) string { return m.Task }),
			column(rows, func(m *store.RunModel) string { return m.Family }),
			column(rows, func(m *store.RunModel) []byte { return checksum(m.Blob) }),
			column(rows, func(m *store.RunModel) []byte { return m.Blob }))
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

func asExperimentID(text string) (id int64, ok bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil
}

func checksum(blob []byte) []byte {
	sum := sha256.Sum256(blob)
	return sum[:]
}

const runSQL = `
	SELECT id, coalesce(name, ''), created_at, fingerprint, parameters, rows, report
	FROM experiment WHERE id = $1`

const runNamedSQL = `
	SELECT id, coalesce(name, ''), created_at, fingerprint, parameters, rows, report
	FROM experiment WHERE name = $1`

// Run returns a run by its decimal id or its name.
func (s *Store) Run(ctx context.Context, idOrName string) (store.Run, error) {
	var row pgx.Row
	if id, ok := asExperimentID(idOrName); ok {
		row = s.pool.QueryRow(ctx, runSQL, id)
	} else {
		row = s.pool.QueryRow(ctx, runNamedSQL, idOrName)
	}
	r, err := scanRun(row)
	return r, orNotFound("read an experiment", err, "no experiment %q is stored; GET /experiments lists them", idOrName)
}

const runsSQL = `
	SELECT id, coalesce(name, ''), created_at, fingerprint, parameters, rows, NULL::json
	FROM experiment
	WHERE $1::bigint = 0 OR id < $1
	ORDER BY id DESC LIMIT $2`

// Runs lists the stored runs of experiments without the column report, newest first.
func (s *Store) Runs(ctx context.Context, before int64, limit int) ([]store.Run, error) {
	rows, err := s.pool.Query(ctx, runsSQL, before, max(limit, 0))
	if err != nil {
		return nil, wrapError("list experiments", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Run, error) { return scanRun(row) })
	return runs, wrapError("list experiments", err)
}

func scanRun(row pgx.Row) (r store.Run, err error) {
	err = row.Scan(&r.ID, &r.Name, &r.CreatedAt, &r.Fingerprint, &r.Parameters, &r.Rows, &r.Report)
	r.CreatedAt = r.CreatedAt.UTC()
	return r, err
}

const runStoredSQL = `
	SELECT EXISTS (SELECT FROM experiment WHERE id = $1)`

const runModelsSQL = `
	SELECT task, family, checksum, blob
	FROM experiment_model
	WHERE experiment = $1 ORDER BY position`

// RunModels returns the models of a run in the order of SaveRun.
func (s *Store) RunModels(ctx context.Context, id int64) (models []store.RunModel, err error) {
	err = s.inTx(ctx, "read models of an experiment", snapshot, func(tx pgx.Tx) error {
		var isStored bool
		if err := tx.QueryRow(ctx, runStoredSQL, id).Scan(&isStored); err != nil {
			return err
		}
		if !isStored {
			return sizing.Errorf(sizing.NotFound, "no experiment %d is stored", id)
		}
		rows, err := tx.Query(ctx, runModelsSQL, id)
		if err != nil {
			return err
		}
		models, err = pgx.CollectRows(rows, scanRunModel)
		return err
	})
	return models, err
}

func scanRunModel(row pgx.CollectableRow) (m store.RunModel, err error) {
	var sum []byte
	if err := row.Scan(&m.Task, &m.Family, &sum, &m.Blob); err != nil {
		return m, err
	}
	if !bytes.Equal(sum, checksum(m.Blob)) {
		return m, sizing.Errorf(sizing.Internal, "read an experiment: the stored %s model of %s is corrupt (wrong checksum); run the experiment again", m.Family, m.Task)
	}
	return m, nil
}
