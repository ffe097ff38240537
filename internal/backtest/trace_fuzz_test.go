package backtest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every accepted trace must be replayable: its rows are sorted by start and have a peak of at most the cap.
func FuzzRead(f *testing.F) {
	f.Add([]byte(twoRows))
	f.Add([]byte(header))
	f.Add([]byte(header + "d,t,r,2020-01-01T00:00:00Z,0,8e9,0,red,NaN,1e400\n"))
	f.Add([]byte(`{"dag_id":"d","task_id":"t","run_id":"r","outcome":"success","memory_max_bytes":1,"duration_seconds":1,"started_at":"2020-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := Read("fuzz", bytes.NewReader(text), Selection{})
		if err != nil {
			return
		}
		require.NotEmpty(t, trace.rows)
		for i := range trace.rows {
			r := &trace.rows[i]
			require.Positive(t, r.MemoryMax)
			require.LessOrEqual(t, r.MemoryMax, trace.Cap)
			require.True(t, i == 0 || !r.StartedAt.Before(trace.rows[i-1].StartedAt))
		}
	})
}
