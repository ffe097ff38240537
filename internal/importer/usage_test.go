package importer

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A row without an outcome is a success by default. This default must not hide the OOM kill in the usage log of the try.
func TestOutcomeOfUsageLogReplacesDefaultOfRow(t *testing.T) {
	folder := t.TempDir()
	rows, log := filepath.Join(folder, "peaks.csv"), filepath.Join(folder, "log.csv")
	require.NoError(t, os.WriteFile(rows, []byte("dag_id,task_id,run_id,memory_max_bytes\netl,load,r,2000\n"), 0o600))
	require.NoError(t, os.WriteFile(log, []byte("# dag_id=etl, task_id=load, run_id=r, outcome=oom_killed\ntimestamp,memory_bytes\n1740819660,1500\n"), 0o600))
	u := usage{byTry: map[sizing.TryKey]*fileUsage{}}
	tries := NewTries(Console{Out: io.Discard, Err: io.Discard}, 1)
	require.NoError(t, u.readFile(tries, rows, "default"))
	require.NoError(t, u.readLogs(tries, log, "default"))

	key := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "load"}, RunID: "r", MapIndex: sizing.NoMap, Number: 1}
	for airflow, want := range map[sizing.Outcome]sizing.Outcome{sizing.Failed: sizing.OOMKilled, sizing.Success: sizing.Success} {
		o := sizing.Observation{Try: key, Outcome: airflow}
		missing, err := u.join(t.Context(), &o)
		require.NoError(t, err)
		assert.Empty(t, missing)
		assert.Equal(t, want, o.Outcome)
		assert.EqualValues(t, 2000, o.MemoryMax)
	}
}
