package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal"
)

// runSmall is a quick experiment on forty rows of standard input.
var runSmall = []string{"experiment", "run", "--trace", "-", "--families", "final", "--seeds", "1", "--bins", "a=4,20"}

// A server holds the data folder. Everything about experiments works through it, by its
// address or by the folder.
func TestExperimentsWhileServerUsesDataFolder(t *testing.T) {
	dir := dataFolder(t)
	server := startServer(t, nil, "--data", dir)
	code, _, stderr := invoke(t, forty(), "import", "--url", server.url, "-")
	require.Zero(t, code, stderr)
	t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
	for name, where := range map[string][]string{"by url": {"--url", server.url}, "by folder": {"--data", dir}} {
		code, _, stderr := invoke(t, forty(), append(append([]string{}, runSmall...), append(where, "--save", name)...)...)
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

	// The history of the held folder is read beside the server.
	code, stored, stderr := invoke(t, "", append(append([]string{}, "experiment", "run", "-o", "csv"), append(runSmall[4:], "--data", dir)...)...)
	require.Zero(t, code, stderr)
	code, filed, stderr := invoke(t, forty(), append(runSmall, "-o", "csv")...)
	require.Zero(t, code, stderr)
	assert.Equal(t, filed, stored)
	server.post("/predict", map[string]any{"dag_id": "d", "task_id": "a", "requested": map[string]any{"memory": "1Gi"}}, nil)
}

// What a server and a database print of one experiment is the same.
func TestExperimentsOfServerEqualThoseOfDatabase(t *testing.T) {
	dsn := twoExperiments(t, "cd")
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

// Each of these fails before the history is read: the file of the history is absent.
func TestSaveIsCheckedBeforeRun(t *testing.T) {
	t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
	t.Setenv("DATABASE_URL", "")
	nowhere := filepath.Join(t.TempDir(), "none")
	t.Setenv("LOADAWARE_DATA", nowhere)
	held, err := pglocal.Start(t.Context(), pglocal.Config{DataDir: dataFolder(t), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, held.Stop()) })
	observer := startServer(t, append(database(t), "LOADAWARE_TOKENS=observe:"+strings.Repeat("ab", 32)))
	for claim, c := range map[string]struct {
		args []string
		says string
	}{
		"no server and no folder":     {nil, "no server answers at http://127.0.0.1:1, and the data folder"},
		"a folder that another holds": {[]string{"--data", held.DataDir()}, "is in use by process"},
		"a server that is away":       {[]string{"--url", "http://127.0.0.1:1"}, "no response from http://127.0.0.1:1"},
		"a server that wants a token": {[]string{"--url", observer.url}, "returned status 401"},
		"a database that is away":     {[]string{"--database", "postgres://127.0.0.1:1/none"}, "does not answer"},
	} {
		code, out, stderr := invoke(t, "", append([]string{"experiment", "run", "--trace", "absent.csv", "--save", "x"}, c.args...)...)
		assert.Equal(t, 1, code, claim)
		assert.Empty(t, out, claim)
		assert.Contains(t, stderr, "the experiment cannot be saved, so it does not run", claim)
		assert.Contains(t, stderr, c.says, claim)
	}
	_, err = os.Stat(nowhere)
	assert.ErrorIs(t, err, os.ErrNotExist, "no second store came about")
}

func TestExistingNameIsReportedBeforeRun(t *testing.T) {
	dsn := twoExperiments(t, "cd")
	server := startServer(t, []string{"DATABASE_URL=" + dsn})
	for _, where := range [][]string{{"--database", dsn}, {"--url", server.url}} {
		code, _, stderr := invoke(t, forty(), append(append(append([]string{}, runSmall...), "--save", "first"), where...)...)
		require.Zero(t, code, stderr)
		assert.Contains(t, stderr, "this experiment will be saved without a name")
		assert.Regexp(t, `kept as experiment \d+ in `, stderr)
	}
}
