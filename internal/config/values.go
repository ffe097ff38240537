package config

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// MemoryAmount is a setting in bytes, written as a Kubernetes quantity such as 512Mi; 512MiB is allowed, too. 0 means
// no bound.
type MemoryAmount sizing.Bytes

// Decode implements envconfig.Decoder.
func (a *MemoryAmount) Decode(value string) error {
	if value == "" || value == "0" {
		*a = 0
		return nil
	}
	b, err := sizing.ParseMemory(strings.TrimSuffix(value, "B"))
	if err != nil {
		return fmt.Errorf("memory amount %w, or 0 for none", err)
	}
	*a = MemoryAmount(b)
	return nil
}

// Set implements flag.Value.
func (a *MemoryAmount) Set(value string) error { return a.Decode(value) }

// String implements flag.Value.
func (a *MemoryAmount) String() string { return sizing.Bytes(*a).String() }

// LogFormat is the format of log lines.
type LogFormat string

const (
	logText LogFormat = "text" // the default
	logJSON LogFormat = "json" // one object per line
)

// Decode implements envconfig.Decoder.
func (f *LogFormat) Decode(value string) error {
	if *f = LogFormat(value); *f != logText && *f != logJSON {
		return fmt.Errorf("LOADAWARE_LOG_FORMAT %q: unknown format; use %s or %s", value, logText, logJSON)
	}
	return nil
}

// Logger returns a logger that writes to w.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
