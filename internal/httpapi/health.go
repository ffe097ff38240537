package httpapi

import (
	"bytes"
	"context"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/api"
)

// Health says that the process is alive.
func (s *server) Health(context.Context, api.HealthRequestObject) (api.HealthResponseObject, error) {
	return api.Health200JSONResponse{Status: api.HealthStatusOk}, nil
}

// Ready says whether predictions can be answered.
func (s *server) Ready(context.Context, api.ReadyRequestObject) (api.ReadyResponseObject, error) {
	r := s.svc.Readiness()
	answer := api.Readiness{Status: api.ReadinessStatusStarting, Observe: api.ReadinessObserve(r.Observe), Models: r.Models}
	if !r.Ready {
		return api.Ready503JSONResponse(answer), nil
	}
	stale := r.Stale.Seconds()
	answer.Status, answer.StaleSeconds = api.ReadinessStatusReady, &stale
	return api.Ready200JSONResponse(answer), nil
}

// Spec is the contract as it was written.
func (s *server) Spec(context.Context, api.SpecRequestObject) (api.SpecResponseObject, error) {
	return api.Spec200ApplicationYamlResponse{Body: bytes.NewReader(loadaware.OpenAPI), ContentLength: int64(len(loadaware.OpenAPI))}, nil
}

// Docs is the contract for reading.
func (s *server) Docs(context.Context, api.DocsRequestObject) (api.DocsResponseObject, error) {
	return api.Docs200TextHTMLResponse{Body: bytes.NewReader(s.docs.html), ContentLength: int64(len(s.docs.html))}, nil
}
