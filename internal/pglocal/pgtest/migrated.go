package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/migrations"
)

// Migrated returns the URL of a new database with all migrations, and drops the database at the end of
// the test. It copies a template that stays in the cluster. In memoryFolder the copy takes about a fifth of the time of
// the migrations.
func Migrated(t testing.TB) string {
	t.Helper()
	name, err := template()
	require.NoError(t, err)
	return create(t, "TEMPLATE "+pgx.Identifier{name}.Sanitize()+" STRATEGY FILE_COPY")
}

// templateLock is the key of the advisory lock for creating the template, because the tests of several
// packages share a cluster.
const templateLock = 0x74656d70

// template returns the name of the template database, and creates the template if it is missing. The name
// contains a hash of the migrations, so that changed migrations get another template.
var template = sync.OnceValues(func() (string, error) {
	shared, err := cluster()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, shared)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) // also releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", err
	}
	name, exists := "migrated_"+migrations.Fingerprint(), false
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return name, err
	}
	unfinished := "unfinished_" + rand.Text()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{unfinished}.Sanitize()); err != nil {
		return "", err
	}
	dsn, err := inDatabase(shared, unfinished)
	if err == nil {
		err = migrations.Up(ctx, dsn)
	}
	if err == nil {
		_, err = conn.Exec(ctx, "ALTER DATABASE "+pgx.Identifier{unfinished}.Sanitize()+" RENAME TO "+pgx.Identifier{name}.Sanitize())
	}
	return name, err
})

func inDatabase(dsn, name string) (string, error) {
	address, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	address.Path = "/" + name
	return address.String(), nil
}
