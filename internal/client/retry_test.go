package client

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestPausesBetweenRetriesAddUpToRetryFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer server.Close()
	waited := time.Duration(0)
	c := New(server.URL, "")
	c.RetryFor, c.Retrying = 100*time.Millisecond, func(_ error, pause time.Duration) { waited += pause }
	_, err := c.Train(t.Context(), sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "d", Task: "t"})
	assert.ErrorContains(t, err, "gave up after 100ms")
	assert.Equal(t, c.RetryFor, waited)
}
