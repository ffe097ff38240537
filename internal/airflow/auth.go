package airflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// identify says who asks: nobody, where no one is named.
func (c *Client) identify(r *http.Request) {
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, tokenPath): // its body says it
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	case c.cfg.User != "":
		r.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
}

// needsToken reports whether user and password must be exchanged first: 3.x knows no
// basic auth.
func (c *Client) needsToken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token == "" && c.cfg.User != "" && c.api == "/api/v2"
}

const tokenPath = "/auth/token"

// fetchToken exchanges user and password for a token, as 3.x has it.
func (c *Client) fetchToken(ctx context.Context) error {
	body, err := json.Marshal(map[string]string{"username": c.cfg.User, "password": c.cfg.Password})
	if err != nil {
		return err
	}
	answer, err := c.once(ctx, http.MethodPost, tokenPath, body)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: it gives no tokens for a password: name a token (%w)", ErrDenied, err)
	}
	if err != nil {
		return err
	}
	var told struct {
		Token string `json:"access_token"`
	}
	if err := decode(tokenPath, answer, &told); err != nil {
		return err
	}
	if told.Token == "" {
		return missing(tokenPath, "access_token")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = told.Token
	return nil
}

// refresh forgets a token that was fetched; false if there is none to forget.
func (c *Client) refresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	fetched := c.token != "" && c.cfg.Token == ""
	if fetched {
		c.token = ""
	}
	return fetched
}
