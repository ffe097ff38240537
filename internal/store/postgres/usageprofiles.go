package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const insertUsageProfilesSQL = `
	INSERT INTO usage_profiles (namespace, version, format, runs, learned_at, content) VALUES ($1, 1, $2, $3, $4, $5)
	ON CONFLICT (namespace) DO NOTHING
	RETURNING version`

const updateUsageProfilesSQL = `
	UPDATE usage_profiles SET version = version + 1, format = $2, runs = $3, learned_at = $4, content = $5
	WHERE namespace = $1 AND version = $6
	RETURNING version`

// SaveUsageProfiles replaces the usage profiles of a namespace if their stored version is still p.Version.
func (s *Store) SaveUsageProfiles(ctx context.Context, p store.UsageProfiles) (version int, err error) {
	query, args := insertUsageProfilesSQL, []any{p.Namespace, p.Format, p.Runs, p.LearnedAt, p.Content}
	if p.Version > 0 {
		query, args = updateUsageProfilesSQL, append(args, p.Version)
	}
	err = s.pool.QueryRow(ctx, query, args...).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, sizing.Errorf(sizing.Conflict, "save usage profiles: version %d of namespace %s is not the newest; learn from the newest version", p.Version, p.Namespace)
	}
	return version, wrapError("save usage profiles", err)
}

const usageProfilesSQL = `
	SELECT version, format, runs, learned_at, CASE WHEN version <> $2 THEN content END
	FROM usage_profiles WHERE namespace = $1`

// UsageProfiles returns the usage profiles of a namespace, without content if their version equals known.
func (s *Store) UsageProfiles(ctx context.Context, namespace string, known int) (store.UsageProfiles, error) {
	p := store.UsageProfiles{Namespace: namespace}
	err := s.pool.QueryRow(ctx, usageProfilesSQL, namespace, known).Scan(&p.Version, &p.Format, &p.Runs, &p.LearnedAt, &p.Content)
	p.LearnedAt = p.LearnedAt.UTC()
	return p, orNotFound("read usage profiles", err, "namespace %s has no usage profiles", namespace)
}
