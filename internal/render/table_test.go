package render

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableFormats(t *testing.T) {
	table := Table{Header: []string{"task", "rows"}, TextColumns: 1, Rows: [][]string{{"größer", "7"}, {"a|b", "1200"}}}
	for format, want := range map[string]string{
		"table":    "task    rows\ngrößer     7\na|b     1200\n",
		"markdown": "| task | rows |\n|---|---:|\n| größer | 7 |\n| a\\|b | 1200 |\n",
		"csv":      "task,rows\ngrößer,7\na|b,1200\n",
	} {
		var out bytes.Buffer
		require.NoError(t, table.Write(&out, format))
		assert.Equal(t, want, out.String(), format)
	}
}

func TestMarkdownEscapesBarsInHeader(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, (&Table{Header: []string{"a|b", "n"}, TextColumns: 1}).Write(&out, "markdown"))
	assert.Equal(t, "| a\\|b | n |\n|---|---:|\n", out.String())
}

func TestFigureIsExactInCSV(t *testing.T) {
	assert.Equal(t, "0.125", Figure("csv", 0.125, 1))
	assert.Equal(t, "0.12", Figure("table", 0.125, 2))
}
