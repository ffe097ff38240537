package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStrictImportSendsNothingIfRowIsUnreadable(t *testing.T) {
	server := startServer(t, database(t))
	good, bad := filepath.Join(t.TempDir(), "good.csv"), filepath.Join(t.TempDir(), "bad.csv")
	header, _, _ := strings.Cut(goodAndBad, "\n")
	require.NoError(t, os.WriteFile(good, []byte(header+"\netl,load,r1,1000000000,\netl,load,r3,3000000000,\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte(goodAndBad), 0o600))
	for name, c := range map[string]struct {
		in   string
		args []string
	}{
		"standard input":     {goodAndBad, []string{"-"}},
		"a file":             {"", []string{bad}},
		"a good file first":  {"", []string{good, bad}},
		"a good file last":   {"", []string{bad, good}},
		"batches of one row": {goodAndBad, []string{"--batch", "1", "-"}},
		"an unknown header":  {"a,b\n1,2\n", []string{good, "-"}},
		"a missing file":     {"", []string{good, "absent.csv"}},
	} {
		code, out, stderr := invoke(t, c.in, append([]string{"import", "--strict", "--url", server.url}, c.args...)...)
		assert.Equal(t, 1, code, name)
		assert.Contains(t, out, "nothing was sent", name)
		assert.NotContains(t, out, "new", name)
		assert.NotEmpty(t, stderr, name)
	}
	assert.Equal(t, 0, server.observations("etl", "load"))
	code, out, stderr := invoke(t, header+"\netl,load,r9,1000000000,\n", "import", "--strict", "--url", server.url, good, "-")
	assert.Zero(t, code, stderr)
	assert.Equal(t, "3 rows read: 3 new, 0 already there, 0 amended, 0 rejected\n", out)

	// A rejection by the server ends the import with that batch.
	conflict := header + "\netl,load,r1,7,\netl,load,r10,1000000000,\n"
	code, out, stderr = invoke(t, conflict, "import", "--strict", "--batch", "1", "--url", server.url, "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "0 new")
	assert.Contains(t, stderr, "1 row rejected, and --strict stops the import")
	assert.Equal(t, 3, server.observations("etl", "load"))
	conflict = header + "\netl,load,r20,1000000000,\netl,load,r20,2000000000,\netl,load,r21,1000000000,\netl,load,r22,1000000000,\n"
	code, out, stderr = invoke(t, conflict, "import", "--strict", "--batch", "3", "--url", server.url, "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "2 new")
	assert.Contains(t, stderr, "--strict stops the import (stored rows stay;")
	assert.Equal(t, 5, server.observations("etl", "load"), "the other rows of the batch are stored")
	code, _, _ = invoke(t, goodAndBad, "import", "--strict", "--dry-run", "-")
	assert.Equal(t, 1, code)
}

func TestImportWithColumnMapping(t *testing.T) {
	server := startServer(t, database(t))
	const table = "pipeline,task_id,run_id,peak,n,note\netl,load,r1,1.5,10,a\netl,load,r2,2,20,b\n"
	code, out, stderr := invoke(t, table, "import", "--url", server.url, "--unit", "GB", "--map", "pipeline=dag_id",
		"--map", "peak=memory_max_bytes", "--map", "n=feature.rows", "--map", "note=", "-")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "2 new")
	code, out, stderr = invoke(t, "", "tasks", "--url", server.url, "-o", "csv")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, ",2000000000,2,0\n")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown unit":  {[]string{"--unit", "gigs", "-"}, 2, `"gigs" is not a unit of memory: use B, kB, MB`},
		"an unknown field": {[]string{"--map", "peak=ram", "-"}, 2, `unknown field "ram"; use one of namespace, dag_id`},
		"no equals sign":   {[]string{"--map", "peak", "-"}, 2, "write COLUMN=FIELD"},
		"a column twice":   {[]string{"--map", "a=dag_id", "--map", "a=task_id", "-"}, 2, `column "a" is mapped twice`},
		"a missing column": {[]string{"--map", "top=memory_max_bytes", "-"}, 1, `map column "top"`},
	} {
		code, _, stderr := invoke(t, table, append([]string{"import", "--dry-run"}, c.args...)...)
		assert.Equal(t, c.code, code, name)
		assert.Contains(t, stderr, c.want, name)
	}
}
