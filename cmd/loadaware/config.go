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
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/kelseyhightower/envconfig"

	"github.com/loadaware/loadaware/internal/sizing"
)

// config is all that can be set from outside. Flags override the environment,
// which overrides the defaults. Every variable begins with LOADAWARE_, but for
// DATABASE_URL, which platforms set, and those of OpenTelemetry.
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
	dsn         string          // of the store that openStore opened
	statements  pgx.QueryTracer // is told of every statement to the database; nobody if nil
	SearchEvery time.Duration   `envconfig:"SEARCH_EVERY"`
	MinMemory   memoryAmount    `envconfig:"MIN_MEMORY"`
	Keep        keptFor         `envconfig:"KEEP"`
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

// options are the flags that stand for fields of config; a verb chooses some.
func (c *config) options() map[string]option {
	return map[string]option{
		"addr":           {at: &c.Addr, env: "LOADAWARE_ADDR", does: "address to serve on"},
		"admin-addr":     {at: &c.AdminAddr, env: "LOADAWARE_ADMIN_ADDR", does: `address of /metrics and /debug/pprof; "" for none`},
		"data":           {at: &c.Data, env: "LOADAWARE_DATA", does: "folder of the private PostgreSQL that is started where no database is named"},
		"database":       {at: &c.DatabaseURL, env: "DATABASE_URL", does: "PostgreSQL 15 or newer, as postgres://user:password@host:5432/name" + seen},
		"tokens":         {at: &c.Tokens, env: "LOADAWARE_TOKENS", does: "hashed bearer tokens, separated by commas; loadaware token makes one"},
		"tokens-file":    {at: &c.TokensFile, env: "LOADAWARE_TOKENS_FILE", does: "file of hashed bearer tokens, read where --tokens is empty; a first start without it makes a token, prints it once and writes its hash there"},
		"tls-cert":       {at: &c.TLSCert, env: "LOADAWARE_TLS_CERT", does: "file of the certificate to serve over TLS with, its chain behind it, in PEM; read again when it changes"},
		"tls-key":        {at: &c.TLSKey, env: "LOADAWARE_TLS_KEY", does: "file of its key"},
		"tls-client-ca":  {at: &c.TLSClientCA, env: "LOADAWARE_TLS_CLIENT_CA", does: "file of the authorities of which callers must show a certificate; none need one if empty"},
		"url":            {at: &c.URL, env: "LOADAWARE_URL", does: "server to send to"},
		"token":          {at: &c.Token, env: "LOADAWARE_TOKEN", does: "bearer token to send" + seen},
		"airflow-url":    {at: &c.AirflowURL, flag: "url", env: "LOADAWARE_AIRFLOW_URL", does: "web server (2.x) or API server (3.x) of Airflow, with the path before /api if there is one"},
		"airflow-user":   {at: &c.AirflowUser, flag: "user", env: "LOADAWARE_AIRFLOW_USER", does: "user of Airflow, with the password of LOADAWARE_AIRFLOW_PASSWORD"},
		"prometheus-url": {at: &c.PrometheusURL, flag: "url", env: "LOADAWARE_PROMETHEUS_URL", does: "Prometheus that scraped the pods, with the path before /api/v1 if there is one"},
		"prometheus":     {at: &c.PrometheusURL, env: "LOADAWARE_PROMETHEUS_URL", does: "Prometheus that scraped the pods, with the path before /api/v1 if there is one"},
		"into":           {at: &c.URL, env: "LOADAWARE_URL", does: "server to send to, with the token of LOADAWARE_TOKEN if it wants one"},
	}
}

// seen is said of the options that hold secrets.
const seen = "; in the environment rather than here, where the list of processes shows it"

type option struct {
	at        *string
	env, does string
	flag      string // where the flag has another name than the option
}

// defaults are fit for a first run on one machine.
func defaults() config {
	return config{
		Addr:        "127.0.0.1:8080",
		AdminAddr:   "127.0.0.1:9090",
		Data:        defaultData(),
		MaxConns:    8192,
		SearchEvery: 6 * time.Hour,
		MinMemory:   memoryAmount(64 * sizing.MiB),
		Keep:        keptFor{Observations: 365 * 24 * time.Hour, Receipts: 90 * 24 * time.Hour, Experiments: 365 * 24 * time.Hour},
	}
}

// defaultData is where the XDG base directory specification puts a user's data.
func defaultData() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "." // no home, as in some containers: the current folder
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "loadaware")
}

// command is the command line of one verb.
type command struct {
	config
	*flag.FlagSet
	usage string
	envs  map[string]string // flag → its environment variable
}

// newCommand makes the command line of a verb with the named options; the verb
// may define flags of its own. The first line of usage shows the arguments.
//
// The standard library's flags are enough here: every option is a long one.
func newCommand(name, usage string, options ...string) *command {
	cmd := &command{config: defaults(), FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), usage: usage, envs: map[string]string{}}
	cmd.SetOutput(io.Discard) // errors are told once, by run
	all := cmd.config.options()
	for _, name := range options {
		o := all[name]
		flag := cmp.Or(o.flag, name)
		cmd.StringVar(o.at, flag, *o.at, o.does)
		cmd.envs[flag] = o.env
	}
	return cmd
}

// parse reads the environment, then the arguments, of which it returns those
// that are no flags; flags may stand before, between and behind them.
func (cmd *command) parse(con console, args []string) ([]string, error) {
	if err := envconfig.Process("loadaware", &cmd.config); err != nil {
		return nil, usageErrorf("the environment is not understood: %v", err)
	}
	var plain []string
	for {
		err := cmd.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			cmd.help(con.out)
			return nil, err
		}
		if err != nil {
			return nil, usageErrorf("%v; see loadaware %s --help", err, cmd.Name())
		}
		if ended := len(args) - cmd.NArg(); cmd.NArg() == 0 || ended > 0 && args[ended-1] == "--" {
			if cmd.given("data") && !cmd.given("database") {
				cmd.DatabaseURL = "" // the flag overrides the environment
			}
			return append(plain, cmd.Args()...), nil
		}
		plain, args = append(plain, cmd.Arg(0)), cmd.Args()[1:]
	}
}

// given reports whether a flag stood on the command line.
func (cmd *command) given(name string) bool {
	found := false
	cmd.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// serverGiven reports whether the command line names the server to send to. To some
// verbs --url is another server.
func (cmd *command) serverGiven() bool {
	return cmd.given("into") || cmd.given("url") && cmd.envs["url"] == "LOADAWARE_URL"
}

// help says every flag with its default and its environment variable.
func (cmd *command) help(w io.Writer) {
	fmt.Fprintf(w, "Usage: loadaware %s %s\n\nFlags (they override the environment):\n", cmd.Name(), strings.TrimSpace(cmd.usage))
	cmd.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		said := "default " + cmp.Or(f.DefValue, "none")
		if env := cmd.envs[f.Name]; env != "" {
			said = env + "; " + said
		}
		fmt.Fprintf(w, "  %s\n        %s (%s)\n", strings.TrimSpace("--"+f.Name+" "+strings.ToUpper(kind)), text, said)
	})
	fmt.Fprintf(w, "\nLOADAWARE_LOG_LEVEL is debug, info, warn or error (default info), LOADAWARE_LOG_FORMAT text or json (default text).\n"+
		"LOADAWARE_MAX_CONNECTIONS is how many callers may be connected to serve at once (default 8192).\n"+
		"OTEL_EXPORTER_OTLP_ENDPOINT names a collector of traces (default none).\n\n%s", exitCodes)
}
