package main

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"net"
	"testing"
	"time"

	"github.com/kelseyhightower/envconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestFlagsOverrideEnvironmentAndDefaults(t *testing.T) {
	for claim, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"the default":               {want: "127.0.0.1:8080"},
		"the environment":           {env: map[string]string{"LOADAWARE_ADDR": "127.0.0.1:1"}, want: "127.0.0.1:1"},
		"the flag":                  {env: map[string]string{"LOADAWARE_ADDR": "127.0.0.1:1"}, args: []string{"--addr", "127.0.0.1:2"}, want: "127.0.0.1:2"},
		"a flag behind an argument": {args: []string{"plain", "--addr=127.0.0.1:3"}, want: "127.0.0.1:3"},
	} {
		t.Run(claim, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			cmd := newCommand("serve", "", "addr")
			_, err := cmd.parse(discardConsole(), c.args)
			require.NoError(t, err)
			assert.Equal(t, c.want, cmd.Addr)
		})
	}
}

func TestEmptyEnvironmentVariable(t *testing.T) {
	t.Setenv("LOADAWARE_ADMIN_ADDR", "")
	cmd := newCommand("serve", "", "admin-addr")
	_, err := cmd.parse(discardConsole(), nil)
	require.NoError(t, err)
	assert.Empty(t, cmd.AdminAddr, "switched off")
}

func TestZeroDisablesSearch(t *testing.T) {
	t.Setenv("LOADAWARE_SEARCH_EVERY", "0")
	cfg := defaults()
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Zero(t, cfg.SearchEvery)
	t.Setenv("LOADAWARE_SEARCH_EVERY", "90m")
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, 90*time.Minute, cfg.SearchEvery)
}

func TestMinMemoryIsQuantity(t *testing.T) {
	cfg := defaults()
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, memoryAmount(64*sizing.MiB), cfg.MinMemory)
	for value, want := range map[string]sizing.Bytes{"128Mi": 128 * sizing.MiB, "0": 0, "1G": 1e9} {
		t.Setenv("LOADAWARE_MIN_MEMORY", value)
		require.NoError(t, envconfig.Process("loadaware", &cfg))
		assert.Equal(t, memoryAmount(want), cfg.MinMemory)
	}
	t.Setenv("LOADAWARE_MIN_MEMORY", "some")
	assert.ErrorContains(t, envconfig.Process("loadaware", &cfg), `"some" is not a quantity`)
	t.Setenv("LOADAWARE_MIN_MEMORY", "0")
	_, _, stderr := invoke(t, "", "serve", "--min-memory", "-5Mi")
	assert.Contains(t, stderr, `"-5Mi" must be above zero, or 0 for none`)
}

func TestArgumentOrder(t *testing.T) {
	cmd := newCommand("import", "", "url")
	rest, err := cmd.parse(discardConsole(), []string{"a.csv", "--url", "http://h", "-", "b.csv", "--", "--odd.csv"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.csv", "-", "b.csv", "--odd.csv"}, rest)
}

func TestHelpListsFlagsWithDefaultAndVariable(t *testing.T) {
	t.Setenv("LOADAWARE_ADDR", "10.0.0.1:1") // what is set is not the default
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), console{out: &out, err: io.Discard}, []string{"serve", "--help"}))
	for _, said := range []string{
		"--addr STRING\n        address to serve on (LOADAWARE_ADDR; default 127.0.0.1:8080)",
		"(LOADAWARE_ADMIN_ADDR; default 127.0.0.1:9090)", "(DATABASE_URL; default none)", "LOADAWARE_DATA; default /", "LOADAWARE_TOKENS",
		"--demo\n", "LOADAWARE_SEARCH_EVERY; default 6h0m0s", "--min-memory QUANTITY\n", "LOADAWARE_MIN_MEMORY; default 64Mi", "LOADAWARE_LOG_LEVEL", "Exit codes:",
	} {
		assert.Contains(t, out.String(), said)
	}
}

// Nothing may be set from outside that no --help tells of.
func TestEveryOptionBelongsToAVerb(t *testing.T) {
	told := ""
	help := func(v verb, of ...string) {
		var out bytes.Buffer
		err := v.run(t.Context(), console{out: &out, err: io.Discard}, append(of, "--help"))
		require.ErrorIs(t, err, flag.ErrHelp, v.name)
		told += out.String()
	}
	for _, v := range verbs() {
		help(v)
		if v.name == "import" {
			help(v, "airflow")
			help(v, "prometheus")
			help(v, "usage-log")
		}
	}
	cfg := defaults()
	for name, o := range cfg.options() {
		assert.Contains(t, told, "--"+cmp.Or(o.flag, name)+" ")
		assert.Contains(t, told, o.env)
	}
}

func TestExitCodes(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	busy := other.Addr().String()
	for claim, c := range map[string]struct {
		args []string
		want int
		said string
	}{
		"no command":                 {nil, 2, "no command given"},
		"an unknown command":         {[]string{"serv"}, 2, `unknown command "serv"`},
		"an unknown flag":            {[]string{"serve", "--port", "1"}, 2, "see loadaware serve --help"},
		"too many arguments":         {[]string{"serve", "now"}, 2, "takes no arguments"},
		"nothing to import":          {[]string{"import"}, 2, "name the files"},
		"a batch of none":            {[]string{"import", "--batch", "0", "x"}, 2, "--batch must be 1 to 10000"},
		"a migration of no kind":     {[]string{"migrate", "sideways"}, 2, "up, down or status"},
		"a migration by half":        {[]string{"migrate", "down", "half"}, 2, "number of steps"},
		"a role that is none":        {[]string{"token", "--role", "king"}, 2, "unknown role"},
		"tokens that are none":       {[]string{"serve", "--tokens", "secret"}, 2, "role:hash"},
		"beyond loopback, unguarded": {[]string{"serve", "--addr", "0.0.0.0:0"}, 2, "loadaware token"},
		"an address that is none":    {[]string{"serve", "--addr", "here"}, 2, "listen on --addr"},
		"a file that is not there":   {[]string{"import", "--dry-run", "nowhere.csv"}, 1, "nowhere.csv"},
		"version":                    {[]string{"version"}, 0, ""},
		"version as a flag":          {[]string{"--version"}, 0, ""},
		"one address for both":       {[]string{"serve", "--addr", busy, "--admin-addr", busy}, 1, "stop it, or choose another --addr"},
		"an admin address in use":    {[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", busy}, 1, "stop it, or choose another --admin-addr"},
		"an admin address of none":   {[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "here"}, 2, "listen on --admin-addr"},
		"help":                       {[]string{"--help"}, 0, ""},
	} {
		t.Run(claim, func(t *testing.T) {
			var stderr bytes.Buffer
			assert.Equal(t, c.want, run(t.Context(), console{out: io.Discard, err: &stderr}, c.args))
			assert.Contains(t, stderr.String(), c.said)
		})
	}
}

func TestInvalidEnvironmentVariableIsNamed(t *testing.T) {
	t.Setenv("LOADAWARE_LOG_LEVEL", "loud")
	var stderr bytes.Buffer
	assert.Equal(t, 2, run(t.Context(), console{out: io.Discard, err: &stderr}, []string{"serve"}))
	assert.Contains(t, stderr.String(), "LOADAWARE_LOG_LEVEL")
}

func discardConsole() console {
	return console{in: bytes.NewReader(nil), out: io.Discard, err: io.Discard}
}
