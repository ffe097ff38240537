package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kelseyhightower/envconfig"

	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/render"
)

// Options returns the flags that set text fields of `c`, by the name of the option. New chooses some of them for a command.
// The command may define other flags.
func Options(c *config.Config) map[string]Option {
	return map[string]Option{
		"addr":           {field: &c.Addr, Env: "LOADAWARE_ADDR", help: "address to serve on"},
		"admin-addr":     {field: &c.AdminAddr, Env: "LOADAWARE_ADMIN_ADDR", help: `address of /metrics and /debug/pprof; "" for none`},
		"data":           {field: &c.Data, Env: "LOADAWARE_DATA", help: "folder of the private PostgreSQL, which starts if no database is configured"},
		"database":       {field: &c.DatabaseURL, Env: "DATABASE_URL", help: "PostgreSQL 15 or newer, as postgres://user:password@host:5432/name" + secretHint},
		"replica":        {field: &c.ReplicaURL, Flag: "database-replica", Env: "DATABASE_REPLICA_URL", help: "streaming standby of the database, from which lists of tasks, recent tries, usage series, savings, experiments and the audit trail are read" + secretHint},
		"tokens":         {field: &c.Tokens, Env: "LOADAWARE_TOKENS", help: "hashed bearer tokens, separated by commas; loadaware token creates one"},
		"tokens-file":    {field: &c.TokensFile, Env: "LOADAWARE_TOKENS_FILE", help: "file of hashed bearer tokens, used if --tokens is empty; if it does not exist, the first start creates a token, prints it once and writes its hash there"},
		"tls-cert":       {field: &c.TLSCert, Env: "LOADAWARE_TLS_CERT", help: "file of the TLS certificate with its chain in PEM; reloaded when it changes"},
		"tls-key":        {field: &c.TLSKey, Env: "LOADAWARE_TLS_KEY", help: "file of the key of the certificate"},
		"tls-client-ca":  {field: &c.TLSClientCA, Env: "LOADAWARE_TLS_CLIENT_CA", help: "file of the authorities for client certificates; callers need no certificate if empty"},
		"url":            {field: &c.URL, Env: "LOADAWARE_URL", help: "URL of the server"},
		"token":          {field: &c.Token, Env: "LOADAWARE_TOKEN", help: "bearer token for the server" + secretHint},
		"airflow-url":    {field: &c.AirflowURL, Flag: "url", Env: "LOADAWARE_AIRFLOW_URL", help: "URL of the web server (2.x) or API server (3.x) of Airflow, with the path before /api, if any"},
		"airflow-user":   {field: &c.AirflowUser, Flag: "user", Env: "LOADAWARE_AIRFLOW_USER", help: "user of Airflow; its password is LOADAWARE_AIRFLOW_PASSWORD"},
		"prometheus-url": {field: &c.PrometheusURL, Flag: "url", Env: "LOADAWARE_PROMETHEUS_URL", help: "URL of the Prometheus that scrapes the pods, with the path before /api/v1, if any"},
		"prometheus":     {field: &c.PrometheusURL, Env: "LOADAWARE_PROMETHEUS_URL", help: "URL of the Prometheus that scrapes the pods, with the path before /api/v1, if any"},
		"into":           {field: &c.URL, Env: "LOADAWARE_URL", help: "URL of the loadaware server; its token is LOADAWARE_TOKEN"},
	}
}

const secretHint = "; prefer the environment, because the list of processes shows flags"

// Option is a flag that sets a field of the configuration.
type Option struct {
	field     *string
	Env, help string // name of the environment variable; text of the help
	Flag      string // name of the flag, if it differs from the name of the option
}

// Command is the command line of a subcommand: its flags, and the configuration that they set.
type Command struct {
	config.Config
	*flag.FlagSet
	usage     string
	Envs      map[string]string // environment variables by flag
	variables []string          // sentences of the help about environment variables without a flag
}

// Sentences of the help about environment variables without a flag, for DescribeVariables.
const (
	logVariables           = "LOADAWARE_LOG_LEVEL is debug, info, warn or error (default info), LOADAWARE_LOG_FORMAT text or json (default text)."
	MaxConnectionsVariable = "LOADAWARE_MAX_CONNECTIONS is the maximum number of client connections (default 8192)."
	TraceVariable          = "OTEL_EXPORTER_OTLP_ENDPOINT is the URL of a trace collector (default none)."
)

// New returns the command line of a subcommand with the named options. The subcommand may define
// further flags. The first line of `usage` shows the arguments.
func New(name, usage string, optionNames ...string) *Command {
	cmd := &Command{Config: config.Defaults(), FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), usage: usage, Envs: map[string]string{}}
	cmd.SetOutput(io.Discard) // the caller prints errors
	all := Options(&cmd.Config)
	for _, name := range optionNames {
		o := all[name]
		flag := cmp.Or(o.Flag, name)
		cmd.StringVar(o.field, flag, *o.field, o.help)
		cmd.Envs[flag] = o.Env
	}
	if slices.Contains(optionNames, "database") { // only commands that may open a database write a log
		cmd.DescribeVariables(logVariables)
	}
	return cmd
}

// DescribeVariables adds sentences about environment variables without a flag to the help.
func (cmd *Command) DescribeVariables(sentences ...string) {
	cmd.variables = append(cmd.variables, sentences...)
}

// ParseArgs reads the environment and the flags, and returns the other arguments. Flags may be
// before, between and after the other arguments. With -h or --help it prints the help and returns flag.ErrHelp.
func (cmd *Command) ParseArgs(con Console, args []string) ([]string, error) {
	if err := envconfig.Process("loadaware", &cmd.Config); err != nil {
		return nil, UsageErrorf("parse the environment: %v", err)
	}
	var positional []string
	for {
		err := cmd.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			cmd.help(con.Out)
			return nil, err
		}
		if err != nil {
			return nil, UsageErrorf("%v; see loadaware %s --help", err, cmd.Name())
		}
		if end := len(args) - cmd.NArg(); cmd.NArg() == 0 || end > 0 && args[end-1] == "--" {
			if cmd.Given("data") && !cmd.Given("database") {
				cmd.DatabaseURL = "" // the flag overrides the environment
			}
			return append(positional, cmd.Args()...), nil
		}
		positional, args = append(positional, cmd.Arg(0)), cmd.Args()[1:]
	}
}

// SetHelpDefault sets the default that the help shows for flags. It is for flags whose values are ignored if the
// command line does not set them.
func (cmd *Command) SetHelpDefault(text string, flags ...string) {
	for _, name := range flags {
		cmd.Lookup(name).DefValue = text
	}
}

// Given reports whether the command line sets a flag.
func (cmd *Command) Given(name string) bool {
	found := false
	cmd.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// ServerGiven reports whether the command line names the loadaware server. Some commands use
// --url for another server.
func (cmd *Command) ServerGiven() bool {
	return cmd.Given("into") || cmd.Given("url") && cmd.Envs["url"] == "LOADAWARE_URL"
}

func (cmd *Command) help(w io.Writer) {
	usage := strings.TrimSpace(cmd.usage)
	if !strings.HasPrefix(cmd.usage, "\n") { // usage begins with the arguments
		usage = " " + usage
	} else {
		usage = "\n\n" + usage
	}
	fmt.Fprintf(w, "Usage: loadaware %s%s\n\nFlags (they override the environment):\n", cmd.Name(), usage)
	cmd.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		note := "default " + cmp.Or(f.DefValue, "none")
		if env := cmd.Envs[f.Name]; env != "" {
			note = env + "; " + note
		}
		dashes := "--"
		if len(f.Name) == 1 {
			dashes = "-"
		}
		fmt.Fprintf(w, "  %s\n        %s (%s)\n", strings.TrimSpace(dashes+f.Name+" "+strings.ToUpper(kind)), text, note)
	})
	if len(cmd.variables) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(cmd.variables, "\n"))
	}
	fmt.Fprintf(w, "\n%s", ExitCodes)
}

// SplitList splits the value of a flag at commas and spaces.
func SplitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// FormatFlag defines the flag -o of a list.
func (cmd *Command) FormatFlag() *string {
	return cmd.String("o", "table", "output: "+strings.Join(render.Formats(), ", "))
}

// CheckFormat checks the value of the flag that FormatFlag defines.
func CheckFormat(format string) error {
	if !slices.Contains(render.Formats(), format) {
		return UsageErrorf("-o must be one of %s, not %q", strings.Join(render.Formats(), ", "), format)
	}
	return nil
}
