package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/admission"
)

// A client that sends slowly or disconnects must not cause a 5xx, because a 5xx alerts operators.
func TestIncompleteBodyIsAClientError(t *testing.T) {
	s := &server{strict: api.Strict()}
	for name, c := range map[string]struct {
		end    error
		status int
	}{
		"too slow":     {fmt.Errorf("read tcp: %w", os.ErrDeadlineExceeded), http.StatusRequestTimeout},
		"disconnected": {fmt.Errorf("read tcp: %w", syscall.ECONNRESET), http.StatusBadRequest},
		"truncated":    {io.ErrUnexpectedEOF, http.StatusBadRequest},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(`{"dag_id": `), iotest.ErrReader(c.end)))
		r.ContentLength = 100
		r.Header.Set("Content-Type", "application/json")
		var body api.Observation
		assert.Equal(t, c.status, failureOf(s.decode(r, &body)).status, name)
	}
}

var batchRoute = &route{maxBody: admission.BatchBody, timeout: time.Minute}

func TestRejectedBodyIsNotRead(t *testing.T) {
	unread := iotest.ErrReader(errors.New("the body was read"))
	s := &server{buffers: admission.NewBodyBuffers()}
	for name, c := range map[string]struct {
		size   int64
		media  string
		status int
	}{
		"too large":         {admission.BatchBody + 1, "application/json", http.StatusRequestEntityTooLarge},
		"not JSON":          {admission.BatchBody, "text/csv", http.StatusUnsupportedMediaType},
		"chunked, not JSON": {-1, "text/csv", http.StatusUnsupportedMediaType},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", unread)
		r.ContentLength = c.size
		r.Header.Set("Content-Type", c.media)
		buffer, err := s.bufferBody(t.Context(), r, batchRoute)
		require.Error(t, err, name)
		assert.Nil(t, buffer, name)
		assert.Equal(t, c.status, failureOf(err).status, name)
	}
}

func TestErrorWhileBufferingABodyIsAClientError(t *testing.T) {
	s := &server{buffers: admission.NewBodyBuffers()}
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"incomplete": {io.ErrUnexpectedEOF, http.StatusBadRequest},
		"too large":  {&http.MaxBytesError{Limit: 7}, http.StatusRequestEntityTooLarge},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(c.err)))
		r.ContentLength = -1
		r.Header.Set("Content-Type", "application/json")
		buffer, err := s.bufferBody(t.Context(), r, batchRoute)
		assert.Equal(t, c.status, failureOf(err).status, name)
		buffer.Release()
	}
}

// A slice header for each item "0," would need twelve times the size of the body.
func TestTooLongBatchIsRejectedEarly(t *testing.T) {
	s := &server{strict: api.Strict(), buffers: admission.NewBodyBuffers()}
	r := post(`{"tasks": [` + strings.Repeat("0,", 4<<20) + `0]}`)
	buffer, err := s.bufferBody(t.Context(), r, batchRoute)
	require.NoError(t, err)
	defer buffer.Release()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = s.decode(r, &api.PredictBatchRequest{})
	runtime.ReadMemStats(&after)
	assert.Equal(t, http.StatusUnprocessableEntity, failureOf(err).status)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}
