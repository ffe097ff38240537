package dashboard

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// BenchmarkUsageFigure draws and writes the largest chart of the page of a task.
func BenchmarkUsageFigure(b *testing.B) {
	d := &Dashboard{}
	set := newTemplates(d.functions())["task"]
	key := sizing.TaskKey{Namespace: "default", DAG: "dag_012", Task: "task_0123"}
	rows := make([]TryRow, shownTries)
	for i := range rows {
		run := fmt.Sprintf("run_%05d", i)
		rows[i] = TryRow{At: time.Unix(int64(i)*86400, 0), RunID: run, Try: 1, Outcome: "success", Allocated: 3 * sizing.GiB,
			Used: sizing.GiB + sizing.Bytes(i%13)*100*sizing.MiB, IsKill: i%97 == 0, URL: d.tryURL(key, run, sizing.NoMap, 1)}
	}
	for b.Loop() {
		require.NoError(b, set.ExecuteTemplate(io.Discard, "figure", usageFigure(rows, 8*sizing.GiB, nil)))
	}
}
