package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trace"
)

// recorder is where an import goes: a server, or a store opened here. It answers
// for each observation once all is committed.
type recorder interface {
	Record(context.Context, []sizing.Observation) ([]sizing.Recorded, error)
}

// findRecorder decides where an import goes, as importUsage says, and tells.
func (cmd *command) findRecorder(ctx context.Context, con console) (recorder, func(), error) {
	server := newServerRecorder(cmp.Or(cmd.URL, "http://"+cmd.Addr), cmd.Token)
	server.waiting = func(why error, wait time.Duration) { sayWaiting(con, why, wait) }
	storeNamed := cmd.given("database") || cmd.given("data")
	if cmd.serverGiven() || !storeNamed && (cmd.URL != "" || server.answers(ctx)) {
		return server, func() {}, nil
	}
	if !storeNamed && cmd.DatabaseURL == "" && !exists(cmd.Data) {
		return nil, nil, fmt.Errorf("no server answers at %s, and there is no data folder %s yet: start one with loadaware serve, or name one with --url, --database or --data",
			server.url, cmd.Data)
	}
	st, stop, err := openStore(ctx, &cmd.config, "", cmd.logger(con))
	if held := (*pglocal.HeldError)(nil); errors.As(err, &held) && held.Addr != "" {
		server.url = "http://" + held.Addr
		return server, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(con.err, "importing into %s\n", cmd.where())
	return st, stop, nil
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// serverRecorder sends reports to a running server.
type serverRecorder struct {
	url, token string
	client     *http.Client
	patience   time.Duration                       // how long a server may be away; waits between tries double from a hundredth of it
	waiting    func(why error, wait time.Duration) // is called before each wait; not called if nil
}

// sayWaiting tells a person why nothing happens.
func sayWaiting(con console, why error, wait time.Duration) {
	fmt.Fprintf(con.err, "%v; trying again in %s\n", why, wait.Round(100*time.Millisecond))
}

func newServerRecorder(server, token string) *serverRecorder {
	return &serverRecorder{
		url: strings.TrimSuffix(server, "/"), token: token,
		client: &http.Client{Timeout: 2 * time.Minute}, patience: 30 * time.Second,
	}
}

// answers reports whether a server is there.
func (s *serverRecorder) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := s.once(ctx, http.MethodGet, "/healthz", nil)
	return err == nil
}

// Record sends the observations by POST /observe/batch.
func (s *serverRecorder) Record(ctx context.Context, observations []sizing.Observation) ([]sizing.Recorded, error) {
	request := api.ObserveBatchRequest{Observations: make([]json.RawMessage, len(observations))}
	for i := range observations {
		text, err := trace.JSON(&observations[i])
		if err != nil {
			return nil, err
		}
		request.Observations[i] = text
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, err := s.post(ctx, "/observe/batch", body)
	if err != nil {
		return nil, err
	}
	var batch api.ObserveBatchAnswer
	if err := json.Unmarshal(answer, &batch); err != nil || len(batch.Results) != len(observations) {
		return nil, fmt.Errorf("%s answered in other words than those of POST /observe/batch: is it a loadaware server of this version? %w", s.url, err)
	}
	recorded := make([]sizing.Recorded, len(batch.Results))
	for i, r := range batch.Results {
		recorded[i] = sizing.Recorded{Duplicate: r.Duplicate, Amended: r.Amended}
		place := fmt.Sprintf("observations[%d].", i)
		for _, w := range r.Warnings {
			recorded[i].Warnings = append(recorded[i].Warnings, sizing.FieldError{Field: strings.TrimPrefix(w.Field, place), Detail: w.Detail})
		}
		if r.Error != nil {
			recorded[i].Err = refusalOf(r.Error, place)
		}
	}
	return recorded, nil
}

// refusalOf is why a report was refused. Its place in the batch means nothing to the
// reader of a file.
func refusalOf(p *api.Problem, place string) error {
	err := errors.New(strings.ReplaceAll(p.Detail, place, ""))
	if p.Status == http.StatusConflict && len(p.Errors) == 1 {
		return &toldOtherwise{field: strings.TrimPrefix(p.Errors[0].Field, place), error: err}
	}
	return err
}

// toldOtherwise is a report that contradicts an earlier one of the same try.
type toldOtherwise struct {
	field string
	error
}

// train has the server train one task now, and says what it came to.
func (s *serverRecorder) train(ctx context.Context, task sizing.TaskKey) (string, error) {
	path := fmt.Sprintf("/tasks/%s/%s/train?namespace=%s", url.PathEscape(task.DAG), url.PathEscape(task.Task), url.QueryEscape(task.Namespace))
	answer, err := s.post(ctx, path, []byte("{}"))
	if err != nil {
		return "", err
	}
	var trained struct {
		Published bool   `json:"published"`
		Version   int    `json:"version"`
		Reason    string `json:"reason"`
	}
	if err := json.Unmarshal(answer, &trained); err != nil {
		return "", err
	}
	if trained.Published {
		return fmt.Sprintf("model %d: %s", trained.Version, trained.Reason), nil
	}
	return "no new model: " + trained.Reason, nil
}

// awayError is a server that is not there now, but may be in a moment.
type awayError struct{ cause error }

func (e *awayError) Error() string { return e.cause.Error() }
func (e *awayError) Unwrap() error { return e.cause }

// post repeats while the server is away: what it takes, it takes once, however
// often it is told.
func (s *serverRecorder) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	wait := s.patience / 100
	for waited := time.Duration(0); ; waited += wait {
		answer, err := s.once(ctx, http.MethodPost, path, body)
		var away *awayError
		if !errors.As(err, &away) || ctx.Err() != nil {
			return answer, err
		}
		if waited >= s.patience {
			return nil, fmt.Errorf("gave up after %s: %w", s.patience, err)
		}
		if s.waiting != nil {
			s.waiting(err, wait)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, s.patience/6)
	}
}

// once sends one request. *awayError where repeating it may help.
func (s *serverRecorder) once(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	if err := checkServerURL(s.url); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, usageErrorf("--url is not understood: %v", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, notReached(s.url, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, &awayError{fmt.Errorf("the answer of %s broke off: %w", s.url, err)}
	}
	switch response.StatusCode {
	case http.StatusOK:
		return answer, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, &awayError{problemOf(s.url, response.StatusCode, answer)}
	}
	return nil, problemOf(s.url, response.StatusCode, answer)
}

// problemError is a refusal by a server.
type problemError struct {
	server string
	status int
	detail string // empty where it did not say why
}

func (e *problemError) Error() string {
	if e.detail == "" {
		return fmt.Sprintf("%s answered %d", e.server, e.status)
	}
	hint := ""
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		hint = " (name a token that may with --token or LOADAWARE_TOKEN)"
	}
	return fmt.Sprintf("%s answered %d: %s%s", e.server, e.status, e.detail, hint)
}

// isStatus reports whether a server refused with a status.
func isStatus(err error, status int) bool {
	var problem *problemError
	return errors.As(err, &problem) && problem.status == status
}

// problemOf is a refusal in the server's own words, if it has any.
func problemOf(server string, status int, answer []byte) error {
	var problem api.Problem
	if json.Unmarshal(answer, &problem) != nil {
		problem.Detail = ""
	}
	return &problemError{server, status, problem.Detail}
}
