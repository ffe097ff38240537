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

// awayError is an Airflow that may answer later: after wait, if it said so.
type awayError struct {
	cause error
	wait  time.Duration
}

func (e *awayError) Error() string { return e.cause.Error() }
func (e *awayError) Unwrap() error { return e.cause }

// ask repeats a request while Airflow is away, for as long as patience lasts. All
// requests only read, so that none does harm when it is repeated.
func (c *Client) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	pause := c.cfg.Patience / 100
	for waited := time.Duration(0); ; {
		answer, err := c.attempt(ctx, method, path, body)
		var away *awayError
		if !errors.As(err, &away) || ctx.Err() != nil {
			return answer, errors.Join(err, ctx.Err())
		}
		wait, patience := max(pause, away.wait), c.patience(err)
		if waited += wait; waited > patience {
			return nil, fmt.Errorf("gave up after %s: %w", patience, err)
		}
		if c.cfg.Waiting != nil {
			c.cfg.Waiting(err, wait)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		pause = min(2*pause, c.cfg.Patience/6)
	}
}

// firstContact is how long Open waits for an address that takes no connection.
const firstContact = 3 * time.Second

// patience is how long to wait after err. An address that never took a connection is more
// likely wrong than restarting, and the person who gave it waits for the answer.
func (c *Client) patience(err error) time.Duration {
	var op *net.OpError
	if c.api == "" && errors.As(err, &op) && op.Op == "dial" {
		return min(firstContact, c.cfg.Patience)
	}
	return c.cfg.Patience
}

func (c *Client) attempt(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	if c.needsToken() {
		if err := c.fetchToken(ctx); err != nil {
			return nil, err
		}
	}
	return c.once(ctx, method, path, body)
}

// takeTurn keeps the rate.
func (c *Client) takeTurn(ctx context.Context) error {
	c.mu.Lock()
	now := time.Now()
	turn := c.next
	if turn.Before(now) {
		turn = now
	}
	c.next = turn.Add(time.Duration(float64(time.Second) / c.cfg.PerSecond))
	c.mu.Unlock()
	return sleep(ctx, turn.Sub(now))
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

// retryAfter reads the header of RFC 9110: seconds, or a date. Zero if it says neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
