package main

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

// options returns the flags that set fields of c. A verb chooses some of them.
func options(c *config.Config) map[string]option {
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

// command is the command line of one verb.
type command struct {
	config.Config
	*flag.FlagSet
	usage string
	envs  map[string]string // environment variable of each flag
}

// newCommand returns the command line of a verb with the named options. The verb may
// define further flags. The first line of usage shows the arguments.
func newCommand(name, usage string, optionNames ...string) *command {
	cmd := &command{Config: config.Defaults(), FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), usage: usage, envs: map[string]string{}}
	cmd.SetOutput(io.Discard) // run prints errors
	all := options(&cmd.Config)
	for _, name := range optionNames {
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
	if err := envconfig.Process("loadaware", &cmd.Config); err != nil {
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

// splitList splits the value of a flag at commas and spaces.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
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
