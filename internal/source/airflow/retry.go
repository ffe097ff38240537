package airflow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

type transientError struct {
	cause      error
	retryAfter time.Duration // from the header Retry-After; zero if absent
}

func (e *transientError) Error() string { return e.cause.Error() }
func (e *transientError) Unwrap() error { return e.cause }

// sendWithRetry sends a request and retries it after transient errors, with exponential backoff. The pauses
// sum to at most the time that retryFor returns. All requests only read or fetch a token, so a repeated
// request is harmless. With RetryFor of 1 min the pauses are 0.6, 1.2, 2.4, 4.8, 9.6, 10, 10, 10 and 10 s.
func (c *Client) sendWithRetry(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	pause := c.cfg.RetryFor / 100
	for waited := time.Duration(0); ; {
		response, err := c.attempt(ctx, method, path, body)
		var transient *transientError
		if !errors.As(err, &transient) || ctx.Err() != nil {
			return response, errors.Join(err, ctx.Err())
		}
		wait, limit := max(pause, transient.retryAfter), c.retryFor(err)
		if waited += wait; waited > limit {
			return nil, fmt.Errorf("gave up, because the pauses before retries would exceed %s: %w", limit, err)
		}
		if c.cfg.Retrying != nil {
			c.cfg.Retrying(err, wait)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		pause = min(2*pause, c.cfg.RetryFor/6)
	}
}

// dialRetryFor is the time for which Open retries an address that accepts no connection.
const dialRetryFor = 3 * time.Second

// retryFor returns a short time if Open cannot connect before it knows the API version: the address is probably wrong.
func (c *Client) retryFor(err error) time.Duration {
	var op *net.OpError
	if c.api == "" && errors.As(err, &op) && op.Op == "dial" {
		return min(dialRetryFor, c.cfg.RetryFor)
	}
	return c.cfg.RetryFor
}

func (c *Client) attempt(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	if err := c.waitForRate(ctx); err != nil {
		return nil, err
	}
	if err := c.fetchToken(ctx); err != nil {
		return nil, err
	}
	return c.send(ctx, method, path, body)
}

func (c *Client) waitForRate(ctx context.Context) error {
	c.mu.Lock()
	now := time.Now()
	at := c.next
	if at.Before(now) {
		at = now
	}
	c.next = at.Add(time.Duration(float64(time.Second) / c.cfg.PerSecond))
	c.mu.Unlock()
	return sleep(ctx, at.Sub(now))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter parses the header Retry-After (RFC 9110), which is seconds or a date. Anything else gives zero.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
