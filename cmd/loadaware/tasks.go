package main

import (
	"context"
	"net/http"
	"net/url"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/render"
)

const tasksUsage = `[flags]

Lists the tasks of a running server by namespace, DAG and task, with the number of
reported tries and OOM kills, the largest peak, and the version of the active model.`

// listTasks prints all pages of GET /tasks.
func listTasks(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("tasks", tasksUsage, "url", "token")
	namespace := cmd.String("namespace", "", "only this namespace; all if empty")
	dag := cmd.String("dag", "", "only this DAG; all if empty")
	format := cmd.FormatFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(*format); err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("tasks takes no arguments, but was given %q; use --dag to choose a DAG", rest)
	}
	tasks := []api.TaskSummary{}
	query := url.Values{"limit": {"1000"}}
	if *namespace != "" {
		query.Set("namespace", *namespace)
	}
	for server := cmd.Server(); ; {
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
	return render.Tasks(con.Out, *format, tasks)
}
