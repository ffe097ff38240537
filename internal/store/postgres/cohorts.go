package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const insertCohortSQL = `
	INSERT INTO cohort (namespace, version, format, runs, kills, used_runs, used_kills, trained_at, blob)
	VALUES ($1, 1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT (namespace) DO NOTHING
	RETURNING version`

const updateCohortSQL = `
	UPDATE cohort SET version = version + 1, format = $2, runs = $3, kills = $4, used_runs = $5, used_kills = $6, trained_at = $7, blob = $8
	WHERE namespace = $1 AND version = $9
	RETURNING version`

// PublishCohort stores the cohort of a namespace, or returns Conflict if c.Version is not the stored version.
func (s *Store) PublishCohort(ctx context.Context, c store.Cohort) (version int, err error) {
	query, args := insertCohortSQL, []any{c.Namespace, c.Format, c.Runs, c.Kills, c.UsedRuns, c.UsedKills, c.TrainedAt, c.Blob}
	if c.Version > 0 {
		query, args = updateCohortSQL, append(args, c.Version)
	}
	err = s.pool.QueryRow(ctx, query, args...).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, sizing.Errorf(sizing.Conflict, "publish the cohort of %s: version %d is not the newest; train from the newest version", c.Namespace, c.Version)
	}
	return version, wrapError("publish a cohort", err)
}

const cohortSQL = `
	SELECT version, format, runs, kills, used_runs, used_kills, trained_at, blob FROM cohort WHERE namespace = $1`

// Cohort returns the cohort of a namespace.
func (s *Store) Cohort(ctx context.Context, namespace string) (store.Cohort, error) {
	c := store.Cohort{Namespace: namespace}
	err := s.pool.QueryRow(ctx, cohortSQL, namespace).Scan(&c.Version, &c.Format, &c.Runs, &c.Kills, &c.UsedRuns, &c.UsedKills, &c.TrainedAt, &c.Blob)
	c.TrainedAt = c.TrainedAt.UTC()
	return c, orNotFound("read a cohort", err, "namespace %s has no cohort", namespace)
}

const cohortVersionsSQL = `
	SELECT namespace, version FROM cohort`

// CohortVersions returns the version of each cohort.
func (s *Store) CohortVersions(ctx context.Context) (map[string]int, error) {
	return s.versions(ctx, "list cohorts", cohortVersionsSQL)
}

func (s *Store) versions(ctx context.Context, operation, query string) (map[string]int, error) {
	rows, err := s.pool.Query(ctx, query)
	if err != nil {
		return nil, wrapError(operation, err)
	}
	versions := map[string]int{}
	var namespace string
	var version int
	_, err = pgx.ForEachRow(rows, []any{&namespace, &version}, func() error {
		versions[namespace] = version
		return nil
	})
	return versions, wrapError(operation, err)
}

const cohortAgeSQL = `
	SELECT coalesce(c.version, 0), coalesce(c.format, 0), coalesce(c.used_runs, 0), coalesce(c.used_kills, 0),
		stored.runs, stored.kills, stored.used_runs, stored.used_kills, coalesce(p.learned_at > c.trained_at, false)
	FROM (
		SELECT coalesce(sum(observations), 0)::bigint AS runs, coalesce(sum(kills), 0)::bigint AS kills,
			coalesce(sum(least(observations, $2)), 0)::bigint AS used_runs, coalesce(sum(least(kills, $2)), 0)::bigint AS used_kills
		FROM task JOIN tally ON tally.task = task.id WHERE namespace = $1) AS stored
	LEFT JOIN cohort AS c ON c.namespace = $1
	LEFT JOIN usage_profiles AS p ON p.namespace = $1`

// CohortAge compares the reports of a namespace now with those at the last training of its cohort.
func (s *Store) CohortAge(ctx context.Context, namespace string, perTask int) (a store.CohortAge, err error) {
	err = s.pool.QueryRow(ctx, cohortAgeSQL, namespace, perTask).Scan(
		&a.Version, &a.Format, &a.LearnedRuns, &a.LearnedKills, &a.Runs, &a.Kills, &a.UsedRuns, &a.UsedKills, &a.HasNewProfiles)
	return a, wrapError("read the age of a cohort", err)
}
