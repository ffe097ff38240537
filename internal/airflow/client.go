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
	// ErrUnavailable: no answer, or none now. Asking later may help.
	ErrUnavailable = errors.New("airflow does not answer")
	// ErrDenied: the user, the password or the token is not taken, or may not read.
	ErrDenied = errors.New("airflow does not let us in")
	// ErrNotFound: Airflow does not know it (any more).
	ErrNotFound = errors.New("airflow does not know it")
	// ErrAnswer: an answer in other words than those of the stable REST API.
	ErrAnswer = errors.New("airflow's answer is not understood")
)

// Config says which Airflow is read, as whom, and how hard. Only URL is needed.
type Config struct {
	URL       string        // of the web server (2.x) or the API server (3.x), with the path before /api if there is one
	User      string        // with Password: basic auth on 2.x, a token is fetched with them on 3.x
	Password  string        //
	Token     string        // bearer token; goes before User
	PerSecond float64       // most requests in a second; 10 if zero
	Patience  time.Duration // how long Airflow may be away; 1 min if zero

	// Waiting is called before each wait for an Airflow that is away, with the reason and
	// how long it waits; not called if nil.
	Waiting func(why error, wait time.Duration)
}

// Client reads one Airflow. It may be used by many goroutines, which share the rate.
type Client struct {
	cfg  Config
	base string // without a slash at the end
	api  string // "/api/v1" or "/api/v2"; empty until it is known
	http *http.Client

	mu    sync.Mutex
	next  time.Time // when the next request may be sent
	token string
}

// maxAnswer bounds what is read of one answer: a page of 100 instances with all that
// was rendered of them is a few megabytes.
const maxAnswer = 64 << 20

// Open finds out which API the server speaks, and whether it lets us in.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	at, err := url.Parse(cfg.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the URL of Airflow is not understood: write http://host:8080") // it may hold a password
	}
	if at.User != nil {
		return nil, errors.New("the URL of Airflow holds a user: leave it out, and name user and password by themselves")
	}
	cfg.PerSecond = cmp.Or(cfg.PerSecond, 10)
	cfg.Patience = cmp.Or(cfg.Patience, time.Minute)
	c := &Client{cfg: cfg, base: strings.TrimRight(cfg.URL, "/"), http: &http.Client{Timeout: 2 * time.Minute}, token: cfg.Token}
	if c.api, err = c.findAPI(ctx); err != nil {
		return nil, err
	}
	var dags struct{}
	return c, c.read(ctx, http.MethodGet, "/dags?limit=1", nil, &dags)
}

// findAPI is the newest API that the server speaks.
func (c *Client) findAPI(ctx context.Context) (string, error) {
	for _, api := range []string{"/api/v2", "/api/v1"} {
		var told struct {
			Version string `json:"version"`
		}
		switch err := c.read(ctx, http.MethodGet, api+"/version", nil, &told); {
		case err == nil:
			return api, nil
		case !errors.Is(err, ErrNotFound):
			return "", err
		}
	}
	return "", fmt.Errorf("%w: %s has neither /api/v2/version nor /api/v1/version: is it Airflow 2 or 3?", ErrAnswer, c.base)
}

// read asks and decodes the answer into to.
func (c *Client) read(ctx context.Context, method, path string, body, to any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		sent = nil
	}
	answer, err := c.ask(ctx, method, c.api+path, sent)
	if errors.Is(err, ErrDenied) && c.refresh() { // a token of 3.x ends after a day
		answer, err = c.ask(ctx, method, c.api+path, sent)
	}
	if err != nil {
		return err
	}
	return decode(path, answer, to)
}

// once sends one request. *awayError where repeating it may help.
func (c *Client) once(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	c.identify(request)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &awayError{cause: fmt.Errorf("%w: %w", ErrUnavailable, err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, &awayError{cause: fmt.Errorf("%w: the answer to %s %s broke off: %w", ErrUnavailable, method, path, err)}
	}
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("%w: %s %s is answered by more than %d MB", ErrAnswer, method, path, maxAnswer>>20)
	}
	told := fmt.Sprintf("%s %s is answered by %s%s", method, path, response.Status, detail(answer))
	switch status := response.StatusCode; {
	case status == http.StatusOK, status == http.StatusCreated:
		return answer, nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s", ErrDenied, told)
	case status == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", ErrNotFound, told)
	case status == http.StatusTooManyRequests, status >= 500:
		return nil, &awayError{cause: fmt.Errorf("%w: %s", ErrUnavailable, told), wait: retryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	return nil, fmt.Errorf("%w: %s", ErrAnswer, told)
}

// detail is what an error of 2.x or 3.x says in its own words, as far as it is text.
func detail(answer []byte) string {
	var said struct {
		Detail json.RawMessage `json:"detail"`
		Title  string          `json:"title"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return ""
	}
	text := strings.Trim(string(said.Detail), `"`)
	if text == "" || text == "null" {
		text = said.Title
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %.300s", text)
}
