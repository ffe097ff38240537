// Package client sends requests to a running loadaware server.
//
// It converts between the types of sizing and the JSON of the API. Record, SetStructure and Train retry while
// the server is unavailable. The errors name flags of the commands, such as --url.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// ErrInvalidURL means that the URL of the server is not an http or https URL with a host.
var ErrInvalidURL = errors.New("invalid server URL")

// Client sends requests to one server.
type Client struct {
	URL      string        // without a trailing slash
	Token    string        // bearer token; none if empty
	HTTP     *http.Client  // not nil
	RetryFor time.Duration // maximum sum of the pauses between the attempts of one call of Record, SetStructure or Train

	// Retrying is called before each retry with the error and the pause. It may be nil.
	Retrying func(err error, pause time.Duration)
}

// New returns a Client that waits up to two minutes for each response. The pauses between the attempts of one call add
// up to at most 30 seconds.
func New(server, token string) *Client {
	return &Client{
		URL: strings.TrimSuffix(server, "/"), Token: token,
		HTTP: &http.Client{Timeout: 2 * time.Minute}, RetryFor: 30 * time.Second,
	}
}

// IsAvailable reports whether GET /healthz succeeds within two seconds.
func (c *Client) IsAvailable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := c.send(ctx, http.MethodGet, "/healthz", nil)
	return err == nil
}

// Call sends one request with body as JSON, and decodes the JSON of the response into response. If body is nil, it sends
// no body. If response is nil, it ignores the contents of the response. Call does not retry.
func (c *Client) Call(ctx context.Context, method, path string, body, response any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	received, err := c.send(ctx, method, path, text)
	var problem *ProblemError
	if err != nil && !errors.As(err, &problem) && ctx.Err() == nil {
		return fmt.Errorf("%w; start a server with loadaware serve, or name one with --url", err)
	}
	if err != nil || response == nil {
		return err
	}
	if err := json.Unmarshal(received, response); err != nil {
		return fmt.Errorf("decode the response of %s to %s %s: %w; check that it is a loadaware server of this version", c.URL, method, path, err)
	}
	return nil
}

// Train trains one task on the server and returns a description of the result.
func (c *Client) Train(ctx context.Context, task sizing.TaskKey) (string, error) {
	response, err := c.retry(ctx, http.MethodPost, TaskPath(task, "train"), []byte("{}"))
	if err != nil {
		return "", err
	}
	var trained api.Training
	if err := json.Unmarshal(response, &trained); err != nil {
		return "", err
	}
	return DescribeTraining(&trained), nil
}

// DescribeTraining describes the result of a training in one line.
func DescribeTraining(t *api.Training) string {
	if t.Published && t.Version != nil {
		return fmt.Sprintf("model %d: %s", *t.Version, t.Reason)
	}
	return "no new model: " + t.Reason
}

// TaskPath returns the path and the query of a task, or of one of its resources such as "policy". An empty
// resource is the task itself.
func TaskPath(task sizing.TaskKey, resource string) string {
	path := "/tasks/" + url.PathEscape(task.DAG) + "/" + url.PathEscape(task.Task)
	if resource != "" {
		path += "/" + resource
	}
	return path + "?" + url.Values{"namespace": {task.Namespace}}.Encode()
}

// unavailableError is an error after which a retry may succeed.
type unavailableError struct{ cause error }

func (e *unavailableError) Error() string { return e.cause.Error() }
func (e *unavailableError) Unwrap() error { return e.cause }

// retry sends a request and retries it with exponential backoff while the server is unavailable. Only requests that the
// server handles idempotently may use it. With the default RetryFor of 30 s, the pauses grow from 0.3 s to 5 s.
func (c *Client) retry(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	pause := c.RetryFor / 100
	for waited := time.Duration(0); ; {
		response, err := c.send(ctx, method, path, body)
		var unavailable *unavailableError
		if !errors.As(err, &unavailable) || ctx.Err() != nil {
			return response, err
		}
		if waited >= c.RetryFor {
			return nil, fmt.Errorf("gave up after %s: %w", c.RetryFor, err)
		}
		if c.Retrying != nil {
			c.Retrying(err, pause)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		waited += pause
		pause = min(2*pause, c.RetryFor/6, c.RetryFor-waited)
	}
}

func checkURL(server string) error {
	u, err := url.Parse(server)
	hasScheme := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	switch {
	case hasScheme && u.Hostname() != "":
		return nil
	case hasScheme:
		return fmt.Errorf("%w: --url %q: the host is missing; write %s://localhost:8080", ErrInvalidURL, server, u.Scheme)
	case err != nil && strings.Contains(server, "://"):
		return fmt.Errorf("%w: --url: %w; write http://localhost:8080", ErrInvalidURL, err)
	case err == nil && u.Host != "":
		server = u.Host
	}
	return fmt.Errorf("%w: --url: the scheme is missing or unknown; write http://%s", ErrInvalidURL, server)
}

// connectionError describes why a server did not answer. An untrusted certificate is no *unavailableError, because a retry
// does not help.
func connectionError(server string, cause error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(cause, &untrusted) {
		return fmt.Errorf("connect to %s: %w; name the file of its authority in SSL_CERT_FILE", server, cause)
	}
	return &unavailableError{fmt.Errorf("no response from %s: %w", server, cause)}
}

// send sends one request and returns the body of the response. The error is an *unavailableError if a retry may succeed.
func (c *Client) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	if err := checkURL(c.URL); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidURL, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, connectionError(c.URL, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, &unavailableError{fmt.Errorf("read the response of %s: %w", c.URL, err)}
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return text, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, &unavailableError{newProblemError(c.URL, response.StatusCode, text)}
	}
	return nil, newProblemError(c.URL, response.StatusCode, text)
}

// ProblemError is an error response of the server.
type ProblemError struct {
	Server string // URL
	Status int
	Detail string              // empty if the response has no detail
	Fields []sizing.FieldError // invalid fields of the request
}

// newProblemError returns an error without details if the response is not problem+json.
func newProblemError(server string, status int, response []byte) *ProblemError {
	var problem api.Problem
	if json.Unmarshal(response, &problem) != nil {
		problem.Detail = ""
	}
	e := &ProblemError{Server: server, Status: status, Detail: problem.Detail}
	for _, f := range problem.Errors {
		e.Fields = append(e.Fields, sizing.FieldError{Field: f.Field, Detail: f.Detail})
	}
	return e
}

// Error implements error.
func (e *ProblemError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("%s returned status %d", e.Server, e.Status)
	}
	hint := ""
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		hint = "; name a token with sufficient rights with --token or LOADAWARE_TOKEN"
	}
	return fmt.Sprintf("%s returned status %d: %s%s", e.Server, e.Status, e.Detail, hint)
}

// IsStatus reports whether err is an error response with the status.
func IsStatus(err error, status int) bool {
	var problem *ProblemError
	return errors.As(err, &problem) && problem.Status == status
}
