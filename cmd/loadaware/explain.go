package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
)

const explainUsage = `DAG TASK [FEATURE=VALUE …] [flags]
loadaware explain --prediction ID [flags]

Explains an answer of a running server as a chain of factors: the effect of each feature,
the margin and the bounds. The base times all factors is the grant.
Without --prediction it explains what predict would answer now, and records nothing. With
--prediction it explains a recorded answer by the model that gave it, or by its receipt
alone if that model cannot be rebuilt. If the try was OOM-killed, it says why, and which
amount would have held.

  loadaware explain pricing predict_demand product_count=1253 region=emea --memory 350Gi`

func explainAnswer(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("explain", explainUsage, "url", "token")
	namespace := cmd.NamespaceFlag()
	memory := cmd.String("memory", "", "static memory request, such as 350Gi")
	cpu := cmd.String("cpu", "", "static CPU request, such as 6 or 250m")
	maxMemory := cmd.String("max-memory", "", "maximum grant, such as 384Gi: the size of the largest node")
	prediction := cmd.String("prediction", "", "id of a recorded answer: the prediction_id of predict")
	format := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if *format != "text" && *format != "json" {
		return cli.UsageErrorf("-o must be text or json, not %q", *format)
	}
	var answer json.RawMessage
	if *prediction != "" {
		if len(rest) > 0 {
			return cli.UsageErrorf("%q: --prediction takes no task and no features; see loadaware explain --help", rest[0])
		}
		err = cmd.Server().Call(ctx, http.MethodGet, "/predictions/"+url.PathEscape(*prediction)+"/explanation", nil, &answer)
	} else {
		key, rest, keyErr := cli.TaskArgument("explain", *namespace, rest)
		if keyErr != nil {
			return keyErr
		}
		features, featureErr := client.ParseFeatures(rest)
		if featureErr != nil {
			return cli.UsageErrorf("%v; see loadaware explain --help", featureErr)
		}
		request := api.PredictRequest{Namespace: &key.Namespace, DagID: key.DAG, TaskID: key.Task, Features: features, MaxMemory: cli.TextOrNil(*maxMemory)}
		if *memory != "" || *cpu != "" {
			request.Requested = &api.Resources{Memory: cli.TextOrNil(*memory), CPU: cli.TextOrNil(*cpu)}
		}
		err = cmd.Server().Call(ctx, http.MethodPost, "/explain", request, &answer)
	}
	if err != nil {
		return err
	}
	if *format == "json" {
		return render.JSON(con.Out, answer)
	}
	var e api.Explanation
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("decode the response: %w", err)
	}
	return render.Explanation(con.Out, &e)
}
