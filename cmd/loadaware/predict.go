package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

const predictUsage = `DAG TASK [FEATURE=VALUE …] [flags]

Asks a running server how much a task needs, like Airflow before a launch. The task is
DAG TASK, or DAG/TASK. A VALUE is a number, true, false, a date (2020-02-01) or text, such
as 007. A VALUE in quotes ('"1253"') is sent as a JSON string. A VALUE is read like a
parameter of GET /predict.

With --run-id the prediction belongs to that run and considers its earlier OOM kills.
Without --run-id the prediction belongs to no run.

  loadaware predict pricing predict_demand product_count=1253 region=emea --memory 350Gi`

func predictTask(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("predict", predictUsage, "url", "token")
	namespace := cmd.NamespaceFlag()
	memory := cmd.String("memory", "", "static memory request, such as 350Gi: the answer if neither the task nor similar tasks have a history")
	cpu := cmd.String("cpu", "", "static CPU request, such as 6 or 250m")
	maxMemory := cmd.String("max-memory", "", "maximum grant, such as 384Gi: the size of the largest node")
	run := cmd.String("run-id", "", "id of the run; none if empty")
	mapIndex := cmd.Int("map-index", sizing.NoMap, "index of a mapped task; -1 if it is not mapped")
	number := cmd.Int("try-number", 1, "number of the try, from 1")
	format := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	key, rest, err := cli.TaskArgument("predict", *namespace, rest)
	if err != nil {
		return err
	}
	features, err := client.ParseFeatures(rest)
	if err != nil {
		return cli.UsageErrorf("%v; see loadaware predict --help", err)
	}
	if *format != "text" && *format != "json" {
		return cli.UsageErrorf("-o must be text or json, not %q", *format)
	}
	request := api.PredictRequest{Namespace: &key.Namespace, DagID: key.DAG, TaskID: key.Task, Features: features, RunID: cli.TextOrNil(*run), MaxMemory: cli.TextOrNil(*maxMemory)}
	if *memory != "" || *cpu != "" {
		request.Requested = &api.Resources{Memory: cli.TextOrNil(*memory), CPU: cli.TextOrNil(*cpu)}
	}
	if cmd.Given("map-index") {
		request.MapIndex = mapIndex
	}
	if cmd.Given("try-number") {
		request.TryNumber = number
	}
	var answer json.RawMessage
	if err := cmd.Server().Call(ctx, http.MethodPost, "/predict", request, &answer); err != nil {
		if client.IsStatus(err, http.StatusNotFound) && *memory == "" {
			return fmt.Errorf("%w; set the static request with --memory, or see loadaware tasks", err)
		}
		return err
	}
	if *format == "json" {
		return render.JSON(con.Out, answer)
	}
	var p api.Prediction
	if err := json.Unmarshal(answer, &p); err != nil {
		return fmt.Errorf("decode the response: %w", err)
	}
	render.Prediction(con.Out, &p)
	return nil
}
