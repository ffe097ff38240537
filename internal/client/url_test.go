package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestAnInvalidURLNamesItsFault(t *testing.T) {
	for url, want := range map[string]string{
		"127.0.0.1:8080":        "write http://127.0.0.1:8080",
		"localhost:8080":        "write http://localhost:8080",
		"ftp://loadaware":       "write http://loadaware",
		"http://":               "the host is missing",
		"http://localhost:80x":  "invalid port",
		"http://a host with/ b": "invalid character",
	} {
		c := client.Client{URL: url}
		_, err := c.Train(t.Context(), sizing.TaskKey{Namespace: "default", DAG: "d", Task: "t"})
		require.ErrorIs(t, err, client.ErrInvalidURL, url)
		require.ErrorContains(t, err, want, url)
	}
}
