package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
)

const tasksUsage = `[flags]

Lists the tasks of a running server by namespace, DAG and task, with the number of
reported tries and OOM kills, the largest peak, and the version of the active model.`

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
	tasks, err := readTasks(ctx, cmd.Server(), *namespace)
	if err != nil {
		return err
	}
	all := len(tasks)
	if *dag != "" {
		tasks = slices.DeleteFunc(tasks, func(t api.TaskSummary) bool { return t.DagID != *dag })
	}
	if len(tasks) == 0 && *format == "table" {
		_, err := fmt.Fprintln(con.Out, whyNoTasks(all, *namespace, *dag, cmd.Token != ""))
		return err
	}
	return render.Tasks(con.Out, *format, tasks)
}

// whyNoTasks explains why a list of tasks is empty. The argument `all` is the number of tasks before the filter by DAG.
func whyNoTasks(all int, namespace, dag string, hasToken bool) string {
	switch {
	case all > 0:
		return fmt.Sprintf("no task is of DAG %q; other DAGs have %s", dag, render.Count(all, "task"))
	case namespace != "":
		return fmt.Sprintf("no task is in namespace %q; omit --namespace to list all", namespace)
	case hasToken:
		return "the server has no tasks in the scope of the token; report runs to POST /observe, import a history with loadaware import, or use a token with a wider scope"
	}
	return "the server has no tasks yet; report runs to POST /observe, or import a history with loadaware import"
}

// readTasks reads the tasks of a namespace, or of all namespaces if `namespace` is empty.
func readTasks(ctx context.Context, server *client.Client, namespace string) ([]api.TaskSummary, error) {
	tasks := []api.TaskSummary{}
	query := url.Values{"limit": {"1000"}}
	if namespace != "" {
		query.Set("namespace", namespace)
	}
	for {
		var page api.TaskPage
		if err := server.Call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		tasks = append(tasks, page.Tasks...)
		if page.NextCursor == nil {
			return tasks, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}
