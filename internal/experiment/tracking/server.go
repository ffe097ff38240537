package tracking

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

type serverStore struct{ server *client.Client }

// NewServerStore returns the Store of a running server.
func NewServerStore(server *client.Client) Store { return serverStore{server} }

func (s serverStore) Location() string { return "the store of " + s.server.URL }

// maxPage is the maximum page size of GET /experiments.
const maxPage = 1000

func (s serverStore) List(ctx context.Context, before int64, limit int) ([]*Run, error) {
	runs := []*Run{}
	for len(runs) < limit {
		query := url.Values{"limit": {strconv.Itoa(min(limit-len(runs), maxPage))}}
		if before > 0 {
			query.Set("cursor", strconv.FormatInt(before, 10))
		}
		var page api.ExperimentPage
		if err := s.server.Call(ctx, http.MethodGet, "/experiments?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Experiments {
			e := &page.Experiments[i]
			runs = append(runs, &Run{
				ID: e.ID, Name: valueOf(e.Name), CreatedAt: e.CreatedAt, Fingerprint: e.Fingerprint, Parameters: e.Parameters,
				tasks: e.Tasks, families: e.Families, rowCount: e.Rows,
			})
			before = e.ID
		}
		if page.NextCursor == nil || len(page.Experiments) == 0 {
			break
		}
	}
	return runs, nil
}

func (s serverStore) get(ctx context.Context, idOrName string, withBlobs bool) (*api.Experiment, error) {
	var e api.Experiment
	path := "/experiments/" + url.PathEscape(idOrName)
	if withBlobs {
		path += "?blobs=true"
	}
	return &e, s.server.Call(ctx, http.MethodGet, path, nil, &e)
}

func (s serverStore) Find(ctx context.Context, idOrName string) (*Run, error) {
	e, err := s.get(ctx, idOrName, false)
	if err != nil {
		return nil, err
	}
	return newRun(&store.Run{
		ID: e.ID, Name: valueOf(e.Name), CreatedAt: e.CreatedAt, Fingerprint: e.Fingerprint,
		Parameters: notNull(e.Parameters), Rows: notNull(e.Rows), Report: notNull(e.Report),
	})
}

func (s serverStore) DescribeModels(ctx context.Context, id int64) ([]Model, error) {
	e, err := s.get(ctx, strconv.FormatInt(id, 10), false)
	if err != nil {
		return nil, err
	}
	var models []Model
	for _, m := range e.Models {
		models = append(models, Model{Task: m.Task, Family: m.Family, Bytes: m.Bytes, SHA256: m.Sha256})
	}
	return models, nil
}

func (s serverStore) Models(ctx context.Context, id int64) ([]store.RunModel, error) {
	e, err := s.get(ctx, strconv.FormatInt(id, 10), true)
	if err != nil {
		return nil, err
	}
	var models []store.RunModel
	for _, m := range e.Models {
		models = append(models, store.RunModel{Task: m.Task, Family: m.Family, Blob: valueOf(m.Blob)})
	}
	return models, nil
}

// Save repeats the request for about RetryFor while the server answers 429 or 503; if RetryFor is 0, it sends one
// request. It does not repeat a request without a response, because the server may have saved the experiment.
func (s serverStore) Save(ctx context.Context, r store.Run, models []store.RunModel) (int64, error) {
	request := api.ExperimentRequest{Fingerprint: orNil(r.Fingerprint), Name: orNil(r.Name), Parameters: r.Parameters, Rows: r.Rows, Report: r.Report}
	sent := make([]api.ExperimentModelRequest, len(models))
	for i, m := range models {
		sent[i] = api.ExperimentModelRequest{Task: m.Task, Family: m.Family, Blob: m.Blob}
	}
	request.Models = &sent
	var saved api.ExperimentSaved
	for wait := s.server.RetryFor / 100; ; wait *= 2 {
		err := s.server.Call(ctx, http.MethodPost, "/experiments", request, &saved)
		if !client.IsStatus(err, http.StatusServiceUnavailable) && !client.IsStatus(err, http.StatusTooManyRequests) || wait >= s.server.RetryFor {
			return valueOf(saved.ID), withKind(err)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (s serverStore) CheckName(ctx context.Context, name string) error {
	err := s.server.Call(ctx, http.MethodPost, "/experiments?dry_run=true", api.ExperimentRequest{Name: &name}, nil)
	if client.IsStatus(err, http.StatusMethodNotAllowed) || client.IsStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%s does not store experiments: upgrade the server, or name a database with --database: %w", s.server.URL, err)
	}
	return withKind(err)
}

// withKind converts a response 409 into an error of kind Conflict, which the store of a database also returns.
func withKind(err error) error {
	if client.IsStatus(err, http.StatusConflict) {
		return sizing.Errorf(sizing.Conflict, "%w", err)
	}
	return err
}

func notNull(text []byte) []byte {
	if string(text) == "null" {
		return nil
	}
	return text
}

// orNil returns a pointer to a text, or nil for an empty text, so that the request omits the field.
func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
