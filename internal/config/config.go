// Package config contains the settings of the program and their defaults. The command line
// sets the same fields.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/loadaware/loadaware/internal/cgroup"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

// Config has the settings that envconfig reads from the environment. The documented names of the variables begin with
// LOADAWARE_, except the usual names DATABASE_URL and DATABASE_REPLICA_URL and the variables of OpenTelemetry.
type Config struct {
	Addr         string        `envconfig:"ADDR"`                 // address on which the server listens
	AdminAddr    string        `envconfig:"ADMIN_ADDR"`           // address of /metrics and /debug/pprof; "": none
	Data         string        `envconfig:"DATA"`                 // folder of the private PostgreSQL, which the server starts if DatabaseURL is empty
	DatabaseURL  string        `envconfig:"DATABASE_URL"`         // "": the private PostgreSQL
	ReplicaURL   string        `envconfig:"DATABASE_REPLICA_URL"` // a streaming standby for reads; "": none
	Tokens       string        `envconfig:"TOKENS"`               // roles with hashed tokens, separated by commas; see auth.ParseToken
	TokensFile   string        `envconfig:"TOKENS_FILE"`          // used if Tokens is empty
	TLSCert      string        `envconfig:"TLS_CERT"`             // file; "": no TLS
	TLSKey       string        `envconfig:"TLS_KEY"`              // file
	TLSClientCA  string        `envconfig:"TLS_CLIENT_CA"`        // file; "": callers need no certificate
	MaxConns     int           `envconfig:"MAX_CONNECTIONS"`      // largest number of client connections
	LogLevel     slog.Level    `envconfig:"LOG_LEVEL"`
	LogFormat    LogFormat     `envconfig:"LOG_FORMAT"`
	TraceURL     string        `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT"` // "": no tracing
	TraceHeaders string        `envconfig:"OTEL_EXPORTER_OTLP_HEADERS"`  // may contain a token
	SearchEvery  time.Duration `envconfig:"SEARCH_EVERY"`                // time between parameter searches; 0: no searches
	Background   bool          `envconfig:"BACKGROUND_TRAINING"`         // whether to train tasks with new reports, and to do the other background work of trainer.Trainer.Run
	Similar      bool          `envconfig:"SIMILAR_TASKS"`               // whether similar tasks size tasks without history
	MinMemory    MemoryAmount  `envconfig:"MIN_MEMORY"`                  // smallest amount that a model grants; 0: no minimum
	ModelMemory  MemoryAmount  `envconfig:"MODEL_MEMORY"`                // largest memory of the decoded models; 0: no bound
	Keep         RetentionAges `envconfig:"KEEP"`
	PriceGBHour  Price         `envconfig:"PRICE_GB_HOUR"`   // of one GB (1e9 bytes) for one hour
	PriceCore    Price         `envconfig:"PRICE_CORE_HOUR"` // of one core for one hour
	Currency     string        `envconfig:"PRICE_CURRENCY"`
	UI           Pages         `envconfig:"UI"`
	URL          string        `envconfig:"URL"`   // server of the commands; "": the server at Addr
	Token        string        `envconfig:"TOKEN"` // bearer token of the commands

	AirflowURL      string `envconfig:"AIRFLOW_URL"`
	AirflowUser     string `envconfig:"AIRFLOW_USER"`
	AirflowPassword string `envconfig:"AIRFLOW_PASSWORD"`
	AirflowToken    string `envconfig:"AIRFLOW_TOKEN"`
	PrometheusToken string `envconfig:"PROMETHEUS_TOKEN"`

	PrometheusURL        string                `envconfig:"PROMETHEUS_URL"`
	PrometheusNamespaces prometheus.Namespaces `envconfig:"PROMETHEUS_NAMESPACE"`
	PrometheusContainer  string                `envconfig:"PROMETHEUS_CONTAINER"`
	PrometheusDelay      time.Duration         `envconfig:"PROMETHEUS_DELAY"`  // time from the end of a try (of an unreported try: its expected end) to its first lookup
	PrometheusWithin     time.Duration         `envconfig:"PROMETHEUS_WITHIN"` // time from the end of a try (of an unreported try: its first lookup) to its last lookup
	PrometheusEvery      time.Duration         `envconfig:"PROMETHEUS_EVERY"`  // time between two passes, which look up tries in Prometheus
}

// Defaults returns settings that suit a first run on one machine.
func Defaults() Config {
	return Config{
		Addr:        "127.0.0.1:8080",
		AdminAddr:   "127.0.0.1:9090",
		Data:        defaultData(),
		MaxConns:    8192,
		SearchEvery: 6 * time.Hour,
		Background:  true,
		Similar:     true,
		MinMemory:   MemoryAmount(64 * sizing.MiB),
		ModelMemory: defaultModelMemory(cgroup.MemoryLimit("/")),
		Keep:        defaultRetention(),
	}
}

// defaultModelMemory returns a quarter of `limit`, the memory limit of the container in bytes, because training, requests
// and the garbage collector need the rest. Without a limit (0) it returns 1 GiB.
func defaultModelMemory(limit int64) MemoryAmount {
	if limit <= 0 {
		return MemoryAmount(sizing.GiB)
	}
	return MemoryAmount(limit / 4)
}

// defaultData follows the XDG base directory specification.
func defaultData() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "." // some containers have no home: use the current folder
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "loadaware")
}

// Error is an invalid command line or configuration.
type Error struct{ detail string }

// Error implements error.
func (e *Error) Error() string { return e.detail }

// Errorf returns an *Error.
func Errorf(format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...)}
}

// CheckDurations returns a joined error with one *Error per negative duration, or nil. It does not check Keep.
func (c *Config) CheckDurations() error {
	var errs []error
	for _, s := range []struct {
		name  string
		value time.Duration
	}{
		{"--search-every", c.SearchEvery}, {"LOADAWARE_PROMETHEUS_DELAY", c.PrometheusDelay},
		{"LOADAWARE_PROMETHEUS_WITHIN", c.PrometheusWithin}, {"LOADAWARE_PROMETHEUS_EVERY", c.PrometheusEvery},
	} {
		if s.value < 0 {
			errs = append(errs, Errorf("%s must not be negative: %s", s.name, s.value))
		}
	}
	return errors.Join(errs...)
}

// Location describes the database or the data folder in messages.
func (c *Config) Location() string {
	if c.DatabaseURL != "" {
		return "the database of DATABASE_URL"
	}
	if dir, err := filepath.Abs(c.Data); err == nil {
		return dir
	}
	return c.Data
}

// HasDatabase reports whether a database is configured or the data folder has the cluster of a private PostgreSQL.
func (c *Config) HasDatabase() bool {
	if c.DatabaseURL != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(c.Data, "postgres")) // see the layout in package pglocal
	return err == nil
}

// ServerAt returns the URL of a server with this configuration at an address.
func (c *Config) ServerAt(addr string) string {
	if c.TLSCert != "" {
		return "https://" + addr
	}
	return "http://" + addr
}

// AccessTokens returns the tokens that the server accepts; see auth.LoadTokens.
func (c *Config) AccessTokens() ([]auth.Token, *auth.FirstToken, error) {
	return auth.LoadTokens(c.Tokens, c.TokensFile)
}

// Prometheus returns the configuration of a client that sends at most perSecond queries
// per second; 0 means the default.
func (c *Config) Prometheus(perSecond float64) prometheus.Config {
	return prometheus.Config{
		URL: c.PrometheusURL, Token: c.PrometheusToken, Namespaces: c.PrometheusNamespaces, Container: c.PrometheusContainer,
		PerSecond: perSecond,
	}
}

// Airflow returns the configuration of a client that sends at most perSecond requests per
// second; 0 means the default.
func (c *Config) Airflow(perSecond float64) airflow.Config {
	return airflow.Config{URL: c.AirflowURL, User: c.AirflowUser, Password: c.AirflowPassword, Token: c.AirflowToken, PerSecond: perSecond}
}
