package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/api"
)

// A caller who sends a byte a minute, or goes away, is not an error of ours: such
// errors wake somebody up.
func TestABodyThatNeverEndsIsTheCallersFault(t *testing.T) {
	s := &server{strict: api.Strict()}
	for claim, c := range map[string]struct {
		end    error
		status int
	}{
		"too slow":  {fmt.Errorf("read tcp: %w", os.ErrDeadlineExceeded), http.StatusRequestTimeout},
		"hung up":   {fmt.Errorf("read tcp: %w", syscall.ECONNRESET), http.StatusBadRequest},
		"cut short": {io.ErrUnexpectedEOF, http.StatusBadRequest},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(`{"dag_id": `), iotest.ErrReader(c.end)))
		r.Header.Set("Content-Type", "application/json")
		var body api.Observation
		assert.Equal(t, c.status, failureOf(s.decode(r, &body)).status, claim)
	}
}
