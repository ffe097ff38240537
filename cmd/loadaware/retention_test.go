package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

func TestTooShortRetentionIsRejected(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.DSN(t))
	t.Setenv("LOADAWARE_KEEP_RECEIPTS", "1h")
	code, _, stderr := invoke(t, "", "serve", "--addr", "127.0.0.1:0", "--admin-addr", "")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "168h")
	assert.Contains(t, stderr, "receipts")
}
