package testcluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerDoesNotRunAfterACancelledStart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // if root runs the test, PostgreSQL runs as another user
	p, err := NewPostgres(t.Context(), filepath.Join(dir, "data"), PostgresConfig{})
	require.NoError(t, err)
	defer p.Kill()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Start(cancelled), context.Canceled)
	assert.Zero(t, p.PID())
	require.NoError(t, p.Start(t.Context()))
	assert.NoError(t, p.Stop())
}
