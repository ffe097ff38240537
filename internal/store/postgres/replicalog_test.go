package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A change of this process during a check sends reads to the primary, although the check returns no error.
func TestStandbyIsLoggedAsServingOnlyIfItServesReads(t *testing.T) {
	var out bytes.Buffer
	r := &ReplicatedStore{Store: &Store{cfg: Config{Log: slog.New(slog.NewTextHandler(&out, nil))}}}
	r.logChange(errors.New("no answer"))
	r.logChange(nil)
	assert.Equal(t, 1, strings.Count(out.String(), "\n"), "a check without an error must not be logged while the standby serves no reads")
	r.isFresh = true
	r.logChange(nil)
	assert.Contains(t, out.String(), "the standby of DATABASE_REPLICA_URL serves reads")
	r.logChange(nil)
	assert.Equal(t, 2, strings.Count(out.String(), "\n"), "a second check without an error must not be logged")
}
