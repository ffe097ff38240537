package textfile_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/textfile"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, err := zip.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return zipped.String()
}

func TestOpenRemovesGzipAndByteOrderMark(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"a":                        "a",
		"\ufeff":                   "",
		"\ufeffa\ufeff":            "a\ufeff",
		gzipped(t, "a"):            "a",
		gzipped(t, "\ufeffa"):      "a",
		gzipped(t, ""):             "",
		"\xef\xbb":                 "\xef\xbb",
		"\ufeff" + "\x1f\x8b is a": "\x1f\x8b is a",
	} {
		opened, err := textfile.Open(strings.NewReader(text), 64)
		require.NoError(t, err, "%q", text)
		got, err := io.ReadAll(opened)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, string(got), "%q", text)
	}
	_, err := textfile.Open(strings.NewReader("\x1f\x8b is no gzip"), 64)
	assert.ErrorContains(t, err, "decompress gzip: ")
}
