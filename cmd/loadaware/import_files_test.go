package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const csvHeader = "dag_id,task_id,run_id,memory_max_bytes\n"

func folderOf(t *testing.T, files map[string]string) func(names ...string) []string {
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return func(names ...string) []string {
		var paths []string
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
}

func truncatedGzip(t *testing.T) string {
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	fmt.Fprint(zip, csvHeader)
	for n := range 5000 {
		fmt.Fprintf(zip, "d,cut,r%d,%d\n", n, (1000+n*7919%100_000)*1000)
	}
	require.NoError(t, zip.Close())
	return zipped.String()[:zipped.Len()/2]
}

func TestUnreadableFileDoesNotStopOthers(t *testing.T) {
	in := folderOf(t, map[string]string{
		"good.csv": csvHeader + "d,good,r,1000000000\n", "later.csv": csvHeader + "d,later,r,1000000000\n",
		"header.csv": csvHeader, "empty.csv": "", "unknown.csv": "dag,task\n1,2\n", "cut.csv.gz": truncatedGzip(t),
		"rejected.csv": csvHeader + "d,rejected,,1000000000\n",
	})
	for name, c := range map[string]struct {
		files []string
		code  int
		want  string // once on the error stream
		out   string
	}{
		"only a header":                   {in("header.csv"), 1, "header.csv: the file has a header and no rows", "0 rows read"},
		"an empty file":                   {in("empty.csv"), 1, "empty.csv: the file is empty", "0 rows read"},
		"a bad header before a good file": {in("unknown.csv", "good.csv"), 3, `unknown "dag", "task"`, "1 row read: 1 can"},
		"a bad header between good files": {in("good.csv", "unknown.csv", "later.csv"), 3, "1 file not imported", "2 rows read: 2 can"},
		"a missing file":                  {in("good.csv", "none.csv", "later.csv"), 3, "none.csv: no such file", "2 rows read: 2 can"},
		"only a header, and a good file":  {in("header.csv", "good.csv"), 3, "no rows", "1 row read: 1 can"},
		"no usable file":                  {in("empty.csv", "header.csv"), 1, "none of the 2 files", "0 rows read"},
		"a truncated stream":              {in("cut.csv.gz"), 1, "unexpected EOF", "rows read"},
		"a bad header and a bad row":      {in("unknown.csv", "rejected.csv"), 3, "1 file not imported, or not to the end; 1 row rejected", "1 row read: 0 can"},
		"good files":                      {in("good.csv", "later.csv"), 0, "", "2 rows read: 2 can"},
	} {
		code, out, stderr := invoke(t, "", append([]string{"import", "--dry-run"}, c.files...)...)
		assert.Equal(t, c.code, code, "%s: %s", name, stderr)
		assert.Contains(t, out, c.out, name)
		if c.want == "" {
			assert.Empty(t, stderr, name)
			continue
		}
		assert.Equal(t, 1, strings.Count(stderr, c.want), "%s: the message must occur once: %s", name, stderr)
	}
}

func TestRowsBeforeTruncationAreStored(t *testing.T) {
	server := startServer(t, database(t))
	in := folderOf(t, map[string]string{"cut.csv.gz": truncatedGzip(t)})
	code, _, stderr := invoke(t, "", append([]string{"import", "--url", server.url}, in("cut.csv.gz")...)...)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "repeat the import, which adds only the rest")
	assert.Greater(t, server.observations("d", "cut"), 100)
}
