package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

func TestRetentionSettings(t *testing.T) {
	t.Setenv("LOADAWARE_KEEP_RECEIPTS", "0")
	t.Setenv("LOADAWARE_KEEP_OBSERVATIONS", "240h")
	cmd := newCommand("serve", "")
	_, err := cmd.parse(discardConsole(), nil)
	require.NoError(t, err)
	assert.Equal(t, retentionAges{Observations: 10 * 24 * time.Hour, Experiments: 365 * 24 * time.Hour}, cmd.Keep)
}

func TestTooShortRetentionIsRejected(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.DSN(t))
	t.Setenv("LOADAWARE_KEEP_RECEIPTS", "1h")
	code, _, stderr := invoke(t, "", "serve", "--addr", "127.0.0.1:0", "--admin-addr", "")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "168h")
	assert.Contains(t, stderr, "receipts")
}
