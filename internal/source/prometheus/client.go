// Package prometheus reads the memory and CPU usage of pods from a Prometheus server.
//
// It depends on the metrics of the kubelet (cAdvisor) and of kube-state-metrics, on the
// labels that Airflow's KubernetesPodOperator sets, and on the types of sizing, but not
// on storage or learning.
//
//	try ──Labels──▶ kube_pod_labels ──▶ pod ──one query──▶ samples ──▶ Usage
//
// Prometheus samples memory once per scrape, so a spike between two scrapes is missing.
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

	"github.com/prometheus/common/model"
)

var (
	// ErrUnavailable means that Prometheus did not respond, or that its response is neither valid nor a
	// rejection. A later retry may succeed.
	ErrUnavailable = errors.New("prometheus is unavailable")
	// ErrRejected means that the server rejected the query or the credentials.
	ErrRejected = errors.New("prometheus rejected the query")

	errInvalidURL = errors.New("parse the URL of Prometheus: invalid; use http://host:9090")
)

// Config configures a Client. Only URL is required.
type Config struct {
	URL        string        // http or https, with the path before /api/v1 if there is one
	Token      string        // bearer token; none if empty
	Timeout    time.Duration // of one query; 10 s if zero
	PerSecond  float64       // maximum number of queries per second; 10 if zero
	Namespaces Namespaces    // Kubernetes namespaces of the pods
	Container  string        // container of the task; "base" if empty, the default of KubernetesPodOperator
	Slack      time.Duration // time before the start and after the end of a try that queries also cover; 1 min if zero
}

// Client queries one server. It is safe for concurrent use; all callers share the rate
// limit.
type Client struct {
	cfg    Config
	server server

	mu   sync.Mutex // protects next
	next time.Time  // earliest time of the next query
}

// New returns a Client. It sends no request, and fails only if the URL is invalid.
func New(cfg Config) (*Client, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.PerSecond = cmp.Or(cfg.PerSecond, 10)
	cfg.Slack = cmp.Or(cfg.Slack, time.Minute)
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errInvalidURL // not quoted: it may contain a password
	}
	return &Client{cfg: cfg, server: server{base: base, http: &http.Client{Transport: bearer(cfg.Token)}}}, nil
}

type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// window returns the raw samples of the series that `selector` matches, from Config.Slack before the time `from` to
// Config.Slack after the time `to`.
func (c *Client) window(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	queryCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	span := max(to.Sub(from), 0) + 2*c.cfg.Slack
	query := fmt.Sprintf("%s[%ds]", selector, int(math.Ceil(span.Seconds())))
	matrix, err := c.server.query(queryCtx, query, to.Add(c.cfg.Slack))
	if err != nil {
		return nil, classify(ctx, err)
	}
	return matrix, nil
}

func (c *Client) wait(ctx context.Context) error {
	c.mu.Lock()
	now := time.Now()
	at := c.next
	if at.Before(now) {
		at = now
	}
	c.next = at.Add(time.Duration(float64(time.Second) / c.cfg.PerSecond))
	c.mu.Unlock()
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, ErrRejected) {
		return err
	}
	if reported, ok := errors.AsType[*apiError](err); ok && (reported.kind == badData || reported.kind == clientError) {
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// selector returns the PromQL selector of a metric. An empty value in `labels` selects the series without that label.
func selector(metric string, labels map[string]string, matchers ...string) string {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		matchers = append(matchers, fmt.Sprintf("%s=%q", name, labels[name]))
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}
