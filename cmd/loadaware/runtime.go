package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

const runTimeUsage = `[DAG TASK [FEATURE=VALUE …]] [flags]

Describes the run times of a task of a running server: quantiles, the shape that it shares with
other tasks, and the execution timeout that a healthy run exceeds with the given risk. With
features it describes one try, and with --elapsed its remaining time.

Without a task it lists the tasks of the namespace, the task with the worst problem first: a
timeout that is too tight or too loose, or run times that drift. A timeout is known if
predictions send execution_timeout_seconds.

With --what-if the features replace those of the task's newest runs, and the answer compares the
run times before and after. --node-type and --load replace the node type and the load of the
cluster; reports with node_type and cluster_load show their effect.

  loadaware runtime pricing predict_demand product_count=1253 --elapsed 600
  loadaware runtime pricing predict_demand --what-if --node-type c5.large`

func runTimes(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("runtime", runTimeUsage, "url", "token")
	namespace := cmd.NamespaceFlag()
	risk := cmd.Float64("risk", 0.01, "share of healthy runs that the suggested timeout may stop, 0.001 to 0.5")
	elapsed := cmd.Float64("elapsed", 0, "seconds for which a try has run so far; prints its remaining time")
	timeout := cmd.Float64("timeout", 0, "execution timeout in use, in seconds; the timeout of the newest predicted try if 0")
	whatIf := cmd.Bool("what-if", false, "compare the run times before and after a change of features, node type or load")
	to := cmd.String("node-type", "", "with --what-if: node type after the change")
	from := cmd.String("from-node-type", "", "with --what-if: node type before the change; that of each run if empty")
	load := cmd.String("load", "", "with --what-if: load of the cluster after the change, 0 to 1")
	format := cmd.FormatFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(*format); err != nil {
		return err
	}
	if *whatIf {
		if cmd.Given("risk") || cmd.Given("elapsed") || cmd.Given("timeout") {
			return cli.UsageErrorf("--risk, --elapsed and --timeout have no effect with --what-if; omit them")
		}
		return runTimeWhatIf(ctx, con, cmd.Server(), *namespace, *format, rest, map[string]string{"node_type": *to, "from_node_type": *from, "cluster_load": *load})
	}
	if *to+*from+*load != "" {
		return cli.UsageErrorf("--node-type, --from-node-type and --load need --what-if")
	}
	query := url.Values{"risk": {strconv.FormatFloat(*risk, 'g', -1, 64)}}
	for name, value := range map[string]float64{"elapsed_seconds": *elapsed, "execution_timeout_seconds": *timeout} {
		if value != 0 {
			query.Set(name, strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	if len(rest) == 0 && cmd.Given("elapsed") {
		return cli.UsageErrorf("--elapsed is the time of one try; name its task, as in loadaware runtime DAG TASK --elapsed 600")
	}
	if len(rest) == 0 {
		answers, err := allRunTimes(ctx, cmd.Server(), *namespace, query)
		if err != nil {
			return err
		}
		return render.RunTimes(con.Out, *format, answers)
	}
	key, rest, err := cli.TaskArgument("runtime", *namespace, rest)
	if err != nil {
		return err
	}
	if err := addFeatures(query, rest, "namespace", "risk", "elapsed_seconds", "execution_timeout_seconds"); err != nil {
		return err
	}
	var answer json.RawMessage
	if err := cmd.Server().Call(ctx, http.MethodGet, runTimePath(key, query), nil, &answer); err != nil {
		return err
	}
	if *format == "json" {
		return render.JSON(con.Out, answer)
	}
	var r api.RunTime
	if err := json.Unmarshal(answer, &r); err != nil {
		return err
	}
	if *format != "table" {
		return render.RunTimes(con.Out, *format, []api.RunTime{r})
	}
	return render.RunTime(con.Out, &r)
}

func runTimePath(key sizing.TaskKey, query url.Values) string {
	query.Set("namespace", key.Namespace)
	return "/tasks/" + url.PathEscape(key.DAG) + "/" + url.PathEscape(key.Task) + "/runtime?" + query.Encode()
}

// allRunTimes returns the run times of all tasks of a namespace. It omits tasks whose run times the server cannot predict.
func allRunTimes(ctx context.Context, server *client.Client, namespace string, query url.Values) ([]api.RunTime, error) {
	answers := []api.RunTime{}
	for page := (url.Values{"limit": {"1000"}, "namespace": {namespace}}); ; {
		var tasks api.TaskPage
		if err := server.Call(ctx, http.MethodGet, "/tasks?"+page.Encode(), nil, &tasks); err != nil {
			return nil, err
		}
		for i := range tasks.Tasks {
			t := &tasks.Tasks[i]
			var r api.RunTime
			err := server.Call(ctx, http.MethodGet, runTimePath(sizing.TaskKey{Namespace: t.Namespace, DAG: t.DagID, Task: t.TaskID}, query), nil, &r)
			if client.IsStatus(err, http.StatusNotFound) {
				continue // too few measured runs with a duration
			}
			if err != nil {
				return nil, err
			}
			answers = append(answers, r)
		}
		if tasks.NextCursor == nil {
			return answers, nil
		}
		page.Set("cursor", *tasks.NextCursor)
	}
}

// addFeatures adds arguments FEATURE=VALUE to a query. A feature with a name in `parameters`, which the query uses for
// other purposes, is an error.
func addFeatures(query url.Values, args []string, parameters ...string) error {
	for _, text := range args {
		name, value, ok := strings.Cut(text, "=")
		if ok && slices.Contains(parameters, name) {
			return cli.UsageErrorf("%q: the server cannot receive a feature with this name here, because it is a parameter of the query; omit it", text)
		}
		if !ok || name == "" || query.Has(name) {
			return cli.UsageErrorf("%q is not FEATURE=VALUE, or is given twice; see loadaware runtime --help", text)
		}
		query.Set(name, value)
	}
	return nil
}

func runTimeWhatIf(ctx context.Context, con cli.Console, server *client.Client, namespace, format string, args []string, placement map[string]string) error {
	key, rest, err := cli.TaskArgument("runtime", namespace, args)
	if err != nil {
		return err
	}
	query := url.Values{"namespace": {key.Namespace}}
	for name, value := range placement {
		if value != "" {
			query.Set(name, value)
		}
	}
	if err := addFeatures(query, rest, "namespace", "node_type", "from_node_type", "cluster_load"); err != nil {
		return err
	}
	var answer api.RunTimeWhatIf
	path := "/tasks/" + url.PathEscape(key.DAG) + "/" + url.PathEscape(key.Task) + "/runtime/whatif?" + query.Encode()
	if err := server.Call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return err
	}
	return render.RunTimeWhatIf(con.Out, format, &answer)
}
