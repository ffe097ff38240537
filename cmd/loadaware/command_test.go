package main

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/config"
)

func TestFlagsOverrideEnvironmentAndDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"the default":              {want: "127.0.0.1:8080"},
		"the environment":          {env: map[string]string{"LOADAWARE_ADDR": "127.0.0.1:1"}, want: "127.0.0.1:1"},
		"the flag":                 {env: map[string]string{"LOADAWARE_ADDR": "127.0.0.1:1"}, args: []string{"--addr", "127.0.0.1:2"}, want: "127.0.0.1:2"},
		"a flag after an argument": {args: []string{"plain", "--addr=127.0.0.1:3"}, want: "127.0.0.1:3"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range c.env {
				t.Setenv(variable, value)
			}
			cmd := cli.New("serve", "", "addr")
			_, err := cmd.ParseArgs(discardConsole(), c.args)
			require.NoError(t, err)
			assert.Equal(t, c.want, cmd.Addr)
		})
	}
}

func TestAnEmptyVariableOverridesTheDefault(t *testing.T) {
	t.Setenv("LOADAWARE_ADMIN_ADDR", "")
	cmd := cli.New("serve", "", "admin-addr")
	_, err := cmd.ParseArgs(discardConsole(), nil)
	require.NoError(t, err)
	assert.Empty(t, cmd.AdminAddr, "an empty variable overrides the default")
}

func TestNegativeMinMemoryIsRejected(t *testing.T) {
	_, _, stderr := invoke(t, "", "serve", "--min-memory", "-5Mi")
	assert.Contains(t, stderr, `"-5Mi" must be above zero, or 0 for none`)
}

func TestFlagsMayFollowArguments(t *testing.T) {
	cmd := cli.New("import", "", "url")
	rest, err := cmd.ParseArgs(discardConsole(), []string{"a.csv", "--url", "http://h", "-", "b.csv", "--", "--odd.csv"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.csv", "-", "b.csv", "--odd.csv"}, rest)
}

func TestHelpListsFlagsWithDefaultAndVariable(t *testing.T) {
	t.Setenv("LOADAWARE_ADDR", "10.0.0.1:1") // the help must still print the default
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), cli.Console{Out: &out, Err: io.Discard}, []string{"serve", "--help"}))
	for _, want := range []string{
		"--addr STRING\n        address to serve on (LOADAWARE_ADDR; default 127.0.0.1:8080)",
		"(LOADAWARE_ADMIN_ADDR; default 127.0.0.1:9090)", "(DATABASE_URL; default none)", "LOADAWARE_DATA; default /", "LOADAWARE_TOKENS",
		"--demo\n", "Usage: loadaware serve [flags]\n", "LOADAWARE_SEARCH_EVERY; default 6h0m0s", "--min-memory QUANTITY\n", "LOADAWARE_MIN_MEMORY; default 64Mi", "LOADAWARE_LOG_LEVEL", "Exit codes:",
	} {
		assert.Contains(t, out.String(), want)
	}
}

func TestHelpListsOnlyVariablesThatTheCommandReads(t *testing.T) {
	variables := []string{"LOADAWARE_LOG_LEVEL", "LOADAWARE_MAX_CONNECTIONS", "OTEL_EXPORTER_OTLP_ENDPOINT"}
	for name, want := range map[string][]string{
		"serve": variables, "train": {variables[0], variables[2]}, "import": variables[:1], "backtest": nil, "tasks": nil,
	} {
		var out bytes.Buffer
		require.Zero(t, run(t.Context(), cli.Console{Out: &out, Err: io.Discard}, []string{name, "--help"}))
		for _, variable := range variables {
			assert.Equal(t, slices.Contains(want, variable), strings.Contains(out.String(), variable), "%s: %s", name, variable)
		}
	}
}

// The help texts of the commands that `loadaware --help` lists and of the commands below import must together have the flag
// and the environment variable of each option.
func TestEveryOptionBelongsToACommand(t *testing.T) {
	helpTexts := ""
	help := func(v cli.Subcommand, source ...string) {
		var out bytes.Buffer
		err := v.Run(t.Context(), cli.Console{Out: &out, Err: io.Discard}, append(source, "--help"))
		require.ErrorIs(t, err, flag.ErrHelp, v.Name)
		helpTexts += out.String()
	}
	for _, v := range subcommands() {
		help(v)
		if v.Name == "import" {
			help(v, "airflow")
			help(v, "prometheus")
			help(v, "usage-log")
		}
	}
	cfg := config.Defaults()
	for name, o := range cli.Options(&cfg) {
		assert.Contains(t, helpTexts, "--"+cmp.Or(o.Flag, name)+" ")
		assert.Contains(t, helpTexts, o.Env)
	}
}

func TestExitCodes(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	busy := other.Addr().String()
	for name, c := range map[string]struct {
		args []string
		want int
		text string
	}{
		"no command":               {nil, 2, "no command given"},
		"an unknown command":       {[]string{"serv"}, 2, `unknown command "serv"`},
		"an unknown flag":          {[]string{"serve", "--port", "1"}, 2, "see loadaware serve --help"},
		"too many arguments":       {[]string{"serve", "now"}, 2, "see loadaware serve --help"},
		"nothing to import":        {[]string{"import"}, 2, "name the files"},
		"an empty batch":           {[]string{"import", "--batch", "0", "x"}, 2, "--batch must be 1 to 10000"},
		"a malformed database":     {[]string{"migrate", "status", "--database", "foo"}, 2, "DATABASE_URL is malformed"},
		"an unknown migration":     {[]string{"migrate", "sideways"}, 2, "up, down or status"},
		"an invalid number":        {[]string{"migrate", "down", "half"}, 2, "number of steps"},
		"an unknown role":          {[]string{"token", "--role", "owner"}, 2, "unknown role"},
		"an invalid token":         {[]string{"serve", "--tokens", "secret"}, 2, "role:hash"},
		"a public address":         {[]string{"serve", "--addr", "0.0.0.0:0"}, 2, "loadaware token"},
		"an invalid address":       {[]string{"serve", "--addr", "here"}, 2, "use host:port"},
		"a missing file":           {[]string{"import", "--dry-run", "absent.csv"}, 1, "absent.csv"},
		"version":                  {[]string{"version"}, 0, ""},
		"arguments of version":     {[]string{"version", "foo"}, 2, `version takes no arguments, but was given ["foo"]; see loadaware version --help`},
		"arguments of token":       {[]string{"token", "foo"}, 2, "see loadaware token --help"},
		"arguments of profiles":    {[]string{"profiles", "1", "2"}, 2, "see loadaware profiles --help"},
		"arguments of doctor":      {[]string{"doctor", "foo"}, 2, `doctor takes no arguments, but was given ["foo"]`},
		"a bad format of doctor":   {[]string{"doctor", "-o", "xml"}, 2, `-o must be text or json, not "xml"`},
		"version as a flag":        {[]string{"--version"}, 0, ""},
		"an address in use":        {[]string{"serve", "--addr", busy, "--admin-addr", busy}, 1, "stop it, or choose another --addr"},
		"an admin address in use":  {[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", busy}, 1, "stop it, or choose another --admin-addr"},
		"an invalid admin address": {[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "here"}, 2, "use host:port"},
		"help":                     {[]string{"--help"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			assert.Equal(t, c.want, run(t.Context(), cli.Console{Out: io.Discard, Err: &stderr}, c.args))
			assert.Contains(t, stderr.String(), c.text)
		})
	}
}

func TestInvalidEnvironmentVariableIsNamed(t *testing.T) {
	t.Setenv("LOADAWARE_LOG_LEVEL", "loud")
	var stderr bytes.Buffer
	assert.Equal(t, 2, run(t.Context(), cli.Console{Out: io.Discard, Err: &stderr}, []string{"serve"}))
	assert.Contains(t, stderr.String(), "LOADAWARE_LOG_LEVEL")
}

func discardConsole() cli.Console {
	return cli.Console{In: bytes.NewReader(nil), Out: io.Discard, Err: io.Discard}
}

func TestHelpTextsOfFlagsAndArguments(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"policy", "--max-lifts INT\n        maximum lifts of one run, 0 to 20 (default unchanged)"},
		{"whatif", "accepted probability that a first try is OOM-killed, 0.0001 to 0.5 (default unchanged)"},
		{"backtest", "accepted probability that a first try is OOM-killed, 0.0001 to 0.5 (default 0.015)"},
		{"tasks", "  -o STRING\n"},
		{"version", "Usage: loadaware version\n\nPrints "},
	} {
		code, out, _ := invoke(t, "", c.command, "--help")
		assert.Zero(t, code)
		assert.Contains(t, out, c.want)
	}
}
