//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func longReport() report {
	s, code := newSeries(), 0
	for i := range 5000 {
		s.add(point{at: time.Duration(i) * time.Minute, memory: 999<<40 + int64(i), cpu: time.Duration(i) * 64 * 59 * time.Second})
	}
	return report{memory: 1 << 49, sampled: 1 << 49, cores: 127.123, source: "memory.peak", kills: 99999,
		duration: 5000 * time.Minute, exit: &code, series: s}
}

// shortReport returns a report with two points, whose message is shortJSON.
func shortReport() report {
	code := 3
	return report{memory: 7340032, sampled: 7000000, cores: 1.0204, source: "memory.peak",
		duration: 1500 * ms, exit: &code, series: &series{
			step: 100 * ms, slots: []slot{{6 << 20, 100 * ms}, {7 << 20, 205 * ms}}, last: point{at: 200 * ms}}}
}

const shortJSON = `{"memory_max_bytes":7340032,"cpu_max_cores":1.02,"source":"memory.peak",` +
	`"memory_sampled_bytes":7000000,"oom_kills":0,"duration_seconds":1.5,"exit_code":3,` +
	`"series":{"step_seconds":0.1,"memory_mib":[6,7],"cpu_cores":[1,1.05]}}`

func TestMessageOfProgramIsPreserved(t *testing.T) {
	for name, c := range map[string]struct{ own, want string }{
		"nothing":                             {"", shortJSON},
		"only space":                          {" \n", shortJSON},
		"a line":                              {"failed: no rows\n", "failed: no rows\n" + shortJSON},
		"a line without newline":              {"failed", "failed\n" + shortJSON},
		"an object":                           {`{"rows": 5}`, `{"rows": 5,` + shortJSON[1:]},
		"an empty object":                     {"{}\n", shortJSON},
		"an object with fields of the report": {`{"exit_code": "x", "series": null}`, `{"exit_code": "x", "series": null,` + strings.Split(shortJSON[1:], `,"exit_code"`)[0] + "}"},
		"its own peak":                        {`{"memory_max_bytes": 5}`, `{"memory_max_bytes": 5}`},
		"its own peak, as quantity":           {`{"memory_max": "5Gi"}`, `{"memory_max": "5Gi"}`},
		"a bare number":                       {"1073741824", "1073741824"},
		"a list":                              {"[1]\n", "[1]\n"},
		"null":                                {"null", "null"},
		"an incomplete object":                {`{"rows": `, `{"rows": ` + "\n" + shortJSON},
	} {
		assert.Equal(t, c.want, string(combine([]byte(c.own), shortReport())), name)
	}
}

func TestCombineShortensSeriesBeforeItOmitsReport(t *testing.T) {
	const points = 92 // 5000 minutes in steps of 0.1 s · 2^15, the smallest step that needs at most 120 points
	for name, c := range map[string]struct{ own, points int }{
		"alone":               {0, points},
		"after a long text":   {2800, points / 2},
		"after a longer text": {3200, points / 4},
		"no space for points": {3700, 0},
	} {
		own := strings.Repeat("x", c.own)
		got := string(combine([]byte(own), longReport()))
		assert.LessOrEqual(t, len(got), maxMessage, name)
		require.True(t, strings.HasPrefix(got, own), name)
		var message struct {
			Peak   int64 `json:"memory_max_bytes"`
			Series struct {
				Memory []int64 `json:"memory_mib"`
			} `json:"series"`
		}
		require.NoError(t, json.Unmarshal([]byte(got[c.own:]), &message), name)
		assert.EqualValues(t, 1<<49, message.Peak)
		assert.Len(t, message.Series.Memory, c.points, name)
	}
	full := strings.Repeat("x", 4000)
	assert.Equal(t, full, string(combine([]byte(full), longReport())))
}

func TestDraftPreservesMessageOfProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	m := &message{path: path}
	draft := longReport()
	draft.exit = nil
	require.NoError(t, m.draft(draft))
	require.NoError(t, m.draft(draft), "a draft replaces the previous one")
	assert.NotContains(t, read(t, path), "exit_code")

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("no rows\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.ErrorIs(t, m.draft(draft), errProgramMessage)
	require.NoError(t, m.final(shortReport()))
	assert.Equal(t, "no rows\n"+shortJSON, read(t, path))
}

func TestDraftBeforeLongMessageIsRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		length  int
		hasPeak bool
	}{
		"the report fits":     {3700, true},
		"no space for report": {maxMessage, false},
	} {
		path := filepath.Join(t.TempDir(), "termination-log")
		m := &message{path: path, create: true}
		require.NoError(t, m.draft(longReport()))
		own := strings.Repeat("z", c.length)
		require.NoError(t, os.WriteFile(path, []byte(read(t, path)+own), 0o666))
		require.NoError(t, m.final(longReport()))
		assert.True(t, strings.HasPrefix(read(t, path), own), name)
		assert.Equal(t, c.hasPeak, strings.Contains(read(t, path), peakKey), name)
		assert.LessOrEqual(t, len(read(t, path)), maxMessage, name)
	}
}

func TestReplacedDraftIsNotRestored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	m := &message{path: path, create: true}
	require.NoError(t, m.draft(shortReport()))
	require.NoError(t, os.WriteFile(path, []byte("bye"), 0o666))
	assert.ErrorIs(t, m.draft(shortReport()), errProgramMessage)
	require.NoError(t, m.final(shortReport()))
	assert.Equal(t, "bye\n"+shortJSON, read(t, path))
}

func TestTooLongMessageIsPreserved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	own := strings.Repeat("y", 5000)
	require.NoError(t, os.WriteFile(path, []byte(own), 0o666))
	assert.ErrorIs(t, (&message{path: path}).final(shortReport()), errProgramMessage)
	assert.Equal(t, own, read(t, path))
}

func FuzzCombinePreservesMessageOfProgram(f *testing.F) {
	for _, own := range []string{"", "{}", `{"a":{"b":[1,"}"]}} `, "x\n", "[", "5"} {
		f.Add([]byte(own))
	}
	f.Fuzz(func(t *testing.T, own []byte) {
		got := combine(own, shortReport())
		require.LessOrEqual(t, len(got), max(maxMessage, len(own)))
		var before, after map[string]any
		if json.Unmarshal(own, &before) != nil || before == nil {
			if json.Valid(own) || len(strings.TrimSpace(string(own))) > 0 {
				require.True(t, strings.HasPrefix(string(got), string(own)))
			}
			return
		}
		require.NoError(t, json.Unmarshal(got, &after))
		for key, value := range before {
			require.Equal(t, value, after[key])
		}
	})
}

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
