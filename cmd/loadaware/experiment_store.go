package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// experimentPlace is the part of the help about the place of saved experiments.
const experimentPlace = `

Where: --url (LOADAWARE_URL), --database or --data if given; else DATABASE_URL if
set; else the server at LOADAWARE_ADDR (127.0.0.1:8080 if not set) if it answers;
else the data folder. If a server uses that folder, the command asks the server.`

// experimentStore stores experiments, in a database or on a running server.
type experimentStore interface {
	// list returns experiments without their reports, newest first.
	list(ctx context.Context, before int64, limit int) ([]*savedRun, error)
	// find returns an experiment by its id or name, without its models.
	find(ctx context.Context, idOrName string) (*savedRun, error)
	describeModels(ctx context.Context, k *savedRun) ([]savedModel, error)
	models(ctx context.Context, k *savedRun) ([]store.RunModel, error)
	save(ctx context.Context, r store.Run, models []store.RunModel) (id int64, err error)
	// checkCanSave returns an error if an experiment with the name could not be saved. An
	// existing name is a Conflict.
	checkCanSave(ctx context.Context, name string) error
	place() string
}

// openExperiments opens the store that experimentPlace describes. It creates a data folder
// only to save into a folder that the command line names.
func openExperiments(ctx context.Context, con console, cmd *command, saving bool) (experimentStore, func(), error) {
	server, storeNamed := cmd.server(), cmd.given("database") || cmd.given("data")
	noStop := func() {}
	switch {
	case cmd.serverGiven() || !storeNamed && cmd.URL != "":
		return serverExperiments{server}, noStop, nil
	case storeNamed || cmd.DatabaseURL != "":
	case server.IsAvailable(ctx):
		return serverExperiments{server}, noStop, nil
	}
	mayCreate := saving && storeNamed
	if cmd.DatabaseURL == "" && !exists(cmd.Data) && !mayCreate {
		return nil, nil, fmt.Errorf("no saved experiments: no server answers at %s, and the data folder %s does not exist; name a server with --url, another folder with --data, or a database with --database",
			server.URL, cmd.Data)
	}
	st, stop, err := openStore(ctx, &cmd.config, "", cmd.logger(con))
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) && inUse.Addr != "" {
		return serverExperiments{client.New("http://"+inUse.Addr, cmd.Token)}, noStop, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return databaseExperiments{st, cmd.location()}, stop, nil
}

// databaseExperiments stores experiments in a database.
type databaseExperiments struct {
	runs store.Runs
	at   string
}

func (s databaseExperiments) place() string { return s.at }

func (s databaseExperiments) list(ctx context.Context, before int64, limit int) ([]*savedRun, error) {
	runs, err := s.runs.Runs(ctx, before, limit)
	if err != nil {
		return nil, err
	}
	kept := make([]*savedRun, len(runs))
	for i := range runs {
		if kept[i], err = newSavedRun(&runs[i]); err != nil {
			return nil, err
		}
		kept[i].summarise()
		kept[i].Rows = nil // only experiment show prints them
	}
	return kept, nil
}

func (s databaseExperiments) find(ctx context.Context, idOrName string) (*savedRun, error) {
	r, err := s.runs.Run(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return newSavedRun(&r)
}

func (s databaseExperiments) models(ctx context.Context, k *savedRun) ([]store.RunModel, error) {
	return s.runs.RunModels(ctx, k.ID)
}

func (s databaseExperiments) describeModels(ctx context.Context, k *savedRun) ([]savedModel, error) {
	models, err := s.runs.RunModels(ctx, k.ID)
	if err != nil {
		return nil, err
	}
	var described []savedModel
	for _, m := range models {
		sum := sha256.Sum256(m.Blob)
		described = append(described, savedModel{Task: m.Task, Family: m.Family, Bytes: len(m.Blob), SHA256: hex.EncodeToString(sum[:])})
	}
	return described, nil
}

func (s databaseExperiments) save(ctx context.Context, r store.Run, models []store.RunModel) (int64, error) {
	return s.runs.SaveRun(ctx, r, models)
}

func (s databaseExperiments) checkCanSave(ctx context.Context, name string) error {
	_, err := s.runs.Run(ctx, name)
	switch {
	case err == nil:
		return sizing.Errorf(sizing.Conflict, "an experiment named %q is stored already", name)
	case sizing.KindOf(err) == sizing.NotFound:
		return nil
	}
	return err
}

// serverExperiments stores experiments on a running server.
type serverExperiments struct{ server *client.Client }

func (s serverExperiments) place() string { return "the store of " + s.server.URL }

// maxPage is the maximum page size of GET /experiments.
const maxPage = 1000

func (s serverExperiments) list(ctx context.Context, before int64, limit int) ([]*savedRun, error) {
	kept := []*savedRun{}
	for len(kept) < limit {
		query := url.Values{"limit": {strconv.Itoa(min(limit-len(kept), maxPage))}}
		if before > 0 {
			query.Set("cursor", strconv.FormatInt(before, 10))
		}
		var page api.ExperimentPage
		if err := s.server.Call(ctx, http.MethodGet, "/experiments?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Experiments {
			e := &page.Experiments[i]
			kept = append(kept, &savedRun{
				ID: e.ID, Name: deref(e.Name), CreatedAt: e.CreatedAt, Fingerprint: e.Fingerprint, Parameters: e.Parameters,
				tasks: e.Tasks, families: e.Families, rowCount: e.Rows,
			})
			before = e.ID
		}
		if page.NextCursor == nil || len(page.Experiments) == 0 {
			break
		}
	}
	return kept, nil
}

func (s serverExperiments) get(ctx context.Context, idOrName string, blobs bool) (*api.Experiment, error) {
	var e api.Experiment
	path := "/experiments/" + url.PathEscape(idOrName)
	if blobs {
		path += "?blobs=true"
	}
	return &e, s.server.Call(ctx, http.MethodGet, path, nil, &e)
}

func (s serverExperiments) find(ctx context.Context, idOrName string) (*savedRun, error) {
	e, err := s.get(ctx, idOrName, false)
	if err != nil {
		return nil, err
	}
	return newSavedRun(&store.Run{
		ID: e.ID, Name: deref(e.Name), CreatedAt: e.CreatedAt, Fingerprint: e.Fingerprint,
		Parameters: notNull(e.Parameters), Rows: notNull(e.Rows), Report: notNull(e.Report),
	})
}

func (s serverExperiments) describeModels(ctx context.Context, k *savedRun) ([]savedModel, error) {
	e, err := s.get(ctx, strconv.FormatInt(k.ID, 10), false)
	if err != nil {
		return nil, err
	}
	var described []savedModel
	for _, m := range e.Models {
		described = append(described, savedModel{Task: m.Task, Family: m.Family, Bytes: m.Bytes, SHA256: m.Sha256})
	}
	return described, nil
}

func (s serverExperiments) models(ctx context.Context, k *savedRun) ([]store.RunModel, error) {
	e, err := s.get(ctx, strconv.FormatInt(k.ID, 10), true)
	if err != nil {
		return nil, err
	}
	var models []store.RunModel
	for _, m := range e.Models {
		models = append(models, store.RunModel{Task: m.Task, Family: m.Family, Blob: deref(m.Blob)})
	}
	return models, nil
}

// save retries while the server is overloaded. It does not retry if the response was lost,
// because a second request would save a second experiment.
func (s serverExperiments) save(ctx context.Context, r store.Run, models []store.RunModel) (int64, error) {
	request := api.ExperimentRequest{Fingerprint: textOrNil(r.Fingerprint), Name: textOrNil(r.Name), Parameters: r.Parameters, Rows: r.Rows, Report: r.Report}
	sent := make([]api.ExperimentModelRequest, len(models))
	for i, m := range models {
		sent[i] = api.ExperimentModelRequest{Task: m.Task, Family: m.Family, Blob: m.Blob}
	}
	request.Models = &sent
	var saved api.ExperimentSaved
	for wait := s.server.RetryFor / 100; ; wait *= 2 {
		err := s.server.Call(ctx, http.MethodPost, "/experiments", request, &saved)
		if !client.IsStatus(err, http.StatusServiceUnavailable) && !client.IsStatus(err, http.StatusTooManyRequests) || wait > s.server.RetryFor {
			return deref(saved.ID), withKind(err)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (s serverExperiments) checkCanSave(ctx context.Context, name string) error {
	err := s.server.Call(ctx, http.MethodPost, "/experiments?dry_run=true", api.ExperimentRequest{Name: &name}, nil)
	if client.IsStatus(err, http.StatusMethodNotAllowed) || client.IsStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%s does not store experiments: upgrade the server, or name a database with --database: %w", s.server.URL, err)
	}
	return withKind(err)
}

// withKind converts a response 409 into an error of kind Conflict, like that of a database.
func withKind(err error) error {
	if client.IsStatus(err, http.StatusConflict) {
		return sizing.Errorf(sizing.Conflict, "%w", err)
	}
	return err
}

// notNull returns nil for a JSON null.
func notNull(text []byte) []byte {
	if string(text) == "null" {
		return nil
	}
	return text
}
