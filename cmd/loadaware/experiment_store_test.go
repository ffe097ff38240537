package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment/tracking/trackingtest"
	"github.com/loadaware/loadaware/internal/pglocal"
)

// shortRun is a command that runs a short experiment on the rows of the standard input.
var shortRun = []string{"experiment", "run", "--trace", "-", "--families", "final", "--seeds", "1", "--bins", "a=4,20"}

// The commands run, list, show and export get the URL of the server or the folder. The command compare gets the URL only.
func TestExperimentsWhileServerUsesDataFolder(t *testing.T) {
	dir := dataFolder(t)
	server := startServer(t, nil, "--data", dir)
	code, _, stderr := invoke(t, fortyRuns(), "import", "--url", server.url, "-")
	require.Zero(t, code, stderr)
	t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
	for name, where := range map[string][]string{"by url": {"--url", server.url}, "by folder": {"--data", dir}} {
		code, _, stderr := invoke(t, fortyRuns(), append(append([]string{}, shortRun...), append(where, "--save", name)...)...)
		require.Zero(t, code, stderr)
		assert.Contains(t, stderr, "in the store of "+server.url)
		code, out, stderr := invoke(t, "", append([]string{"experiment", "list"}, where...)...)
		require.Zero(t, code, stderr)
		assert.Regexp(t, name+` .* a +final +1\n`, out)
		code, out, stderr = invoke(t, "", append([]string{"experiment", "show", name}, where...)...)
		require.Zero(t, code, stderr)
		assert.Regexp(t, `a +serving +[0-9a-f]{12} +\d+\n`, out)
		folder := t.TempDir()
		code, _, stderr = invoke(t, "", append([]string{"experiment", "export", name, "--mlflow", folder}, where...)...)
		require.Zero(t, code, stderr)
		blobs, err := filepath.Glob(filepath.Join(folder, "*", "*", "artifacts", "models", "*.bin"))
		require.NoError(t, err)
		assert.NotEmpty(t, blobs)
	}
	code, out, stderr := invoke(t, "", "experiment", "compare", "by url", "by folder", "--url", server.url, "-o", "csv")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^a,.*,final,none,stratified,1,1,`, out)

	code, stored, stderr := invoke(t, "", append(append([]string{}, "experiment", "run", "-o", "csv"), append(shortRun[4:], "--data", dir)...)...)
	require.Zero(t, code, stderr)
	code, fromFile, stderr := invoke(t, fortyRuns(), append(shortRun, "-o", "csv")...)
	require.Zero(t, code, stderr)
	assert.Equal(t, fromFile, stored)
	server.post("/predict", map[string]any{"dag_id": "d", "task_id": "a", "requested": map[string]any{"memory": "1Gi"}}, nil)
}

func TestServerAndDatabaseShowSameExperiments(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	server := startServer(t, []string{"DATABASE_URL=" + dsn})
	for _, args := range [][]string{
		{"list"}, {"list", "-o", "json"}, {"list", "-o", "csv", "--limit", "1"}, {"list", "--before", "2", "-o", "markdown"},
		{"show", "1"}, {"show", "first", "-o", "json"}, {"show", "2", "-o", "csv"}, {"compare", "first", "2"}, {"compare", "1", "2", "-o", "json"},
	} {
		args = append([]string{"experiment"}, args...)
		code, stored, stderr := invoke(t, "", append(args, "--database", dsn)...)
		require.Zero(t, code, stderr)
		code, served, stderr := invoke(t, "", append(args, "--url", server.url)...)
		require.Zero(t, code, stderr)
		assert.Equal(t, stored, served, "%v", args)
	}
	code, _, stderr := invoke(t, "", "experiment", "show", "absent", "--url", server.url)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, `no experiment "absent" is stored`)
}

// TestSaveIsCheckedBeforeRun names a history file that does not exist: every case must fail
// before the command reads it.
func TestSaveIsCheckedBeforeRun(t *testing.T) {
	t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
	t.Setenv("DATABASE_URL", "")
	missing := filepath.Join(t.TempDir(), "none")
	t.Setenv("LOADAWARE_DATA", missing)
	private, err := pglocal.Start(t.Context(), pglocal.Config{DataDir: dataFolder(t), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, private.Stop()) })
	observer := startServer(t, append(database(t), "LOADAWARE_TOKENS=observe:"+strings.Repeat("ab", 32)))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no server and no folder":     {nil, "no server answers at http://127.0.0.1:1, and the data folder"},
		"a folder in use":             {[]string{"--data", private.DataDir()}, "is in use by process"},
		"an unavailable server":       {[]string{"--url", "http://127.0.0.1:1"}, "no response from http://127.0.0.1:1"},
		"a server that needs a token": {[]string{"--url", observer.url}, "returned status 401"},
		"an unavailable database":     {[]string{"--database", "postgres://127.0.0.1:1/none"}, "does not answer"},
	} {
		code, out, stderr := invoke(t, "", append([]string{"experiment", "run", "--trace", "absent.csv", "--save", "x"}, c.args...)...)
		assert.Equal(t, 1, code, name)
		assert.Empty(t, out, name)
		assert.Contains(t, stderr, "the experiment cannot be saved, so it does not run", name)
		assert.Contains(t, stderr, c.want, name)
	}
	_, err = os.Stat(missing)
	assert.ErrorIs(t, err, os.ErrNotExist, "the command creates no data folder")
}

func TestExperimentWithExistingNameIsSavedWithoutName(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	server := startServer(t, []string{"DATABASE_URL=" + dsn})
	for _, where := range [][]string{{"--database", dsn}, {"--url", server.url}} {
		code, _, stderr := invoke(t, fortyRuns(), append(append(append([]string{}, shortRun...), "--save", "first"), where...)...)
		require.Zero(t, code, stderr)
		assert.Contains(t, stderr, "this experiment will be saved without a name")
		assert.Regexp(t, `saved as experiment \d+ in `, stderr)
	}
}
