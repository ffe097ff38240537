package airflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

func (c *Client) authenticate(r *http.Request) {
	token := c.currentToken()
	switch {
	case strings.HasSuffix(r.URL.Path, tokenPath): // the body contains user and password
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	case c.cfg.User != "":
		r.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
}

func (c *Client) currentToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// needsToken reports whether the client must fetch a token before its next request. Airflow 3 requires a token, because it has
// no basic authentication.
func (c *Client) needsToken() bool {
	return c.currentToken() == "" && c.cfg.User != "" && c.api == "/api/v2"
}

const tokenPath = "/auth/token"

// fetchToken fetches a token, if the client still needs one. Concurrent callers wait for the same token.
func (c *Client) fetchToken(ctx context.Context) error {
	c.fetching.Lock()
	defer c.fetching.Unlock()
	if !c.needsToken() {
		return nil
	}
	body, err := json.Marshal(map[string]string{"username": c.cfg.User, "password": c.cfg.Password})
	if err != nil {
		return err
	}
	response, err := c.send(ctx, http.MethodPost, tokenPath, body)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: Airflow gives no token for a user and a password; configure a token (%w)", ErrDenied, err)
	}
	if err != nil {
		return err
	}
	var decoded struct {
		Token string `json:"access_token"`
	}
	if err := decode(tokenPath, response, &decoded); err != nil {
		return err
	}
	if decoded.Token == "" {
		return missing(tokenPath, "access_token")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = decoded.Token
	return nil
}

// dropToken removes the denied token if it is still the current one, so that the next request fetches another. It
// reports whether the next request has another token. It does not remove a configured token.
func (c *Client) dropToken(denied string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if denied == "" || c.cfg.Token != "" {
		return false
	}
	if c.token == denied {
		c.token = ""
	}
	return true
}
