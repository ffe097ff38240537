package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	prettytext "github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/insight/savings"
)

// odd lists texts that some formats must quote.
var odd = []string{"predict_demand", "true", "null", "1e3", `a|b,"c"`, "<script>", "größe: #1", "- x"}

// csvText returns a text of `odd` as it is in CSV: with an apostrophe if a spreadsheet would compute it.
func csvText(name string) string {
	if name == "- x" {
		return "'- x"
	}
	return name
}

func reportOfOddTasks() *report.Report {
	day := savings.Day{Time: time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC)}
	r := &report.Report{FirstDay: &day, LastDay: &day, Total: savings.Row{Tries: 7, SavedGBH: new(1234.5)}}
	for i, name := range odd {
		t := report.Task{Namespace: "default", DagID: "pricing", TaskID: name, Group: "heavy", Severity: report.Critical, Tries: i, RiskTarget: 0.015,
			RequestedBytes: new(int64(350e9)), SavedGBH: new(math.Pi * math.Pow(10, float64(i-4)))}
		if i%2 == 0 {
			t.Source, t.WhyNot, t.Risk = new("model"), new("shadow, ambiguous features"), new(1e-7)
			t.Static = &report.Static{RequestBytes: new(int64(60 << 30)), Request: new("60Gi"), Risk: new(0.0132), Runs: 150, RunsNeeded: 66, SavesGBH: new(4200.0)}
		}
		r.Tasks = append(r.Tasks, t)
	}
	return r
}

func TestReportYAMLEqualsItsJSON(t *testing.T) {
	r := reportOfOddTasks()
	var text bytes.Buffer
	require.NoError(t, Report(&text, "yaml", true, r))
	var parsed any
	require.NoError(t, yaml.Unmarshal(text.Bytes(), &parsed))
	asJSON, err := json.Marshal(parsed)
	require.NoError(t, err)
	var back report.Report
	require.NoError(t, json.Unmarshal(asJSON, &back))
	assert.Equal(t, r, &back)
}

func TestReportCSVIsExact(t *testing.T) {
	r := reportOfOddTasks()
	var text bytes.Buffer
	require.NoError(t, Report(&text, "csv", true, r))
	lines, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 1+len(odd))
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	for i, line := range lines[1:] {
		assert.Equal(t, csvText(odd[i]), line[column["task_id"]])
		saved, err := strconv.ParseFloat(line[column["saved_gbh"]], 64)
		require.NoError(t, err)
		assert.Equal(t, *r.Tasks[i].SavedGBH, saved)
		assert.Equal(t, "350000000000", line[column["requested_bytes"]])
		assert.Empty(t, line[column["used_bytes"]], "an unknown value is empty and not 0")
	}
}

func TestReportAsTableHTMLAndMarkdown(t *testing.T) {
	prettytext.EnableColors() // with TERM=dumb or NO_COLOR the library disables them
	r := reportOfOddTasks()
	for _, coloured := range []bool{false, true} {
		var text bytes.Buffer
		require.NoError(t, Report(&text, "table", coloured, r))
		assert.Equal(t, coloured, strings.Contains(text.String(), "\x1b["), "a table must have colours only if they are requested")
		for _, name := range odd {
			assert.Contains(t, text.String(), "pricing/"+name)
		}
	}
	var page bytes.Buffer
	require.NoError(t, Report(&page, "html", true, r))
	assert.NotContains(t, page.String(), "<script>")
	assert.NotContains(t, page.String(), "\x1b[")
	var lines bytes.Buffer
	require.NoError(t, Report(&lines, "markdown", true, r))
	assert.Contains(t, lines.String(), `a\|b`)
}

func TestReportFitsATerminal(t *testing.T) {
	r := reportOfOddTasks()
	r.Tasks = r.Tasks[:1]
	task := &r.Tasks[0]
	task.TaskID, task.Group, task.Tries, task.WhyNot = "simulate_discounts", "moderate", 34368, new(report.NoGrantYet)
	task.GrantedBytes, task.UsedBytes = new(int64(350e9)), new(int64(20.2e9))
	task.SavedGBH, task.KilledGBH, task.Risk = new(123456.0), new(4321.0), new(0.0123)
	var text bytes.Buffer
	require.NoError(t, Report(&text, "table", false, r))
	for line := range strings.Lines(text.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 120, line)
	}
	assert.Contains(t, text.String(), "350 → 350 → 20.2")
	assert.Regexp(t, `source\s+why not\n[^\n]*\s+better\n`, text.String(), "the header of the last column must have two lines")
}

func TestStaticRequestsArePython(t *testing.T) {
	r := reportOfOddTasks()
	r.Groups = []report.StaticGroup{{Group: "heavy", Tasks: 4, TasksWithoutRequest: 4, RequestBytes: new(int64(60 << 30)), Request: new("60Gi"), Risk: new(0.0132)}, {Group: "light", TasksWithoutRequest: 2}}
	var text bytes.Buffer
	require.NoError(t, Static(&text, r))
	suggested := 0
	for line := range strings.Lines(text.String()) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			assert.Equal(t, `container_resources=k8s.V1ResourceRequirements(requests={"memory": "60Gi"}, limits={"memory": "60Gi"}),`+"\n", line)
			suggested++
		}
	}
	assert.Equal(t, 5, suggested, "number of suggested requests: for four tasks and a group")
	assert.Contains(t, text.String(), "all heavy tasks (4; 4 more without a safe request)")
	assert.Contains(t, text.String(), "no safe request yet for 2 tasks")
	assert.Contains(t, text.String(), "the savings are not known")
	assert.Contains(t, text.String(), "The bound does not hold for a task whose peaks grow.")
	r.Groups[0].TasksWithoutRequest = 0
	r.Tasks[0].Static, r.Tasks[0].RiskTarget = &report.Static{Runs: 300, KilledRuns: 28, RunsNeeded: 66}, 0.015
	r.Tasks[2].Static, r.Tasks[2].RiskTarget = &report.Static{Runs: 30, KilledRuns: 28, RunsNeeded: 66}, 0.015
	text.Reset()
	require.NoError(t, Static(&text, r))
	assert.Contains(t, text.String(), "all heavy tasks (4):")
	assert.Contains(t, text.String(), "no safe request yet; 28 of 300 runs were OOM-killed and never succeeded, too many for a risk of 1.50 %")
	assert.Contains(t, text.String(), "no safe request yet; 30 of the 66 measured runs that a risk of 1.50 % needs")
}

func TestSavingsFormats(t *testing.T) {
	day := savings.Day{Time: time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC)}
	a := &savings.Answer{By: "dag", FirstDay: &day, LastDay: &day, Currency: new("EUR"),
		Total: savings.Row{Tries: 3, SavedGBH: new(-1234.5), SavedMoney: new(-6.17), NoRequestGBH: 2}}
	for i, name := range odd {
		a.Rows = append(a.Rows, savings.Row{Namespace: new("default"), DagID: &name, Tries: i, SavedGBH: new(1 / 3.0)})
	}
	var text, inCSV bytes.Buffer
	require.NoError(t, Savings(&text, "yaml", a))
	var parsed struct {
		Rows []struct {
			DagID string   `yaml:"dag_id"`
			Saved *float64 `yaml:"saved_gbh"`
			Used  *float64 `yaml:"used_gbh"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text.Bytes(), &parsed))
	require.NoError(t, Savings(&inCSV, "csv", a))
	lines, err := csv.NewReader(&inCSV).ReadAll()
	require.NoError(t, err)
	for i, name := range odd {
		assert.Equal(t, name, parsed.Rows[i].DagID)
		assert.Equal(t, 1/3.0, *parsed.Rows[i].Saved)
		assert.Nil(t, parsed.Rows[i].Used)
		assert.Equal(t, csvText(name), lines[i+1][2])
		assert.Equal(t, fmt.Sprint(1/3.0), lines[i+1][17])
	}
	var table bytes.Buffer
	require.NoError(t, Savings(&table, "table", a))
	for _, want := range []string{"-1,235", "saved EUR", "-6.17", "not known", "saved = requested − granted − killed + 2.00 GB·h of tasks without a known request."} {
		assert.Contains(t, table.String(), want)
	}
}
