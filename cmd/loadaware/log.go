package main

import (
	"fmt"
	"log/slog"
)

// logFormat is how the lines of the log are written.
type logFormat string

const (
	logText logFormat = "text" // for a person; what is empty is this
	logJSON logFormat = "json" // for a collector: one object a line
)

// Decode implements envconfig.Decoder.
func (f *logFormat) Decode(value string) error {
	if *f = logFormat(value); *f != logText && *f != logJSON {
		return fmt.Errorf("LOADAWARE_LOG_FORMAT must be %s or %s", logText, logJSON)
	}
	return nil
}

// logger writes to the console's error stream.
func (c *config) logger(con console) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == logJSON {
		return slog.New(slog.NewJSONHandler(con.err, options))
	}
	return slog.New(slog.NewTextHandler(con.err, options))
}
