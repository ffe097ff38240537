package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/render"
)

const tasksUsage = `[flags]

Lists the tasks of a running server by namespace, DAG and task, with the number of
reported tries and OOM kills, the largest peak, and the version of the active model.`

// listTasks prints all pages of GET /tasks.
func listTasks(ctx context.Context, con console, args []string) error {
	cmd := newCommand("tasks", tasksUsage, "url", "token")
	namespace := cmd.String("namespace", "", "only this namespace; all if empty")
	dag := cmd.String("dag", "", "only this DAG; all if empty")
	format := cmd.format()
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if err := checkFormat(*format); err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("tasks takes no arguments, but was given %q; use --dag to choose a DAG", rest)
	}
	tasks := []api.TaskSummary{}
	query := url.Values{"limit": {"1000"}}
	if *namespace != "" {
		query.Set("namespace", *namespace)
	}
	for server := cmd.server(); ; {
		var page api.TaskPage
		if err := server.Call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for i := range page.Tasks {
			if *dag == "" || page.Tasks[i].DagID == *dag {
				tasks = append(tasks, page.Tasks[i])
			}
		}
		if page.NextCursor == nil {
			break
		}
		query.Set("cursor", *page.NextCursor)
	}
	return writeTasks(con, *format, tasks)
}

// writeTasks prints the tasks in a table format.
func writeTasks(con console, format string, tasks []api.TaskSummary) error {
	if format == "json" {
		return render.JSON(con.out, map[string]any{"tasks": tasks})
	}
	if len(tasks) == 0 && format == "table" {
		_, err := fmt.Fprintln(con.out, "the server has no tasks yet; report runs to POST /observe, or import a history with loadaware import")
		return err
	}
	s := render.Table{Header: []string{"namespace", "dag_id", "task_id", "group", "model", "last_seen", "largest_peak", "observations", "kills"}, TextColumns: 6}
	for i := range tasks {
		t := &tasks[i]
		model, seen, peak := "", "", deref(t.LargestPeak)
		if t.Champion != nil {
			model = strconv.Itoa(t.Champion.Version)
		}
		if t.LastSeen != nil {
			seen = t.LastSeen.Format(time.RFC3339)
		}
		if format == "csv" && t.LargestPeakBytes != nil {
			peak = strconv.FormatInt(*t.LargestPeakBytes, 10)
		}
		s.Rows = append(s.Rows, []string{t.Namespace, t.DagID, t.TaskID, string(t.Group), model, seen, peak, strconv.Itoa(t.Observations), strconv.Itoa(t.Kills)})
	}
	if format == "csv" {
		s.Header[6] = "largest_peak_bytes"
	}
	return s.Write(con.out, format)
}
