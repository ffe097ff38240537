package api_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

func TestCompressedDocumentsEqualTheFiles(t *testing.T) {
	for file, embedded := range map[string]func() ([]byte, error){"../openapi.yaml": api.OpenAPI, "docs.gen.html": api.DocsPage} {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		got, err := embedded()
		require.NoError(t, err)
		assert.Equal(t, len(want), len(got), "%s: run make gen", file)
		assert.True(t, string(want) == string(got), "%s: run make gen", file) // assert.Equal would print thousands of lines
		again, err := embedded()
		require.NoError(t, err)
		assert.Same(t, &got[0], &again[0], "the second call returns the result of the first")
	}
}
