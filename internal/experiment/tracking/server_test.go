package tracking

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/store"
)

func TestSaveWithoutRetriesSendsOneRequest(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests < 10 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	c := client.New(server.URL, "")
	c.RetryFor = 0
	_, err := NewServerStore(c).Save(t.Context(), store.Run{}, nil)
	assert.True(t, client.IsStatus(err, http.StatusServiceUnavailable), "%v", err)
	assert.Equal(t, 1, requests)
}
