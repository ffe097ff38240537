package render

import (
	"io"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/api"
)

// Tasks prints tasks in one of Formats.
func Tasks(w io.Writer, format string, tasks []api.TaskSummary) error {
	if format == "json" {
		return JSON(w, map[string]any{"tasks": tasks})
	}
	table := Table{Header: []string{"namespace", "dag_id", "task_id", "group", "model", "last_seen", "largest_peak", "observations", "kills"}, TextColumns: 6}
	for i := range tasks {
		t := &tasks[i]
		model, seen, peak := "", "", ""
		if t.LargestPeak != nil {
			peak = *t.LargestPeak
		}
		if t.Champion != nil {
			model = strconv.Itoa(t.Champion.Version)
		}
		if t.LastSeen != nil {
			seen = t.LastSeen.Format(time.RFC3339)
		}
		if format == "csv" && t.LargestPeakBytes != nil {
			peak = strconv.FormatInt(*t.LargestPeakBytes, 10)
		}
		table.Rows = append(table.Rows, []string{t.Namespace, t.DagID, t.TaskID, string(t.Group), model, seen, peak, strconv.Itoa(t.Observations), strconv.Itoa(t.Kills)})
	}
	if format == "csv" {
		table.Header[6] = "largest_peak_bytes"
	}
	return table.Write(w, format)
}
