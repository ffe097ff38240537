package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kelseyhightower/envconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogFormats(t *testing.T) {
	lineOf := func() string {
		cfg := defaults()
		require.NoError(t, envconfig.Process("loadaware", &cfg))
		var err bytes.Buffer
		cfg.logger(console{err: &err}).Info("trained", "task", "etl.load")
		return err.String()
	}
	assert.Contains(t, lineOf(), "msg=trained task=etl.load")
	t.Setenv("LOADAWARE_LOG_FORMAT", "json")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lineOf()), &line))
	assert.Equal(t, "trained", line["msg"])
	assert.Equal(t, "etl.load", line["task"])

	t.Setenv("LOADAWARE_LOG_FORMAT", "xml")
	cfg := defaults()
	assert.ErrorContains(t, envconfig.Process("loadaware", &cfg), "LOADAWARE_LOG_FORMAT")
}
