package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

// An item of a batch that panics must not end the batch.
func TestAPanicOfABatchItemIsAnErrorOfThisItem(t *testing.T) {
	open := auth.Config{Disabled: true}
	info := &requestInfo{grants: open.Identify(httptest.NewRequest(http.MethodPost, "/predict/batch", nil))}
	ctx := context.WithValue(t.Context(), requestInfoKey{}, info)
	s := &server{} // without a service, so that each prediction panics
	a, err := s.predictItem(ctx, []byte(`{"dag_id": "etl", "task_id": "load", "requested": {"memory": "1Gi"}}`))
	assert.Nil(t, a)
	assert.ErrorContains(t, err, "panicked")
	assert.Same(t, internalError, failureOf(err))
}
