package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

const predictUsage = `DAG TASK [FEATURE=VALUE …] [flags]

Asks a running server how much a task needs, like Airflow before a launch. The task is
DAG TASK, or DAG/TASK. A VALUE is a number, true, false, a date (2020-02-01), or text;
in JSON quotes ('"007"') it is always text.

With --run-id the prediction belongs to that run and considers its earlier OOM kills.
Without it the prediction belongs to no run.

  loadaware predict pricing predict_demand product_count=1253 region=emea --memory 350Gi`

// predictTask prints the response of POST /predict.
func predictTask(ctx context.Context, con console, args []string) error {
	cmd := newCommand("predict", predictUsage, "url", "token")
	namespace := cmd.namespaceFlag()
	memory := cmd.String("memory", "", "static memory request, such as 350Gi: the answer if the task is unknown")
	cpu := cmd.String("cpu", "", "static CPU request, such as 6 or 250m")
	most := cmd.String("max-memory", "", "maximum grant, such as 384Gi: the size of the largest node")
	run := cmd.String("run-id", "", "id of the run; none if empty")
	mapIndex := cmd.Int("map-index", sizing.NoMap, "index of a mapped task; -1 if it is not mapped")
	number := cmd.Int("try-number", 1, "number of the try, from 1")
	format := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	key, rest, err := taskArgument("predict", *namespace, rest)
	if err != nil {
		return err
	}
	features, err := featureArguments(rest)
	if err != nil {
		return err
	}
	if *format != "text" && *format != "json" {
		return usageErrorf("-o must be text or json, not %q", *format)
	}
	request := api.PredictRequest{Namespace: &key.Namespace, DagID: key.DAG, TaskID: key.Task, Features: features, RunID: textOrNil(*run), MaxMemory: textOrNil(*most)}
	if *memory != "" || *cpu != "" {
		request.Requested = &api.Resources{Memory: textOrNil(*memory), CPU: textOrNil(*cpu)}
	}
	if cmd.given("map-index") {
		request.MapIndex = mapIndex
	}
	if cmd.given("try-number") {
		request.TryNumber = number
	}
	var answer json.RawMessage
	if err := cmd.server().Call(ctx, http.MethodPost, "/predict", request, &answer); err != nil {
		if client.IsStatus(err, http.StatusNotFound) && *memory == "" {
			return fmt.Errorf("%w; set the static request with --memory, or see loadaware tasks", err)
		}
		return err
	}
	if *format == "json" {
		return render.JSON(con.out, answer)
	}
	var p api.Prediction
	if err := json.Unmarshal(answer, &p); err != nil {
		return fmt.Errorf("decode the response: %w", err)
	}
	writePrediction(con.out, &p)
	return nil
}

// featureArguments parses FEATURE=VALUE arguments into a JSON object.
func featureArguments(args []string) (json.RawMessage, error) {
	features := map[string]any{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usageErrorf("%q is not FEATURE=VALUE; see loadaware predict --help", arg)
		}
		if _, exists := features[name]; exists {
			return nil, usageErrorf("feature %s: given twice", name)
		}
		value, err := featureArgument(text)
		if err != nil {
			return nil, usageErrorf("feature %s: %v", name, err)
		}
		features[name] = value
	}
	if len(features) == 0 {
		return nil, nil
	}
	return json.Marshal(features)
}

// featureArgument parses a value like a cell of a history file. An empty text is a missing
// value.
func featureArgument(text string) (any, error) {
	var quoted string
	switch {
	case text == "":
		return nil, nil
	case strings.EqualFold(text, "true"):
		return true, nil
	case strings.EqualFold(text, "false"):
		return false, nil
	case text[0] == '"' && json.Unmarshal([]byte(text), &quoted) == nil:
		return quoted, nil
	case strings.Trim(text, "0123456789+-.eE") != "":
		return text, nil // not a decimal number
	}
	v, isNumber := parseDecimal(text)
	switch {
	case math.IsInf(v, 0):
		return nil, fmt.Errorf("%s is out of range", text)
	case isNumber:
		return v, nil
	}
	return text, nil // such as a date
}

// parseDecimal parses a number. It returns an infinity for a number out of range.
func parseDecimal(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// writePrediction prints a prediction as text.
func writePrediction(out io.Writer, p *api.Prediction) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	if p.Memory != nil {
		line("memory", "%s", amountText(p.Memory))
	}
	if p.Shadow != nil {
		line("shadow", "%s would have been granted", amountText(p.Shadow))
	}
	if p.CPU != nil {
		line("cpu", "%s", p.CPU.Request)
	}
	if p.Duration != nil {
		line("duration", "median %s, 95 %% below %s", secondsText(p.Duration.MedianSeconds), secondsText(p.Duration.P95Seconds))
	}
	if len(p.LadderBytes) > 1 {
		var lifts []string
		for _, b := range p.LadderBytes[1:] {
			lifts = append(lifts, sizing.Bytes(b).String())
		}
		line("lifts", "%s", strings.Join(lifts, ", "))
	}
	if p.Risk.Promised != nil {
		line("risk", "%.2f %% promised, %.2f %% accepted", 100**p.Risk.Promised, 100*p.Risk.Target)
	}
	line("source", "%s; mode %s", p.Source, p.Mode)
	if p.Model != nil {
		line("model", "version %d, learned from %d runs", p.Model.Version, p.Model.Observations)
	}
	line("reason", "%s", p.Reason)
	if p.PredictionID != "" {
		line("id", "%s", p.PredictionID)
	}
}

func amountText(m *api.Memory) string {
	if m.Request == m.Limit {
		return m.Limit
	}
	return m.Request + ", limit " + m.Limit
}

func secondsText(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
