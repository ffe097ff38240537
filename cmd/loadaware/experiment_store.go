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
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// experimentPlace says in the help of verbs where experiments are kept.
const experimentPlace = `

Where: --url (LOADAWARE_URL), --database or --data if given; else DATABASE_URL if
set; else the server at LOADAWARE_ADDR (127.0.0.1:8080 if not set) if one answers;
else the data folder. A folder that a server holds is reached through it.`

// experimentStore keeps experiments: a database, or a running server.
type experimentStore interface {
	// list returns experiments without their reports, newest first.
	list(ctx context.Context, before int64, limit int) ([]*keptRun, error)
	// find returns one by its id or its name, without its models.
	find(ctx context.Context, idOrName string) (*keptRun, error)
	describeModels(ctx context.Context, k *keptRun) ([]keptModel, error)
	models(ctx context.Context, k *keptRun) ([]store.RunModel, error)
	save(ctx context.Context, r store.Run, models []store.RunModel) (id int64, err error)
	// checkSave fails where an experiment of the name could not be saved; a taken name is
	// a conflict.
	checkSave(ctx context.Context, name string) error
	place() string
}

// openExperiments finds where experiments are kept, as experimentPlace says. It makes a
// data folder only to save into one that was named.
func openExperiments(ctx context.Context, con console, cmd *command, saving bool) (experimentStore, func(), error) {
	server, storeNamed := cmd.server(), cmd.given("database") || cmd.given("data")
	nothing := func() {}
	switch {
	case cmd.serverGiven() || !storeNamed && cmd.URL != "":
		return servedExperiments{server}, nothing, nil
	case storeNamed || cmd.DatabaseURL != "":
	case server.answers(ctx):
		return servedExperiments{server}, nothing, nil
	}
	mayMake := saving && storeNamed
	if cmd.DatabaseURL == "" && !exists(cmd.Data) && !mayMake {
		return nil, nil, fmt.Errorf("no experiment is kept yet: no server answers at %s, and there is no data folder %s; name a server with --url, another folder with --data, or a database with --database",
			server.url, cmd.Data)
	}
	st, stop, err := openStore(ctx, &cmd.config, "", cmd.logger(con))
	if held := (*pglocal.InUseError)(nil); errors.As(err, &held) && held.Addr != "" {
		return servedExperiments{newServerRecorder("http://"+held.Addr, cmd.Token)}, nothing, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return storedExperiments{st, cmd.where()}, stop, nil
}

// storedExperiments are those of a database.
type storedExperiments struct {
	runs store.Runs
	at   string
}

func (s storedExperiments) place() string { return s.at }

func (s storedExperiments) list(ctx context.Context, before int64, limit int) ([]*keptRun, error) {
	runs, err := s.runs.Runs(ctx, before, limit)
	if err != nil {
		return nil, err
	}
	kept := make([]*keptRun, len(runs))
	for i := range runs {
		if kept[i], err = toldRun(&runs[i]); err != nil {
			return nil, err
		}
		kept[i].summarise()
		kept[i].Rows = nil // show prints them
	}
	return kept, nil
}

func (s storedExperiments) find(ctx context.Context, idOrName string) (*keptRun, error) {
	r, err := s.runs.Run(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return toldRun(&r)
}

func (s storedExperiments) models(ctx context.Context, k *keptRun) ([]store.RunModel, error) {
	return s.runs.RunModels(ctx, k.ID)
}

func (s storedExperiments) describeModels(ctx context.Context, k *keptRun) ([]keptModel, error) {
	models, err := s.runs.RunModels(ctx, k.ID)
	if err != nil {
		return nil, err
	}
	var described []keptModel
	for _, m := range models {
		sum := sha256.Sum256(m.Blob)
		described = append(described, keptModel{Task: m.Task, Family: m.Family, Bytes: len(m.Blob), SHA256: hex.EncodeToString(sum[:])})
	}
	return described, nil
}

func (s storedExperiments) save(ctx context.Context, r store.Run, models []store.RunModel) (int64, error) {
	return s.runs.SaveRun(ctx, r, models)
}

func (s storedExperiments) checkSave(ctx context.Context, name string) error {
	_, err := s.runs.Run(ctx, name)
	switch {
	case err == nil:
		return sizing.Errorf(sizing.Conflict, "an experiment named %q is stored already", name)
	case sizing.KindOf(err) == sizing.NotFound:
		return nil
	}
	return err
}

// servedExperiments are those of a running server.
type servedExperiments struct{ server *serverRecorder }

func (s servedExperiments) place() string { return "the store of " + s.server.url }

// mostListed is the largest page of GET /experiments.
const mostListed = 1000

func (s servedExperiments) list(ctx context.Context, before int64, limit int) ([]*keptRun, error) {
	kept := []*keptRun{}
	for len(kept) < limit {
		query := url.Values{"limit": {strconv.Itoa(min(limit-len(kept), mostListed))}}
		if before > 0 {
			query.Set("cursor", strconv.FormatInt(before, 10))
		}
		var page api.ExperimentPage
		if err := s.server.call(ctx, http.MethodGet, "/experiments?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Experiments {
			e := &page.Experiments[i]
			kept = append(kept, &keptRun{
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

func (s servedExperiments) get(ctx context.Context, idOrName string, blobs bool) (*api.Experiment, error) {
	var e api.Experiment
	path := "/experiments/" + url.PathEscape(idOrName)
	if blobs {
		path += "?blobs=true"
	}
	return &e, s.server.call(ctx, http.MethodGet, path, nil, &e)
}

func (s servedExperiments) find(ctx context.Context, idOrName string) (*keptRun, error) {
	e, err := s.get(ctx, idOrName, false)
	if err != nil {
		return nil, err
	}
	return toldRun(&store.Run{
		ID: e.ID, Name: deref(e.Name), CreatedAt: e.CreatedAt, Fingerprint: e.Fingerprint,
		Parameters: notNull(e.Parameters), Rows: notNull(e.Rows), Report: notNull(e.Report),
	})
}

func (s servedExperiments) describeModels(ctx context.Context, k *keptRun) ([]keptModel, error) {
	e, err := s.get(ctx, strconv.FormatInt(k.ID, 10), false)
	if err != nil {
		return nil, err
	}
	var described []keptModel
	for _, m := range e.Models {
		described = append(described, keptModel{Task: m.Task, Family: m.Family, Bytes: m.Bytes, SHA256: m.Sha256})
	}
	return described, nil
}

func (s servedExperiments) models(ctx context.Context, k *keptRun) ([]store.RunModel, error) {
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

// save repeats while the server answers that it is busy. It does not repeat where the
// answer was lost: a second request would store a second experiment.
func (s servedExperiments) save(ctx context.Context, r store.Run, models []store.RunModel) (int64, error) {
	request := api.ExperimentRequest{Fingerprint: textOrNil(r.Fingerprint), Name: textOrNil(r.Name), Parameters: r.Parameters, Rows: r.Rows, Report: r.Report}
	sent := make([]api.ExperimentModelRequest, len(models))
	for i, m := range models {
		sent[i] = api.ExperimentModelRequest{Task: m.Task, Family: m.Family, Blob: m.Blob}
	}
	request.Models = &sent
	var saved api.ExperimentSaved
	for wait := s.server.patience / 100; ; wait *= 2 {
		err := s.server.call(ctx, http.MethodPost, "/experiments", request, &saved)
		if !isStatus(err, http.StatusServiceUnavailable) && !isStatus(err, http.StatusTooManyRequests) || wait > s.server.patience {
			return deref(saved.ID), kindOfStatus(err)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (s servedExperiments) checkSave(ctx context.Context, name string) error {
	err := s.server.call(ctx, http.MethodPost, "/experiments?dry_run=true", api.ExperimentRequest{Name: &name}, nil)
	if isStatus(err, http.StatusMethodNotAllowed) || isStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%s keeps no experiments: upgrade the server, or name a database with --database: %w", s.server.url, err)
	}
	return kindOfStatus(err)
}

// kindOfStatus gives the refusal of a taken name the kind that a database gives it.
func kindOfStatus(err error) error {
	if isStatus(err, http.StatusConflict) {
		return sizing.Errorf(sizing.Conflict, "%w", err)
	}
	return err
}

// notNull is nil for a JSON null, as the store returns what is not known.
func notNull(text []byte) []byte {
	if string(text) == "null" {
		return nil
	}
	return text
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// deref is what p points to, or the zero value.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
