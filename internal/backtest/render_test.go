package backtest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// example returns reports to render. The first policy has a value in every column.
func example() []*Report {
	total := Figures{Rows: 200, UsedGBh: 8, WastedGBh: 12, Utilisation: 40, Killed: 2.5, Attempts: 206, Kills: 6, GaveUp: 1,
		Risk:   &Risk{Rows: 190, PromisedSum: 3.8, Killed: 5, Promised: 2, Realised: 2.63, Low: 1.13, High: 6.01},
		Causes: Causes{3, 6, 1.5, 1.5},
		Ages:   [ageCount]AgeFigures{{"1", 2, 1, 0.6, 0}, {"2-5", 8, 1, 2.4, 12.5}, {"6-32", 54, 2, 6, 1.2}, {"later", 136, 4, 3, 2.5}}}
	one, two := Figures{Utilisation: 41, Killed: 1, WastedGBh: 4, Causes: Causes{0, 4, 0, 0}, Ages: [ageCount]AgeFigures{3: {WastedGBh: 4}}}, Figures{Utilisation: 39, Killed: 4}
	return []*Report{{Trace: "h.csv", Feedback: "delayed", Rows: 200, LeftOut: 3, Results: []Result{
		{Policy: "loadaware", Figures: total, WorstHeavy: &Worst{"d/a", 1}, Tasks: []TaskFigures{{"d/a", one}, {"d/b", two}}},
		{Policy: "max", Figures: Figures{Utilisation: 14.55, Attempts: 200}, Tasks: []TaskFigures{{"d/a", two}, {"d/b", one}}},
	}}}
}

func render(t *testing.T, format string) string {
	var out bytes.Buffer
	require.NoError(t, Write(&out, Layout{Format: format, TaskWastage: true}, example()))
	return out.String()
}

func TestTablesAreAligned(t *testing.T) {
	assert.Equal(t, `h.csv: 200 rows, delayed feedback; 3 tries left out that are not a success with a measured peak and duration

  policy     util %  wasted GB·h  killed %  worst heavy %  attempts  kills  gave up  promised %  realised %  95 % interval
  loadaware    40.0         12.0      2.50           1.00       206      6        1        2.00        2.63      1.13–6.01
  max          14.6          0.0      0.00              –       200      0        0           –           –              –

share of the wastage %, by cause and by number of the run within its task

  policy     cold start  margin  kills   cap  run 1   2–5  6–32  later
  loadaware        25.0    50.0   12.5  12.5    5.0  20.0  50.0   25.0
  max                 –       –      –     –      –     –     –      –

utilisation % / rows killed %, by task

  task  loadaware       max
  d/a    41.0/1.0  39.0/4.0
  d/b    39.0/4.0  41.0/1.0

loadaware: share of the wastage %, by cause and by number of the run within its task

  task  wasted GB·h  cold start  margin  kills  cap  run 1  2–5  6–32  later
  d/a           4.0         0.0   100.0    0.0  0.0    0.0  0.0   0.0  100.0
  d/b           0.0           –       –      –    –      –    –     –      –

max: share of the wastage %, by cause and by number of the run within its task

  task  wasted GB·h  cold start  margin  kills  cap  run 1  2–5  6–32  later
  d/a           0.0           –       –      –    –      –    –     –      –
  d/b           4.0         0.0   100.0    0.0  0.0    0.0  0.0   0.0  100.0
`, render(t, "table"))
}

func TestMarkdownTables(t *testing.T) {
	text := render(t, "markdown")
	assert.Contains(t, text, "| policy | util % | wasted GB·h |")
	assert.Contains(t, text, "\n| loadaware | 40.0 | 12.0 | 2.50 | 1.00 | 206 | 6 | 1 | 2.00 | 2.63 | 1.13–6.01 |\n")
	assert.Contains(t, text, "| task | loadaware | max |\n|---|---:|---:|\n| d/a | 41.0/1.0 | 39.0/4.0 |\n")
}

func TestJSONContainsEveryFigure(t *testing.T) {
	var back []*Report
	require.NoError(t, json.Unmarshal([]byte(render(t, "json")), &back))
	assert.Equal(t, example(), back)
}

func TestCSVHasALineForEveryPolicyAndTask(t *testing.T) {
	lines, err := csv.NewReader(bytes.NewBufferString(render(t, "csv"))).ReadAll()
	require.NoError(t, err) // every line has as many cells as the header
	require.Len(t, lines, 1+2*(1+2))
	assert.Equal(t, []string{"h.csv", "delayed", "loadaware", "", "200", "8.000000", "12.000000", "40.0000", "2.5000", "206", "6", "1", "190", "3.8000", "5", "2.6300", "1.1300", "6.0100",
		"3.000000", "6.000000", "1.500000", "1.500000", "0.600000", "2.400000", "6.000000", "3.000000"}, lines[1])
	assert.Equal(t, "d/a", lines[2][3])
	assert.Equal(t, "", lines[4][12], "the cell of a policy without promises must be empty")
}

func TestWriteRejectsUnknownFormats(t *testing.T) {
	err := Write(&bytes.Buffer{}, Layout{Format: "xml"}, nil)
	require.ErrorContains(t, err, `format "xml": unknown; choose among table, json, csv, markdown`)
	assert.Equal(t, sizing.Invalid, sizing.KindOf(err))
}
