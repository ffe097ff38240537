package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

var (
	// ErrUnavailable: no answer, or none now. Asking later may help.
	ErrUnavailable = errors.New("prometheus does not answer")
	// ErrRefused: asked in a way, or as somebody, that the server does not take.
	ErrRefused = errors.New("prometheus refuses to answer")

	errURL = errors.New("no URL of a Prometheus server: write http://host:9090")
)

// Config says which server is asked, and how hard. Only URL is needed.
type Config struct {
	URL       string        // http or https, with the path before /api/v1 if there is one
	Token     string        // bearer token; none if empty
	Timeout   time.Duration // of one query; 10 s if zero
	PerSecond float64       // most queries in a second; 10 if zero
	Namespace string        // of Kubernetes, in which tries run; any if empty
	Container string        // in which they run; "base" if empty, as KubernetesPodOperator calls it
	Slack     time.Duration // by which the times of a pod may be off; 1 min if zero
}

// Client asks one server. It may be used by many goroutines at once, which share
// the rate.
type Client struct {
	cfg Config
	api v1.API

	mu   sync.Mutex
	next time.Time // when the next query may be sent
}

// New makes a Client and asks nothing yet. An error names what is wrong with URL.
func New(cfg Config) (*Client, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.PerSecond = cmp.Or(cfg.PerSecond, 10)
	cfg.Slack = cmp.Or(cfg.Slack, time.Minute)
	at, err := url.Parse(cfg.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errURL // the text may hold a password
	}
	client, err := api.NewClient(api.Config{Address: cfg.URL, Client: &http.Client{Transport: bearer(cfg.Token)}})
	if err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, api: v1.NewAPI(client)}, nil
}

// bearer is a token that goes with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// window reads the raw samples of the series that selector matches, from slack
// before from to slack after to.
func (c *Client) window(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	span := max(to.Sub(from), 0) + 2*c.cfg.Slack
	query := fmt.Sprintf("%s[%ds]", selector, int(math.Ceil(span.Seconds())))
	value, _, _, err := c.api.Query(asking, query, to.Add(c.cfg.Slack))
	if err != nil {
		return nil, explain(ctx, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("%w: %s was answered by a %s: is it a Prometheus server?", ErrRefused, query, value.Type())
	}
	return matrix, nil
}

// wait keeps the rate.
func (c *Client) wait(ctx context.Context) error {
	c.mu.Lock()
	now := time.Now()
	turn := c.next
	if turn.Before(now) {
		turn = now
	}
	c.next = turn.Add(time.Duration(float64(time.Second) / c.cfg.PerSecond))
	c.mu.Unlock()
	timer := time.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// explain tells what may pass from what will not.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var said *v1.Error
	if errors.As(err, &said) && (said.Type == v1.ErrBadData || said.Type == v1.ErrClient) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// selector writes an instant vector selector of labels and further matchers; a label
// with an empty value is one that the series must not have.
func selector(metric string, labels map[string]string, matchers ...string) string {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		matchers = append(matchers, fmt.Sprintf("%s=%q", name, labels[name]))
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}
