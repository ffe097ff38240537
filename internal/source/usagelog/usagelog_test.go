package usagelog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/usagelog"
)

const good = `# dag_id=pricing, task_id=load
# run_id=manual__2025-03-01T06:00:00+00:00
# map_index=4, try_number=2, sampler=of ours
timestamp,memory_bytes,cpu_cores
2025-03-01T09:01:00Z,100,0.2
2025-03-01T09:01:05Z,900,1.5
2025-03-01T09:01:10Z,300,0.1
`

func tryOf(dag, task, run string, mapIndex, number int) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: dag, Task: task}, RunID: run, MapIndex: mapIndex, Number: number}
}

func TestReadReturnsLargestSampleAndTimeSpan(t *testing.T) {
	log, err := usagelog.Read(strings.NewReader(good), "anything.csv")
	require.NoError(t, err)
	start := time.Date(2025, 3, 1, 9, 1, 0, 0, time.UTC)
	assert.Equal(t, usagelog.Log{
		Try:    tryOf("pricing", "load", "manual__2025-03-01T06:00:00+00:00", 4, 2),
		Memory: 900, CPU: 1.5, From: start, To: start.Add(10 * time.Second), Samples: 3,
		Series: &sizing.Series{
			Step:   time.Second,
			Memory: []int64{100, 100, 100, 100, 100, 900, 900, 900, 900, 900, 300},
			CPU:    []float64{0.2, 0.2, 0.2, 0.2, 0.2, 1.5, 1.5, 1.5, 1.5, 1.5, 0.1},
		},
	}, log)
	o := log.Observation()
	assert.Equal(t, sizing.Success, o.Outcome, "the default outcome must be success")
	assert.Equal(t, sizing.Bytes(900), o.MemorySampled)
	assert.Zero(t, o.MemoryMax, "a sampled peak must not count as measured")
	assert.Equal(t, 10*time.Second, o.Duration)
	assert.Empty(t, o.Validate())
}

func TestReadAcceptsGzip(t *testing.T) {
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, err := zip.Write([]byte(good))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	whole := zipped.Bytes()
	plain, err := usagelog.Read(strings.NewReader(good), "")
	require.NoError(t, err)
	log, err := usagelog.Read(bytes.NewReader(whole), "x.csv.gz")
	require.NoError(t, err)
	assert.Equal(t, plain, log)
	_, err = usagelog.Read(bytes.NewReader(whole[:len(whole)-9]), "x.csv.gz")
	assert.ErrorIs(t, err, usagelog.ErrInvalidFile, "a truncated file must be invalid")
}

func TestReadIgnoresAByteOrderMark(t *testing.T) {
	plain, err := usagelog.Read(strings.NewReader(good), "")
	require.NoError(t, err)
	log, err := usagelog.Read(strings.NewReader("\ufeff"+good), "")
	require.NoError(t, err)
	assert.Equal(t, plain, log)
	_, samples, _ := strings.Cut(good, "try_number=2, sampler=of ours\n")
	_, err = usagelog.Read(strings.NewReader("\ufeff"+samples), "dag_id=pricing/run_id=r/task_id=load/attempt=1.csv")
	assert.NoError(t, err, "a file whose path names the try begins with its header")
}

func TestCommentsTakePrecedenceOverPath(t *testing.T) {
	const samples = "timestamp,memory_bytes\n1740819660,100\n1740819665.5,200\n"
	path := "/logs/dag_id=pricing/run_id=r=1/task_id=load/map_index=0/attempt=3.csv.gz"
	log, err := usagelog.Read(strings.NewReader(samples), path)
	require.NoError(t, err)
	assert.Equal(t, tryOf("pricing", "load", "r=1", 0, 3), log.Try)
	assert.Equal(t, 5500*time.Millisecond, log.To.Sub(log.From))
	log, err = usagelog.Read(strings.NewReader("# try_number=4\n# outcome=oom_killed\n"+samples), path)
	require.NoError(t, err)
	assert.Equal(t, tryOf("pricing", "load", "r=1", 0, 4), log.Try)
	assert.Equal(t, sizing.OOMKilled, log.Observation().Outcome)
}

func TestValuesInCommentsMayHaveCommasAndSpacesAround(t *testing.T) {
	const samples = "timestamp,memory_bytes\n1,1\n"
	for comment, want := range map[string]sizing.TryKey{
		"# dag_id = pricing ,task_id=\tload, run_id= r1 , map_index= 4,try_number = 2": tryOf("pricing", "load", "r1", 4, 2),
		"# dag_id=pricing,task_id=load,run_id=emea,apac,map_index=4":                   tryOf("pricing", "load", "emea,apac", 4, 1),
		"# dag_id=pricing, task_id=load, run_id=emea, a note":                          tryOf("pricing", "load", "emea", sizing.NoMap, 1),
		"# dag_id=pricing,task_id=load,run_id=emea,":                                   tryOf("pricing", "load", "emea", sizing.NoMap, 1),
	} {
		log, err := usagelog.Read(strings.NewReader(comment+"\n"+samples), "")
		require.NoError(t, err, comment)
		assert.Equal(t, want, log.Try, comment)
	}
}

func TestReadRejectsInvalidLogs(t *testing.T) {
	const head = "# dag_id=d, task_id=t, run_id=r\n"
	for name, c := range map[string]struct{ text, message string }{
		"no try":                     {"timestamp,memory_bytes\n1,1\n", "dag_id is required"},
		"no columns":                 {head, "missing header"},
		"other columns":              {head + "time,rss\n1,1\n", `columns "time,rss"`},
		"no samples":                 {head + "timestamp,memory_bytes\n", "no samples"},
		"no time":                    {head + "timestamp,memory_bytes\nsoon,1\n", `line 2 after the comments: timestamp: "soon" is not a time`},
		"no number":                  {head + "timestamp,memory_bytes\n1,1\n2,much\n", `line 3 after the comments: memory_bytes: "much" is not a number`},
		"negative memory":            {head + "timestamp,memory_bytes\n1,-1\n", "memory_bytes"},
		"NaN":                        {head + "timestamp,memory_bytes\n1,NaN\n", "memory_bytes"},
		"NaN as cores":               {head + "timestamp,memory_bytes,cpu_cores\n1,1,nan\n", `cpu_cores: "nan" is not a number from 0 to 1048576; leave the cell empty if the value was not measured`},
		"too many cores":             {head + "timestamp,memory_bytes,cpu_cores\n1,1,1e9\n", "cpu_cores"},
		"a short row":                {head + "timestamp,memory_bytes\n1\n", "wrong number of fields"},
		"an unknown outcome":         {head + "# outcome=fine\ntimestamp,memory_bytes\n1,1\n", "outcome=fine: must be one of"},
		"an invalid try":             {head + "# try_number=first\ntimestamp,memory_bytes\n1,1\n", "try_number=first"},
		"a comment that is too long": {"#" + strings.Repeat("x", 1<<17), "a comment is longer"},
	} {
		_, err := usagelog.Read(strings.NewReader(c.text), "x.csv")
		assert.ErrorIs(t, err, usagelog.ErrInvalidFile, name)
		assert.ErrorContains(t, err, c.message, name)
	}
}

func TestFindSortsFiles(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"b/2.csv", "b/1.csv.gz", "a.csv", "notes.txt", "b/run.log"} {
		name = filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	found, err := usagelog.Find(folder, filepath.Join(folder, "notes.txt"), filepath.Join(folder, "a.csv"))
	require.NoError(t, err)
	for n := range found {
		found[n] = strings.TrimPrefix(found[n], folder+"/")
	}
	assert.Equal(t, []string{"a.csv", "b/1.csv.gz", "b/2.csv", "notes.txt"}, found)
	_, err = usagelog.Find(filepath.Join(folder, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestPeakIsIndependentOfSampleOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rows, largest := []string{}, 0
		for range 1 + random.IntN(50) {
			memory := random.IntN(1 << 40)
			largest = max(largest, memory)
			rows = append(rows, fmt.Sprintf("%d,%d", random.IntN(1<<31), memory))
		}
		log, err := usagelog.Read(strings.NewReader("# dag_id=d, task_id=t, run_id=r\ntimestamp,memory_bytes\n"+strings.Join(rows, "\n")), "")
		require.NoError(t, err)
		assert.Equal(t, sizing.Bytes(largest), log.Memory)
		assert.False(t, log.To.Before(log.From))
		assert.Equal(t, len(rows), log.Samples)
		assert.Equal(t, int64(largest), slices.Max(log.Series.Memory), "the series must contain the peak")
		assert.Empty(t, log.Series.Validate())
	}
}

func series(t *testing.T, samples ...string) *sizing.Series {
	t.Helper()
	log, err := usagelog.Read(strings.NewReader("# dag_id=d, task_id=t, run_id=r\ntimestamp,memory_bytes\n"+strings.Join(samples, "\n")), "")
	require.NoError(t, err)
	return log.Series
}

func TestLongLogIsDownsampledByMaximum(t *testing.T) {
	var samples []string
	for i := range 240 { // twice as many seconds as points
		samples = append(samples, fmt.Sprintf("%d,%d", 1000+i, 1+i%2*10+i))
	}
	s := series(t, samples...)
	assert.Equal(t, 2*time.Second, s.Step)
	require.Len(t, s.Memory, 120)
	for i, b := range s.Memory {
		assert.Equal(t, int64(2*i+1+11), b, "the larger of seconds %d and %d", 2*i, 2*i+1)
	}
	assert.Nil(t, s.CPU, "the series must have no CPU, because the log has no column for it")

	longer := series(t, append(samples, "1240,5")...)
	assert.Equal(t, 4*time.Second, longer.Step, "the step must double, because the log is one second longer than 120 slots of 2 s")
	assert.Len(t, longer.Memory, 61)
	assert.Equal(t, slices.Max(s.Memory), slices.Max(longer.Memory))
}

func TestEarlierSamplesExtendSeriesToTheLeft(t *testing.T) {
	assert.Equal(t, []int64{7, 7, 3, 5}, series(t, "1002,3", "1000,7", "1003,5").Memory)
	far := series(t, "1000,3", "700,7", "1001,5") // 302 s: steps of 4 s
	assert.Equal(t, 4*time.Second, far.Step)
	assert.Len(t, far.Memory, 76)
	assert.Equal(t, int64(7), far.Memory[0])
	assert.Equal(t, int64(5), far.Memory[75])
}

func TestSeriesRepeatsPreviousValueWithoutSample(t *testing.T) {
	assert.Equal(t, []int64{4, 4, 4, 6}, series(t, "10,4", "11,", "13,6").Memory)
	assert.Nil(t, series(t, "10,", "11,"))
}

func TestEmptyCellIsNotMeasured(t *testing.T) {
	read := func(rows string) *sizing.Series {
		log, err := usagelog.Read(strings.NewReader("# dag_id=d, task_id=t, run_id=r\ntimestamp,memory_bytes,cpu_cores\n"+rows), "")
		require.NoError(t, err)
		return log.Series
	}
	assert.Equal(t, []float64{0.5, 0.5, 0.5, 0, 0.2}, read("10,4,\n11,5,0.5\n12,6,\n13,7,0\n14,8,0.2\n").CPU, "a measured 0 stays")
	assert.Equal(t, []int64{4, 4, 4, 8}, read("10,,0.5\n11,4,0.5\n12,,0.1\n13,8,0.2\n").Memory)
	assert.Nil(t, read("10,4,\n11,5,\n").CPU)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(good), "x.csv")
	f.Add([]byte("timestamp,memory_bytes\n1,1\n"), "dag_id=d/task_id=t/run_id=r/attempt=1.csv")
	f.Add([]byte("\x1f\x8b"), "")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		log, err := usagelog.Read(bytes.NewReader(text), path)
		if err != nil {
			if !errors.Is(err, usagelog.ErrInvalidFile) {
				t.Fatalf("%v is not ErrInvalidFile", err)
			}
			return
		}
		if o := log.Observation(); len(o.Try.Validate(true)) > 0 || log.Samples < 1 || log.To.Before(log.From) || len(log.Series.Validate()) > 0 {
			t.Fatalf("Read accepts an invalid log: %+v", log)
		}
	})
}
