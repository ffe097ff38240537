package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/kelseyhightower/envconfig"

	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

// config has all settings. Flags override the environment, which overrides the defaults.
// Every variable begins with LOADAWARE_ except DATABASE_URL, which platforms set, and
// those of OpenTelemetry.
type config struct {
	Addr        string          `envconfig:"ADDR"`
	AdminAddr   string          `envconfig:"ADMIN_ADDR"`
	Data        string          `envconfig:"DATA"`
	DatabaseURL string          `envconfig:"DATABASE_URL"`
	Tokens      string          `envconfig:"TOKENS"`
	TokensFile  string          `envconfig:"TOKENS_FILE"`
	TLSCert     string          `envconfig:"TLS_CERT"`
	TLSKey      string          `envconfig:"TLS_KEY"`
	TLSClientCA string          `envconfig:"TLS_CLIENT_CA"`
	MaxConns    int             `envconfig:"MAX_CONNECTIONS"`
	LogLevel    slog.Level      `envconfig:"LOG_LEVEL"`
	LogFormat   logFormat       `envconfig:"LOG_FORMAT"`
	TraceTo     string          `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	TraceAs     string          `envconfig:"OTEL_EXPORTER_OTLP_HEADERS"` // may hold a token
	dsn         string          // set by openStore
	statements  pgx.QueryTracer // traces database statements; none if nil
	SearchEvery time.Duration   `envconfig:"SEARCH_EVERY"`
	MinMemory   memoryAmount    `envconfig:"MIN_MEMORY"`
	Keep        retentionAges   `envconfig:"KEEP"`
	URL         string          `envconfig:"URL"`
	Token       string          `envconfig:"TOKEN"`

	AirflowURL      string `envconfig:"AIRFLOW_URL"`
	AirflowUser     string `envconfig:"AIRFLOW_USER"`
	AirflowPassword string `envconfig:"AIRFLOW_PASSWORD"`
	AirflowToken    string `envconfig:"AIRFLOW_TOKEN"`
	PrometheusToken string `envconfig:"PROMETHEUS_TOKEN"`

	PrometheusURL       string        `envconfig:"PROMETHEUS_URL"`
	PrometheusNamespace string        `envconfig:"PROMETHEUS_NAMESPACE"`
	PrometheusContainer string        `envconfig:"PROMETHEUS_CONTAINER"`
	PrometheusDelay     time.Duration `envconfig:"PROMETHEUS_DELAY"`
	PrometheusWithin    time.Duration `envconfig:"PROMETHEUS_WITHIN"`
	PrometheusEvery     time.Duration `envconfig:"PROMETHEUS_EVERY"`
}

// options returns the flags that set fields of config. A verb chooses some of them.
func (c *config) options() map[string]option {
	return map[string]option{
		"addr":           {field: &c.Addr, env: "LOADAWARE_ADDR", help: "address to serve on"},
		"admin-addr":     {field: &c.AdminAddr, env: "LOADAWARE_ADMIN_ADDR", help: `address of /metrics and /debug/pprof; "" for none`},
		"data":           {field: &c.Data, env: "LOADAWARE_DATA", help: "folder of the private PostgreSQL, which starts if no database is configured"},
		"database":       {field: &c.DatabaseURL, env: "DATABASE_URL", help: "PostgreSQL 15 or newer, as postgres://user:password@host:5432/name" + secretHint},
		"tokens":         {field: &c.Tokens, env: "LOADAWARE_TOKENS", help: "hashed bearer tokens, separated by commas; loadaware token creates one"},
		"tokens-file":    {field: &c.TokensFile, env: "LOADAWARE_TOKENS_FILE", help: "file of hashed bearer tokens, used if --tokens is empty; if it does not exist, the first start creates a token, prints it once and writes its hash there"},
		"tls-cert":       {field: &c.TLSCert, env: "LOADAWARE_TLS_CERT", help: "file of the TLS certificate with its chain in PEM; reloaded when it changes"},
		"tls-key":        {field: &c.TLSKey, env: "LOADAWARE_TLS_KEY", help: "file of the key of the certificate"},
		"tls-client-ca":  {field: &c.TLSClientCA, env: "LOADAWARE_TLS_CLIENT_CA", help: "file of the authorities for client certificates; callers need no certificate if empty"},
		"url":            {field: &c.URL, env: "LOADAWARE_URL", help: "URL of the server"},
		"token":          {field: &c.Token, env: "LOADAWARE_TOKEN", help: "bearer token for the server" + secretHint},
		"airflow-url":    {field: &c.AirflowURL, flag: "url", env: "LOADAWARE_AIRFLOW_URL", help: "URL of the web server (2.x) or API server (3.x) of Airflow, with the path before /api, if any"},
		"airflow-user":   {field: &c.AirflowUser, flag: "user", env: "LOADAWARE_AIRFLOW_USER", help: "user of Airflow; its password is LOADAWARE_AIRFLOW_PASSWORD"},
		"prometheus-url": {field: &c.PrometheusURL, flag: "url", env: "LOADAWARE_PROMETHEUS_URL", help: "URL of the Prometheus that scrapes the pods, with the path before /api/v1, if any"},
		"prometheus":     {field: &c.PrometheusURL, env: "LOADAWARE_PROMETHEUS_URL", help: "URL of the Prometheus that scrapes the pods, with the path before /api/v1, if any"},
		"into":           {field: &c.URL, env: "LOADAWARE_URL", help: "URL of the loadaware server; its token is LOADAWARE_TOKEN"},
	}
}

// secretHint is part of the help of options with secrets.
const secretHint = "; prefer the environment, because the list of processes shows flags"

// option is a flag that several verbs share.
type option struct {
	field     *string
	env, help string
	flag      string // name of the flag, if it differs from that of the option
}

// defaults returns settings that suit a first run on one machine.
func defaults() config {
	return config{
		Addr:        "127.0.0.1:8080",
		AdminAddr:   "127.0.0.1:9090",
		Data:        defaultData(),
		MaxConns:    8192,
		SearchEvery: 6 * time.Hour,
		MinMemory:   memoryAmount(64 * sizing.MiB),
		Keep:        retentionAges{Observations: 365 * 24 * time.Hour, Receipts: 90 * 24 * time.Hour, Experiments: 365 * 24 * time.Hour},
	}
}

// defaultData returns the data folder of the XDG base directory specification.
func defaultData() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "." // some containers have no home: use the current folder
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "loadaware")
}

// command is the command line of one verb.
type command struct {
	config
	*flag.FlagSet
	usage string
	envs  map[string]string // environment variable of each flag
}

// newCommand returns the command line of a verb with the named options. The verb may
// define further flags. The first line of usage shows the arguments.
func newCommand(name, usage string, options ...string) *command {
	cmd := &command{config: defaults(), FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), usage: usage, envs: map[string]string{}}
	cmd.SetOutput(io.Discard) // run prints errors
	all := cmd.config.options()
	for _, name := range options {
		o := all[name]
		flag := cmp.Or(o.flag, name)
		cmd.StringVar(o.field, flag, *o.field, o.help)
		cmd.envs[flag] = o.env
	}
	return cmd
}

// parse reads the environment and the flags, and returns the other arguments. Flags may be
// before, between and after them.
func (cmd *command) parse(con console, args []string) ([]string, error) {
	if err := envconfig.Process("loadaware", &cmd.config); err != nil {
		return nil, usageErrorf("parse the environment: %v", err)
	}
	var positional []string
	for {
		err := cmd.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			cmd.help(con.out)
			return nil, err
		}
		if err != nil {
			return nil, usageErrorf("%v; see loadaware %s --help", err, cmd.Name())
		}
		if end := len(args) - cmd.NArg(); cmd.NArg() == 0 || end > 0 && args[end-1] == "--" {
			if cmd.given("data") && !cmd.given("database") {
				cmd.DatabaseURL = "" // the flag overrides the environment
			}
			return append(positional, cmd.Args()...), nil
		}
		positional, args = append(positional, cmd.Arg(0)), cmd.Args()[1:]
	}
}

// given reports whether the command line sets a flag.
func (cmd *command) given(name string) bool {
	found := false
	cmd.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// serverGiven reports whether the command line names the loadaware server. Some verbs use
// --url for another server.
func (cmd *command) serverGiven() bool {
	return cmd.given("into") || cmd.given("url") && cmd.envs["url"] == "LOADAWARE_URL"
}

// help prints every flag with its default and its environment variable.
func (cmd *command) help(w io.Writer) {
	fmt.Fprintf(w, "Usage: loadaware %s %s\n\nFlags (they override the environment):\n", cmd.Name(), strings.TrimSpace(cmd.usage))
	cmd.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		note := "default " + cmp.Or(f.DefValue, "none")
		if env := cmd.envs[f.Name]; env != "" {
			note = env + "; " + note
		}
		fmt.Fprintf(w, "  %s\n        %s (%s)\n", strings.TrimSpace("--"+f.Name+" "+strings.ToUpper(kind)), text, note)
	})
	fmt.Fprintf(w, "\nLOADAWARE_LOG_LEVEL is debug, info, warn or error (default info), LOADAWARE_LOG_FORMAT text or json (default text).\n"+
		"LOADAWARE_MAX_CONNECTIONS is the maximum number of client connections of serve (default 8192).\n"+
		"OTEL_EXPORTER_OTLP_ENDPOINT is the URL of a trace collector (default none).\n\n%s", exitCodes)
}

// memoryAmount is a setting in bytes, written as a Kubernetes quantity; 0 means none.
type memoryAmount sizing.Bytes

// Decode implements envconfig.Decoder.
func (a *memoryAmount) Decode(value string) error {
	if value == "" || value == "0" {
		*a = 0
		return nil
	}
	b, err := sizing.ParseMemory(value)
	if err != nil {
		return fmt.Errorf("memory amount %w, or 0 for none", err)
	}
	*a = memoryAmount(b)
	return nil
}

// Set implements flag.Value.
func (a *memoryAmount) Set(value string) error { return a.Decode(value) }

// String implements flag.Value.
func (a *memoryAmount) String() string { return sizing.Bytes(*a).String() }

// logFormat is the format of log lines.
type logFormat string

const (
	logText logFormat = "text" // the default
	logJSON logFormat = "json" // one object per line
)

// Decode implements envconfig.Decoder.
func (f *logFormat) Decode(value string) error {
	if *f = logFormat(value); *f != logText && *f != logJSON {
		return fmt.Errorf("LOADAWARE_LOG_FORMAT must be %s or %s", logText, logJSON)
	}
	return nil
}

// logger returns a logger that writes to the error stream.
func (c *config) logger(con console) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == logJSON {
		return slog.New(slog.NewJSONHandler(con.err, options))
	}
	return slog.New(slog.NewTextHandler(con.err, options))
}

// splitList splits the value of a flag at commas and spaces.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// checkDurations returns the errors of negative durations.
func (c *config) checkDurations() error {
	var errs []error
	for name, d := range map[string]time.Duration{
		"--search-every": c.SearchEvery, "LOADAWARE_PROMETHEUS_DELAY": c.PrometheusDelay,
		"LOADAWARE_PROMETHEUS_WITHIN": c.PrometheusWithin, "LOADAWARE_PROMETHEUS_EVERY": c.PrometheusEvery,
	} {
		if d < 0 {
			errs = append(errs, usageErrorf("%s must not be negative: %s", name, d))
		}
	}
	return errors.Join(errs...)
}

// format defines the flag -o of a list.
func (cmd *command) format() *string {
	return cmd.String("o", "table", "output: "+strings.Join(render.Formats(), ", "))
}

// checkFormat checks the value of the flag that format defines.
func checkFormat(format string) error {
	if !slices.Contains(render.Formats(), format) {
		return usageErrorf("-o must be one of %s, not %q", strings.Join(render.Formats(), ", "), format)
	}
	return nil
}
