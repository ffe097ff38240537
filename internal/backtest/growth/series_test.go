package growth

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestReadMergesSamplesOfOneTime(t *testing.T) {
	runs, err := Read("x", strings.NewReader("run_id,dag_id,task_id,seconds,memory_bytes,cpu_cores,note\n"+
		"a,d,t,100,5,1,\nb,d,t,0,7,,\na,d,t,102,6,2,\na,d,t,102,9,1,\n"))
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.Equal(t, []float64{0, 2}, runs[0].Seconds, "seconds count from the first sample")
	assert.Equal(t, []float64{5, 9}, runs[0].Memory, "the larger of two samples at the same time counts")
	assert.True(t, math.IsNaN(runs[1].CPU[0]))
	assert.InDelta(t, 4, runs[0].duration(), 1e-9)
}

func TestReadIgnoresAByteOrderMark(t *testing.T) {
	runs, err := Read("x", strings.NewReader("\ufeff\"dag_id\",task_id,run_id,seconds,memory_bytes\nd,t,a,0,5\n"))
	require.NoError(t, err)
	assert.Len(t, runs, 1)
}

func TestReadSaysWhatIsInvalid(t *testing.T) {
	const header = "dag_id,task_id,run_id,seconds,memory_bytes,cpu_cores\n"
	for text, want := range map[string]string{
		"":                                    "it needs the columns dag_id",
		"dag_id,task_id\n":                    "column run_id is missing",
		header:                                "no rows",
		header + "d,t,r,x,1,1\n":              `line 2: seconds "x" is not a usable number`,
		header + "d,t,r,1,-1,1\n":             `memory_bytes "-1"`,
		header + "d,t,r,1,1e300,1\n":          `memory_bytes "1e300" is too large; give at most 9007199254740992`,
		header + "d,t,r,1,1,NaN\n":            `cpu_cores "NaN"`,
		header + ",t,r,1,1,1\n":               "dag_id: is required",
		header + "d,t,,1,1,1\n":               "run_id: is required",
		header + "d,t,r,5,1,1\nd,t,r,4,1,1\n": `line 3: seconds 4 is less than in the previous row of run "r"`,
		header + "d,t,r,5,1\n":                "record on line 2: wrong number of fields",
		header + "a\"b,t,r,5,1,1\n":           `line 2, column 2: bare "`,
	} {
		_, err := Read("f.csv", strings.NewReader(text))
		require.ErrorContains(t, err, want)
		assert.Equal(t, sizing.Invalid, sizing.KindOf(err), text)
	}
}
