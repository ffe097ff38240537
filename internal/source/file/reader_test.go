package file_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

func readAll(t *testing.T, r io.Reader) (rows []file.Row, messages []string) {
	t.Helper()
	in, err := file.Open(r)
	require.NoError(t, err)
	for row, err := range in.All() {
		if err != nil {
			messages = append(messages, err.Error())
			continue
		}
		rows = append(rows, row)
	}
	return rows, messages
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := zip.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return b.String()
}

const twoRows = `dag_id,task_id,run_id,map_index,try_number,started_at,duration_s,memory_requested_bytes,cpu_requested_cores,memory_allocated_bytes,memory_max_bytes,cpu_max_cores,outcome,feature.product_count,feature.region,feature.sale_end,feature.weekend
pricing,demand,emea__017,4,,2020-01-03T02:00:00Z,391.5,350000000000,6,,7340032000,1.02,,1253,emea,2020-02-05,true
pricing,demand,emea__018,,2,2020-01-03 03:00:00+01:00,60,,,10737418240,,,oom_killed,,"apac, south",,
`

func expectedRows() []file.Row {
	first := sizing.Observation{
		Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: "demand"},
			RunID: "emea__017", MapIndex: 4, Number: 1},
		Outcome: sizing.Success, MemoryMax: 7340032000, CPUMax: 1.02, Duration: 391500 * time.Millisecond,
		StartedAt: time.Date(2020, 1, 3, 2, 0, 0, 0, time.UTC),
		Requested: sizing.Resources{Memory: 350e9, CPU: 6},
		Features: sizing.Features{"product_count": sizing.NumberValue(1253), "region": sizing.TextValue("emea"),
			"sale_end": sizing.TextValue("2020-02-05"), "weekend": sizing.BoolValue(true)},
	}
	second := sizing.Observation{
		Try:     sizing.TryKey{TaskKey: first.Try.TaskKey, RunID: "emea__018", MapIndex: sizing.NoMap, Number: 2},
		Outcome: sizing.OOMKilled, Duration: time.Minute, StartedAt: first.StartedAt,
		Allocated: sizing.Resources{Memory: 10 * sizing.GiB},
		Features:  sizing.Features{"region": sizing.TextValue("apac, south")},
	}
	return []file.Row{{Line: 2, Observation: first}, {Line: 3, Observation: second}}
}

func TestReaderAcceptsAllFormats(t *testing.T) {
	var asJSON strings.Builder
	for _, row := range expectedRows() {
		text, err := file.JSON(&row.Observation)
		require.NoError(t, err)
		asJSON.Write(append(text, '\n'))
	}
	for name, text := range map[string]string{
		"plain":                             twoRows,
		"gzip":                              gzipped(t, twoRows),
		"gzip in two members":               gzipped(t, twoRows[:100]) + gzipped(t, twoRows[100:]),
		"a byte order mark":                 "\ufeff" + twoRows,
		"CRLF":                              strings.ReplaceAll(twoRows, "\n", "\r\n"),
		"quoted header cells":               `"` + strings.Replace(strings.Replace(twoRows, "\n", "\"\n", 1), ",", `","`, 16),
		"no line ending after the last row": strings.TrimSuffix(twoRows, "\n"),
		"numbers formatted as floats":       strings.NewReplacer(",7340032000,", ",7.340032e9,", ",4,,", ",4.0,,").Replace(twoRows),
		"JSON lines":                        "\n" + asJSON.String(),
		"JSON lines in gzip":                gzipped(t, "\n"+asJSON.String()),
		"JSON lines, a byte order mark":     "\ufeff\n" + asJSON.String(),
		"gzip with a byte order mark":       gzipped(t, "\ufeff"+twoRows),
	} {
		t.Run(name, func(t *testing.T) {
			rows, messages := readAll(t, strings.NewReader(text))
			assert.Empty(t, messages)
			assert.Equal(t, expectedRows(), rows)
		})
	}
}

func TestMetadataIsReadBack(t *testing.T) {
	o := expectedRows()[0].Observation
	o.Metadata = sizing.Metadata{"owner": {"ada"}, "tags": {"a", ""}, "list": {"[x]"}, "padded": {" a "}, "empty": {""}, "blank": {"  "}}
	var text bytes.Buffer
	require.NoError(t, file.Write(&text, []sizing.Observation{o}))
	assert.Equal(t, []sizing.Observation{o}, observations(t, &text))
}

// goodRow returns a valid row. Tests put it around bad rows to show that reading continues.
func goodRow(run string) string { return "d,t," + run + ",1000,x\n" }

func TestReaderReportsBadCSVRowAndContinues(t *testing.T) {
	const header = "dag_id,task_id,run_id,memory_max_bytes,feature.f\n"
	for name, c := range map[string]struct{ bad, message string }{
		"a word instead of a number":   {"d,t,r,much,x\n", `line 3: memory_max_bytes: "much" is not a number of bytes, such as 3560151999`},
		"a decimal comma":              {"d,t,r,\"3622,81\",x\n", `line 3: memory_max_bytes: "3622,81" is not a number of bytes, such as 3560151999; write the decimal comma as a point, and no separator of thousands`},
		"zero bytes":                   {"d,t,r,0,x\n", `line 3: memory_max_bytes: "0" must be 1 to 9007199254740992 bytes; leave the cell empty if unknown`},
		"bytes below zero":             {"d,t,r,-5,x\n", `line 3: memory_max_bytes: "-5" must be 1 to 9007199254740992 bytes; leave the cell empty if unknown`},
		"too many bytes":               {"d,t,r,1e400,x\n", `line 3: memory_max_bytes: "1e400" is not a number of bytes, such as 3560151999`},
		"no run id":                    {"d,t,,1000,x\n", "line 3: run_id: is required: 1 to 250 characters"},
		"two bad cells":                {"d/d,t,,1000,x\n", "line 3: dag_id: must not contain '/'; run_id: is required: 1 to 250 characters"},
		"a cell too few":               {"d,t,r,1000\n", "line 3: has 4 cells, but the header has 5 columns"},
		"a cell too many":              {"d,t,r,1000,x,y\n", "line 3: has 6 cells, but the header has 5 columns"},
		"a quote inside a cell":        {"d,t,r\"7\",1000,x\n", "line 3: unbalanced quotes; quote a cell that contains quotes, and double each quote inside"},
		"a quote that is never closed": {"d,t,\"r,1000,x\n", "line 3: unbalanced quotes; quote a cell that contains quotes, and double each quote inside"},
		"a feature that is too long":   {"d,t,r,1000," + strings.Repeat("é", 501) + "\n", "line 3: feature.f: must be at most 500 characters of valid UTF-8 without NUL"},
		"a line that is too long":      {"d,t,r,1000," + strings.Repeat("x", 2<<20) + "\n", "line 3: is longer than 1048576 bytes"},
		"not UTF-8":                    {"d,t,\xff,1000,x\n", "line 3: is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, messages := readAll(t, strings.NewReader(header+goodRow("before")+c.bad+goodRow("after")+goodRow("last")))
			assert.Equal(t, []string{c.message}, messages)
			require.Len(t, rows, 3)
			assert.Equal(t, []int{2, 4, 5}, []int{rows[0].Line, rows[1].Line, rows[2].Line})
		})
	}
}

func TestOutcomeInCapitalsIsExplained(t *testing.T) {
	_, messages := readAll(t, strings.NewReader("dag_id,task_id,run_id,memory_max_bytes,outcome\nd,t,r,1000,SUCCESS\nd,t,r,1000,done\n"))
	assert.Equal(t, []string{`line 2: outcome: "SUCCESS" is not an outcome; write it in lower case`,
		`line 3: outcome: "done" must be one of success, oom_killed, app_oom, failed, killed, evicted, unschedulable`}, messages)
}

func TestTimesMustBeInTheYears1970To2199(t *testing.T) {
	for at, isAccepted := range map[string]bool{
		"1969-12-31T23:59:59Z": false, "1970-01-01T00:00:00Z": true, "2199-12-31T23:59:59Z": true, "2200-01-01T00:00:00Z": false,
		"2200-01-01T00:30:00+01:00": true, "2199-12-31T23:30:00-01:00": false,
	} {
		for _, text := range []string{
			"dag_id,task_id,run_id,memory_max_bytes,ended_at\nd,t,r,1000," + at + "\n",
			`{"dag_id":"d","task_id":"t","run_id":"r","outcome":"success","memory_max_bytes":1000,"ended_at":"` + at + `"}`,
		} {
			rows, messages := readAll(t, strings.NewReader(text))
			if isAccepted {
				assert.Empty(t, messages, text)
				assert.Len(t, rows, 1, text)
				continue
			}
			require.Len(t, messages, 1, text)
			assert.Contains(t, messages[0], at)
			assert.Contains(t, messages[0], "must be in the years 1970 to 2199 in UTC")
		}
	}
}

func TestReaderKeepsRowsBetweenTwoStrayQuotes(t *testing.T) {
	rows, messages := readAll(t, strings.NewReader("dag_id,task_id,run_id,memory_max_bytes,feature.f\n"+
		"d,t,\"one,1000,x\n"+goodRow("two")+goodRow("three")+"d,t,\"four,1000,x\n"+goodRow("five")))
	assert.Len(t, messages, 2)
	assert.Len(t, rows, 3)
}

func TestReaderAcceptsLineEndingsInQuotedCells(t *testing.T) {
	rows, messages := readAll(t, strings.NewReader("dag_id,task_id,run_id,memory_max_bytes,feature.f\n"+
		"d,t,r1,1000,\"a\nb \"\"c\"\"\"\n"+goodRow("r2")))
	assert.Empty(t, messages)
	require.Len(t, rows, 2)
	assert.Equal(t, sizing.TextValue("a\nb \"c\""), rows[0].Observation.Features["f"])
	assert.Equal(t, []int{2, 4}, []int{rows[0].Line, rows[1].Line})
}

func TestOpenReportsAllFaultsOfHeader(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"unknown and missing":      {"dag_id,task_id,memory,run\n", `unknown "memory", "run"; missing run_id, memory_max_bytes; use the columns namespace, dag_id,`},
		"duplicate":                {"dag_id,task_id,run_id,memory_max_bytes,run_id\n", "duplicate run_id"},
		"a feature without a name": {"dag_id,task_id,run_id,memory_max_bytes,feature.\n", `unknown "feature."`},
		"semicolons":               {"dag_id;task_id;run_id;memory_max_bytes\n", "line 1: the columns are separated by semicolons, and only commas are read; convert the file"},
		"capitals":                 {"DAG_ID,task_id,run_id,memory_max_bytes\n", `unknown "DAG_ID" (write it in lower case); missing dag_id`},
		"an empty stream":          {"", "the file is empty"},
		"only blank lines":         {"\n \r\n\n", "the file is empty"},
		"a JSON array":             {"\n [{\"dag_id\":\"d\"}]\n", "line 2: a JSON array is not read; write one object per line"},
		"a JSON array of lines":    {"[\n{\"dag_id\":\"d\"}\n]\n", "line 1: a JSON array is not read"},
		"a bare quote":             {"dag\"id\n", "parse the CSV header"},
		"broken gzip":              {"\x1f\x8bnot gzip", "decompress gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := file.Open(strings.NewReader(c.text))
			require.ErrorContains(t, err, c.message)
			assert.Equal(t, sizing.Invalid, sizing.KindOf(err))
		})
	}
}

func TestReaderReportsBadJSONLineAndContinues(t *testing.T) {
	const good = `{"dag_id":"d","task_id":"t","run_id":"r","outcome":"success","memory_max_bytes":1000}` + "\n"
	for name, c := range map[string]struct{ bad, message string }{
		"not JSON":            {`{"dag_id":`, "line 2: the JSON object is not closed; write one object per line"},
		"an unknown field":    {`{"dag_id":"d","memory":"1Gi"}`, "line 2: memory: is not a field of POST /observe"},
		"a wrong type":        {`{"dag_id":7}`, "line 2: dag_id: must be a string"},
		"trailing garbage":    {strings.TrimSpace(good) + " x", "line 2: has text after the JSON object; write one object per line"},
		"no outcome":          {`{"dag_id":"d","task_id":"t","run_id":"r"}`, "line 2: outcome: must be one of success,"},
		"a nested feature":    {strings.Replace(good, `}`, `,"features":{"f":[1]}}`, 1), "line 2: features.f: must be a number, a string, a bool or null"},
		"an invalid quantity": {strings.Replace(good, `}`, `,"allocated":{"memory":"3t"}}`, 1), `line 2: allocated.memory: "3t" is not a quantity`},
	} {
		t.Run(name, func(t *testing.T) {
			rows, messages := readAll(t, strings.NewReader(good+strings.TrimSpace(c.bad)+"\n"+good))
			require.Len(t, messages, 1)
			assert.Contains(t, messages[0], c.message)
			assert.Len(t, rows, 2)
		})
	}
}

func TestReaderReportsLineWhereFileIsTruncated(t *testing.T) {
	zip := gzipped(t, twoRows+strings.Repeat("pricing,demand,r,,,,,,,,1000,,,,,,\n", 2000))
	in, err := file.Open(strings.NewReader(zip[:len(zip)-12]))
	require.NoError(t, err)
	read, last := 0, error(nil)
	for _, err := range in.All() {
		if read, last = read+1, err; err != nil {
			break
		}
	}
	assert.Greater(t, read, 2)
	require.ErrorIs(t, last, io.ErrUnexpectedEOF)
	assert.ErrorContains(t, last, "read after line ")
}

func TestReaderRecognisesFeatureKinds(t *testing.T) {
	for cell, want := range map[string]sizing.Value{
		"7": sizing.NumberValue(7), "1234567890123456789": {Kind: sizing.Category, Text: "1234567890123456789"}, "105.0": sizing.NumberValue(105), "-1e+3": sizing.NumberValue(-1000), " 8 ": sizing.NumberValue(8),
		"true": sizing.BoolValue(true), "False": sizing.TextValue("False"), "007": {Kind: sizing.Category, Text: "007"},
		"nan": {}, "NaN": {}, "": {}, "  ": {},
		"2020-01-03": sizing.TextValue("2020-01-03"), "c2": sizing.TextValue("c2"), "0x10": sizing.TextValue("0x10"), "1_000": {Kind: sizing.Number, Num: 1000, Text: "1_000"}, " 1_000": {Kind: sizing.Number, Num: 1000, Text: " 1_000"},
		"Infinity": sizing.TextValue("Infinity"), "12-e": sizing.TextValue("12-e"),
	} {
		rows, messages := readAll(t, strings.NewReader("dag_id,task_id,run_id,memory_max_bytes,feature.f\nd,t,r,1000,"+cell+"\n"))
		require.Empty(t, messages, cell)
		assert.Equal(t, want, rows[0].Observation.Features["f"], "%q", cell)
	}
}

func TestReaderDerivesADurationFromTheTimes(t *testing.T) {
	for _, text := range []string{
		"dag_id,task_id,run_id,memory_max_bytes,started_at,ended_at\nd,t,r,1000,2026-01-01T00:00:00Z,2026-01-01T01:00:00Z\n",
		`{"dag_id":"d","task_id":"t","run_id":"r","outcome":"success","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T01:00:00Z"}`,
	} {
		rows, messages := readAll(t, strings.NewReader(text))
		require.Empty(t, messages)
		assert.Equal(t, time.Hour, rows[0].Observation.Duration)
	}
}

func TestZeroSecondsAreAKnownDuration(t *testing.T) {
	for _, text := range []string{
		"dag_id,task_id,run_id,memory_max_bytes,duration_s\nd,t,r,1000,0\nd,t,s,1000,\n",
		`{"dag_id":"d","task_id":"t","run_id":"r","outcome":"success","duration_seconds":0}` + "\n" + `{"dag_id":"d","task_id":"t","run_id":"s","outcome":"success"}`,
	} {
		rows, messages := readAll(t, strings.NewReader(text))
		require.Empty(t, messages)
		assert.Equal(t, []time.Duration{time.Second / 2, 0}, []time.Duration{rows[0].Observation.Duration, rows[1].Observation.Duration})
	}
}

func TestAGitCommitOfDigitsAndEIsACategory(t *testing.T) {
	rows, messages := readAll(t, strings.NewReader("dag_id,task_id,run_id,memory_max_bytes,feature.commit\nd,t,r,1000,7e943102\n"))
	require.Empty(t, messages)
	assert.Equal(t, sizing.Features{"commit": sizing.Value{Kind: sizing.Category, Text: "7e943102"}}, rows[0].Observation.Features)
}

func TestFeaturesAreNilWithoutFeatureColumns(t *testing.T) {
	rows, _ := readAll(t, strings.NewReader("dag_id,task_id,run_id,memory_max_bytes\nd,t,r,1000\n"))
	assert.Nil(t, rows[0].Observation.Features)
}

// The reader must not read far ahead of the row that it returns.
func TestReaderReadsInConstantMemory(t *testing.T) {
	const rows = 200_000
	feed := &generator{head: "dag_id,task_id,run_id,memory_max_bytes,feature.f\n", row: goodRow("r"), rows: rows}
	in, err := file.Open(feed)
	require.NoError(t, err)
	read, ahead := 0, 0
	for row, err := range in.All() {
		require.NoError(t, err)
		read++
		ahead = max(ahead, feed.sent-(row.Line-1)*len(feed.row))
	}
	assert.Equal(t, rows, read)
	assert.Less(t, ahead, 64<<10, "the reader must read at most 64 KiB ahead")
}

type generator struct {
	head, row  string
	rows, sent int // rows left, bytes sent
}

func (g *generator) Read(p []byte) (int, error) {
	if g.head != "" {
		n := copy(p, g.head)
		g.head, g.sent = g.head[n:], g.sent+n
		return n, nil
	}
	if g.rows == 0 {
		return 0, io.EOF
	}
	g.rows--
	n := copy(p, g.row)
	g.sent += n
	return n, nil
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(twoRows))
	f.Add([]byte(gzipped(f, twoRows)))
	f.Add([]byte("dag_id,task_id,run_id,memory_max_bytes,feature.f\nd,t,r,1,\xd5\n"))
	f.Add([]byte("dag_id,task_id,run_id,memory_max_bytes,feature.f\n\"d,t,r,1\n\"x\"\n"))
	f.Add([]byte(`{"dag_id":"d","task_id":"t","run_id":"r","outcome":"oom_killed","allocated":{"memory":"2Gi"},"features":{"a":null,"b":"2020-01-01"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first := observations(t, bytes.NewReader(text))
		// Each observation is valid. Writing and reading it does not change it. For CSV this is true only from the
		// second reading on, because the first reading turns a text that looks like a number into a number.
		var lines, once, twice bytes.Buffer
		for i := range first {
			require.Empty(t, first[i].Validate())
			text, err := file.JSON(&first[i])
			require.NoError(t, err)
			lines.Write(append(text, '\n'))
		}
		require.Equal(t, first, observations(t, &lines))
		require.NoError(t, file.Write(&once, first))
		second := observations(t, &once)
		require.Len(t, second, len(first))
		require.NoError(t, file.Write(&twice, second))
		require.Equal(t, second, observations(t, &twice))
	})
}

func observations(t *testing.T, r io.Reader) []sizing.Observation {
	in, err := file.Open(r)
	if err != nil {
		return nil
	}
	var read []sizing.Observation
	line := 0
	for row, err := range in.All() {
		var rowError *file.RowError
		if errors.As(err, &rowError) {
			require.Greater(t, rowError.Line, line, "the line numbers must ascend")
			line = rowError.Line
			continue
		}
		if err != nil {
			break
		}
		require.Greater(t, row.Line, line, "the line numbers must ascend")
		line = row.Line
		read = append(read, row.Observation)
	}
	return read
}

func ExampleOpen() {
	in, _ := file.Open(strings.NewReader("dag_id,task_id,run_id,memory_max_bytes,feature.rows\netl,load,mon,1000000,5\netl,load,tue,lots,6\n"))
	for row, err := range in.All() {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(row.Line, row.Observation.Try.TaskKey, row.Observation.MemoryMax)
	}
	// Output:
	// 2 etl/load 1000000
	// line 3: memory_max_bytes: "lots" is not a number of bytes, such as 3560151999
}

func TestJSONPreservesSeries(t *testing.T) {
	o := expectedRows()[0].Observation
	o.Series = &sizing.Series{Step: 800 * time.Millisecond, Memory: []int64{0, 7 << 30}, CPU: []float64{0.5, 1.02}}
	text, err := file.JSON(&o)
	require.NoError(t, err)
	rows, messages := readAll(t, bytes.NewReader(text))
	assert.Empty(t, messages)
	assert.Equal(t, o, rows[0].Observation)
	_, messages = readAll(t, strings.NewReader(strings.Replace(string(text), "0.8", "0", 1)))
	assert.Contains(t, fmt.Sprint(messages), "usage_series.step_seconds")
}

func TestReadErrorNamesItsCause(t *testing.T) {
	whole := gzipped(t, twoRows)
	_, messages := readAll(t, strings.NewReader(whole[:len(whole)-8]))
	require.NotEmpty(t, messages)
	assert.Contains(t, messages[len(messages)-1], "the file is truncated: unexpected EOF")

	_, messages = readAll(t, strings.NewReader(whole[:len(whole)-8]+"checksum"))
	require.NotEmpty(t, messages)
	assert.Contains(t, messages[len(messages)-1], "invalid checksum")
	assert.NotContains(t, messages[len(messages)-1], "truncated")
}
