// Package airflow reads the run history of Airflow over its stable REST API and converts
// it to the types of sizing.
//
//	2.x   /api/v1, basic auth or a bearer token
//	3.x   /api/v2, a bearer token, given or fetched from POST /auth/token
//
//	Runs         ended runs by end date, page by page
//	Instances    the task instances of runs
//	Tries        all tries of one instance
//	Tasks        the tasks of a DAG with their declared params and downstream tasks
//	Tags         the tags of a DAG
//	Observation  one try as an observation, or the reason why there is none
//	Features     the features of a run
//	Metadata     the metadata of a task
//
// Airflow does not know the memory peak of a try; other sources add it.
package airflow

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
	"strings"
	"sync"
	"time"
)

var (
	// ErrUnavailable means that Airflow did not respond, or responded with an error after which a retry may succeed, or
	// that a list changed while it was read.
	ErrUnavailable = errors.New("airflow is unavailable")
	// ErrDenied means that Airflow rejected the credentials, or that they lack permission.
	ErrDenied = errors.New("airflow denied access")
	// ErrNotFound means that Airflow does not have the resource.
	ErrNotFound = errors.New("not found in airflow")
	// ErrInvalidResponse means that a response does not follow the stable REST API, is too large, or has an error status that
	// none of the errors above covers.
	ErrInvalidResponse = errors.New("invalid response from airflow")
)

// Config configures a Client. Only URL is required.
type Config struct {
	URL       string // of the web server (2.x) or the API server (3.x), with the path before /api if there is one
	User      string // basic authentication on 2.x; exchanged for a token on 3.x
	Password  string
	Token     string        // bearer token; takes precedence over User
	PerSecond float64       // maximum number of requests per second, without those for a token; 10 if zero
	RetryFor  time.Duration // maximum sum of the pauses before the retries of a request; 1 min if zero

	// Retrying is called before each retry with the error and the pause. It may be nil.
	Retrying func(err error, pause time.Duration)
}

// Client reads one Airflow. It is safe for concurrent use; all callers share the rate limit.
type Client struct {
	cfg  Config
	base string // without a trailing slash
	api  string // "/api/v1" or "/api/v2"; empty until findAPI returns
	http *http.Client

	fetching sync.Mutex // held while a token is fetched
	mu       sync.Mutex // protects next and token
	next     time.Time  // earliest time of the next request
	token    string     // bearer token; empty if none is configured or fetched
}

// maxResponse is the maximum size of a response in bytes. A page of 100 instances with their
// rendered fields has a few megabytes.
const maxResponse = 64 << 20

// Open detects the API version of the server and checks that the credentials permit reading the list of DAGs.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("parse the URL of Airflow: invalid; use http://host:8080") // not quoted: it may contain a password
	}
	if base.User != nil {
		return nil, errors.New("parse the URL of Airflow: it contains a user; configure user and password separately")
	}
	cfg.PerSecond = cmp.Or(cfg.PerSecond, 10)
	cfg.RetryFor = cmp.Or(cfg.RetryFor, time.Minute)
	c := &Client{cfg: cfg, base: strings.TrimRight(cfg.URL, "/"), http: &http.Client{Timeout: 2 * time.Minute}, token: cfg.Token}
	if c.api, err = c.findAPI(ctx); err != nil {
		return nil, err
	}
	var dags struct{}
	return c, c.read(ctx, http.MethodGet, "/dags?limit=1", nil, &dags)
}

func (c *Client) findAPI(ctx context.Context) (string, error) {
	for _, api := range []string{"/api/v2", "/api/v1"} {
		var decoded struct {
			Version string `json:"version"`
		}
		switch err := c.read(ctx, http.MethodGet, api+"/version", nil, &decoded); {
		case err == nil:
			return api, nil
		case !errors.Is(err, ErrNotFound):
			return "", err
		}
	}
	return "", fmt.Errorf("%w: %s has neither /api/v2/version nor /api/v1/version; check that the URL is that of Airflow 2 or 3", ErrInvalidResponse, c.base)
}

func (c *Client) read(ctx context.Context, method, path string, body, to any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		sent = nil
	}
	// Before the first fetch, token is empty. sendWithRetry then fetches a token, and dropToken("") returns false, so that the
	// denial of a new token is not retried.
	token := c.currentToken()
	response, err := c.sendWithRetry(ctx, method, c.api+path, sent)
	if errors.Is(err, ErrDenied) && c.dropToken(token) { // a token of Airflow 3 expires, by default after a day
		response, err = c.sendWithRetry(ctx, method, c.api+path, sent)
	}
	if err != nil {
		return err
	}
	return decode(path, response, to)
}

// send sends a request and returns the body of the response. It returns a *transientError if a retry may succeed.
func (c *Client) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	c.authenticate(request)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &transientError{cause: fmt.Errorf("%w: %w", ErrUnavailable, err)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, &transientError{cause: fmt.Errorf("%w: read the response to %s %s: %w", ErrUnavailable, method, path, err)}
	}
	if len(text) > maxResponse {
		return nil, fmt.Errorf("%w: the response to %s %s exceeds %d MiB", ErrInvalidResponse, method, path, maxResponse>>20)
	}
	message := fmt.Sprintf("%s %s: %s%s", method, path, response.Status, detail(text))
	switch status := response.StatusCode; {
	case status == http.StatusOK, status == http.StatusCreated:
		return text, nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s", ErrDenied, message)
	case status == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", ErrNotFound, message)
	case status == http.StatusTooManyRequests, status >= 500:
		return nil, &transientError{cause: fmt.Errorf("%w: %s", ErrUnavailable, message), retryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	return nil, fmt.Errorf("%w: %s", ErrInvalidResponse, message)
}

func detail(response []byte) string {
	var problem struct {
		Detail json.RawMessage `json:"detail"`
		Title  string          `json:"title"`
	}
	if json.Unmarshal(response, &problem) != nil {
		return ""
	}
	text := strings.Trim(string(problem.Detail), `"`)
	if text == "" || text == "null" {
		text = problem.Title
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %.300s", text)
}

func decode(path string, response []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(response))
	decoder.UseNumber() // different long ids would be equal as float64
	err := decoder.Decode(to)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("data after the JSON value")
		}
	}
	var typeError *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typeError) && typeError.Field != "":
		return fmt.Errorf("%w: %s: %s is a JSON %s instead of %s", ErrInvalidResponse, path, typeError.Field, typeError.Value, typeError.Type)
	case bytes.HasPrefix(bytes.TrimSpace(response), []byte("<")):
		return fmt.Errorf("%w: %s returns HTML instead of JSON; check whether a proxy requires a login", ErrInvalidResponse, path)
	}
	return fmt.Errorf("%w: %s: %w", ErrInvalidResponse, path, err)
}

func missing(path, field string) error {
	return fmt.Errorf("%w: %s: %s is missing", ErrInvalidResponse, path, field)
}
