package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// MaxBatch is the maximum number of observations in one request of POST /observe/batch.
const MaxBatch = 10_000

// Record sends observations with POST /observe/batch and returns one result for each, in their order.
func (c *Client) Record(ctx context.Context, observations []sizing.Observation) ([]sizing.RecordResult, error) {
	request := api.ObserveBatchRequest{Observations: make([]json.RawMessage, len(observations))}
	for i := range observations {
		text, err := file.JSON(&observations[i])
		if err != nil {
			return nil, err
		}
		request.Observations[i] = text
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	response, err := c.retry(ctx, http.MethodPost, "/observe/batch", body)
	if err != nil {
		return nil, err
	}
	var batch api.ObserveBatchAnswer
	if err := json.Unmarshal(response, &batch); err != nil {
		return nil, fmt.Errorf("decode the response of %s to POST /observe/batch: %w; check that it is a loadaware server of this version", c.URL, err)
	}
	if len(batch.Results) != len(observations) {
		return nil, fmt.Errorf("%s returned %d results for %d observations; check that it is a loadaware server of this version", c.URL, len(batch.Results), len(observations))
	}
	recorded := make([]sizing.RecordResult, len(batch.Results))
	for i, r := range batch.Results {
		recorded[i] = sizing.RecordResult{Duplicate: r.Duplicate, Amended: r.Amended}
		position := fmt.Sprintf("observations[%d].", i)
		for _, w := range r.Warnings {
			recorded[i].Warnings = append(recorded[i].Warnings, sizing.FieldError{Field: strings.TrimPrefix(w.Field, position), Detail: w.Detail})
		}
		if r.Error != nil {
			recorded[i].Err = rejection(r.Error, position)
		}
	}
	return recorded, nil
}

// SetStructure replaces the structure of a DAG with PUT /dags/{dag_id}/structure.
func (c *Client) SetStructure(ctx context.Context, d sizing.Structure) error {
	var request api.DagStructure
	for _, t := range d.Tasks {
		request.Tasks = append(request.Tasks, api.DagTask{TaskID: t.TaskID, Upstream: t.Upstream})
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	path := "/dags/" + url.PathEscape(d.DAG) + "/structure?" + url.Values{"namespace": {d.Namespace}}.Encode()
	_, err = c.retry(ctx, http.MethodPut, path, body)
	return err
}

// rejection returns the error of an observation that the server rejected. It removes `position`, such as "observations[3].",
// from the texts, because a person who imports a file does not know the position in a batch.
func rejection(p *api.Problem, position string) error {
	err := errors.New(strings.ReplaceAll(p.Detail, position, ""))
	if p.Status == http.StatusConflict && len(p.Errors) == 1 {
		return &ContradictionError{Field: strings.TrimPrefix(p.Errors[0].Field, position), error: err}
	}
	return err
}

// ContradictionError means that an observation contradicts an earlier report of the same
// try in one field.
type ContradictionError struct {
	Field string // name in the API, such as memory_max_bytes
	error
}

// Unwrap returns the message of the server.
func (e *ContradictionError) Unwrap() error { return e.error }
