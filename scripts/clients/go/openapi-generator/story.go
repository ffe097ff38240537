// Command openapi-generator runs the scenario of docs/clients.md with the Go client of
// openapi-generator.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"math"
	"net/http"
	"os"
	"time"

	openapi "github.com/loadaware/loadaware/scripts/clients/go/generated/openapi"
)

const (
	gib   = int64(1) << 30
	dagID = "clients"
)

var (
	taskID   = os.Getenv("STORY_TASK") // set by run.sh: a task that only this client uses
	features = map[string]any{"product_count": 1253.0, "discount": 0.25, "region": "emea", "promo": true, "sale_end": "2020-02-05"}

	client = openapi.NewAPIClient(&openapi.Configuration{
		Servers:    openapi.ServerConfigurations{{URL: os.Getenv("LOADAWARE_URL")}},
		HTTPClient: http.DefaultClient, DefaultHeader: map[string]string{},
	})
	ctx = context.WithValue(context.Background(), openapi.ContextAccessToken, os.Getenv("LOADAWARE_TOKEN"))
)

func main() {
	log.SetFlags(log.Lshortfile)
	health, _, err := client.ServiceAPI.Health(ctx).Execute()
	must(err)
	check(health.Status == "ok", "health is %s", health.Status)
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"predict", predict},
		{"predict with a model", predictWithAModel},
		{"observe", observe},
		{"lift", lift},
		{"batch", batch},
		{"profile", profile},
		{"policy", policy},
		{"errors", rejections},
	} {
		step.run()
		fmt.Println("ok", step.name)
	}
}

func predict() {
	request := newPredictRequest("run-1", "8Gi")
	request.Features = features
	answer, _, err := client.AskAPI.Predict(ctx).PredictRequest(*request).Execute()
	must(err)
	check(answer.Source == openapi.REQUESTED && answer.Mode == openapi.ENFORCE, "source %s, mode %s", answer.Source, answer.Mode)
	check(answer.Memory.Get().RequestBytes == 8*gib && answer.Cpu.Get().RequestCores == 2, "memory %+v", answer.Memory.Get())
	check(len(answer.LadderBytes) == 4 && answer.LadderBytes[0] == 8*gib && answer.LadderBytes[3] == 128*gib, "ladder %v", answer.LadderBytes)
	check(answer.Risk.Promised.Get() == nil && answer.Risk.Target == 0.015, "risk %+v", answer.Risk)
	check(answer.Model.Get() == nil && answer.Bins.Get() == nil && answer.Shadow.Get() == nil, "a model for an unknown task")

	receipt := receiptOf(answer.PredictionId)
	check(maps.Equal(receipt.Ask.Features, features), "features arrived as %v", receipt.Ask.Features)
	check(receipt.Answer.Memory.Get().RequestBytes == 8*gib && !receipt.AnsweredAt.IsZero(), "receipt %+v", receipt)
}

func predictWithAModel() {
	request := openapi.NewPredictRequest("pricing", "predict_demand")
	request.Features = map[string]any{"product_count": 1253, "store_count": 12, "region": "emea", "execution_date": "2020-02-01"}
	answer, _, err := client.AskAPI.Predict(ctx).PredictRequest(*request).Execute()
	must(err)
	check(answer.Source == openapi.MODEL, "source %s", answer.Source)
	model := answer.Model.Get()
	check(model.Version >= 1 && model.Observations > 100 && !model.TrainedAt.IsZero(), "model %+v", model)
	check(*answer.Risk.Promised.Get() > 0 && *answer.Risk.Promised.Get() < 1, "risk %+v", answer.Risk)
	check(answer.LadderBytes[0] == answer.Memory.Get().LimitBytes, "ladder %v", answer.LadderBytes)
	check(answer.Duration.Get().MedianSeconds <= answer.Duration.Get().P95Seconds, "duration %+v", answer.Duration.Get())
	sum := 0.0
	for _, p := range answer.Bins.Get().Probabilities {
		sum += p
	}
	check(math.Abs(sum-1) < 0.01, "probabilities sum to %v", sum)
}

func observe() {
	success := report("run-1", openapi.SUCCESS)
	success.SetMemoryMaxBytes(5 * gib)
	success.SetDurationSeconds(60.5)
	success.SetCpuMaxCores(1.5)
	for _, duplicate := range []bool{false, true} {
		answer, _, err := client.TellAPI.Observe(ctx).Observation(*success).Execute()
		must(err)
		check(answer.Recorded && answer.Duplicate == duplicate, "answer %+v", answer)
		for _, warning := range answer.Warnings {
			check(warning.Field != "" && warning.Detail != "", "warning %+v", warning)
		}
	}
	killed := report("run-2", openapi.OOM_KILLED)
	killed.SetDurationSeconds(30)
	killed.SetAllocated(openapi.Resources{MemoryBytes: *openapi.NewNullableInt64(new(4 * gib))})
	answer, _, err := client.TellAPI.Observe(ctx).Observation(*killed).Execute()
	must(err)
	check(answer.Recorded, "answer %+v", answer)
}

func lift() {
	failed := openapi.FailedMemory{MemoryBytes: *openapi.NewNullableInt64(new(4 * gib))}
	request := openapi.NewLiftRequest(dagID, taskID, "run-2", failed)
	request.SetReason(string(openapi.OOM_KILLED))
	request.SetMaxMemory("64Gi")
	lifted, _, err := client.AskAPI.RetryLift(ctx).LiftRequest(*request).Execute()
	must(err)
	check(lifted.Retry && lifted.Verdict == "lift" && lifted.Attempt == 2, "lift %+v", lifted)
	check(lifted.Memory.Get().RequestBytes > 4*gib, "lifted to %+v", lifted.Memory.Get())

	request = openapi.NewLiftRequest(dagID, taskID, "run-3", failed)
	request.SetReason(string(openapi.EVICTED))
	evicted, _, err := client.AskAPI.RetryLift(ctx).LiftRequest(*request).Execute()
	must(err)
	check(!evicted.Retry && evicted.Verdict == "not_memory" && evicted.Memory.Get() == nil, "lift %+v", evicted)
}

func batch() {
	tasks := []openapi.PredictRequest{*newPredictRequest("run-4", "8Gi"), *newPredictRequest("run-5", "350GiB")}
	answer, _, err := client.AskAPI.PredictBatch(ctx).PredictBatchRequest(*openapi.NewPredictBatchRequest(tasks)).Execute()
	must(err)
	good, rejected := answer.Predictions[0], answer.Predictions[1]
	check(good.Prediction != nil && good.ItemError == nil && good.Prediction.Memory.Get().RequestBytes > 0, "first %+v", good)
	check(rejected.ItemError != nil && rejected.Prediction == nil, "second %+v", rejected)
	problem := rejected.ItemError.Error
	check(problem.Status == 422 && problem.Errors[0].Field == "tasks[1].requested.memory", "problem %+v", problem)
}

func profile() {
	known, _, err := client.TasksAPI.GetTask(ctx, dagID, taskID).Execute()
	must(err)
	check(known.Observations == 2 && known.Kills == 1 && *known.LargestPeakBytes.Get() == 5*gib, "profile %+v", known)
	kinds := map[string]string{}
	for _, f := range known.Features {
		kinds[f.Name] = f.Kind
	}
	want := map[string]string{"product_count": "number", "discount": "number", "region": "category", "promo": "bool", "sale_end": "date"}
	check(maps.Equal(kinds, want), "kinds of features are %v", kinds)
	check(!known.LastSeen.Get().IsZero() && known.Policy.Mode == openapi.ENFORCE, "profile %+v", known)

	learned, _, err := client.TasksAPI.GetTask(ctx, "pricing", "predict_demand").Execute()
	must(err)
	check(learned.Champion.Get().Version >= 1 && len(learned.Exam) > 0, "champion %+v", learned.Champion.Get())
	check(learned.MemoryBytes.Get().P50 <= learned.MemoryBytes.Get().Max, "memory %+v", learned.MemoryBytes.Get())
	page, _, err := client.TasksAPI.ListTasks(ctx).Namespace("default").Execute()
	must(err)
	check(len(page.Tasks) > 1, "tasks %+v", page.Tasks)
}

func policy() {
	request := openapi.PolicyRequest{}
	request.SetMode(string(openapi.SHADOW))
	request.SetCap("384Gi")
	request.SetRiskTarget(0.01)
	request.SetMaxLiftsNil()
	_, _, err := client.TasksAPI.PutPolicy(ctx, dagID, taskID).PolicyRequest(request).Execute()
	must(err)
	got, _, err := client.TasksAPI.GetPolicy(ctx, dagID, taskID).Execute()
	must(err)
	check(got.Mode == openapi.SHADOW && *got.CapBytes.Get() == 384*gib && got.FloorBytes.Get() == nil, "policy %+v", got)

	defaults, _, err := client.TasksAPI.PutPolicy(ctx, dagID, taskID).PolicyRequest(openapi.PolicyRequest{}).Execute()
	must(err)
	check(defaults.Mode == openapi.ENFORCE && defaults.CapBytes.Get() == nil, "policy %+v", defaults)
	audit, _, err := client.TasksAPI.ListAudit(ctx).DagId(dagID).TaskId(taskID).Execute()
	must(err)
	check(audit.Entries[0].After["mode"] == "enforce", "audit %+v", audit.Entries[0])
}

func rejections() {
	wrong := newPredictRequest("run-6", "350GiB")
	wrong.Requested.Get().SetCpu("lots")
	_, _, err := client.AskAPI.Predict(ctx).PredictRequest(*wrong).Execute()
	problem := problemOf(err)
	check(problem.Status == 422 && problem.Type == "urn:loadaware:problem:invalid", "problem %+v", problem)
	check(len(problem.Errors) == 2 && problem.Errors[0].Field == "requested.memory" && problem.Errors[1].Field == "requested.cpu",
		"problem %+v", problem)

	_, _, err = client.TasksAPI.GetTask(ctx, dagID, "unknown").Execute()
	check(problemOf(err).Status == 404, "problem %+v", problemOf(err))
}

func newPredictRequest(run, memory string) *openapi.PredictRequest {
	request := openapi.NewPredictRequest(dagID, taskID)
	request.SetRunId(run)
	resources := openapi.Resources{}
	resources.SetMemory(memory)
	resources.SetCpu("2")
	request.SetRequested(resources)
	return request
}

func report(run string, outcome openapi.Outcome) *openapi.Observation {
	observation := openapi.NewObservation(dagID, taskID, run, outcome)
	observation.Features = features
	return observation
}

// receiptOf waits for a receipt, which the service stores shortly after the answer.
func receiptOf(predictionID string) *openapi.Receipt {
	for range 100 {
		receipt, response, err := client.TasksAPI.GetReceipt(ctx, predictionID).Execute()
		if err == nil {
			return receipt
		}
		check(response != nil && response.StatusCode == http.StatusNotFound, "receipt: %v", err)
		time.Sleep(100 * time.Millisecond)
	}
	log.Fatalf("no receipt of %s", predictionID)
	return nil
}

// problemOf returns the problem in the error of a call. It ends the program unless the service rejected the call.
func problemOf(err error) openapi.Problem {
	var rejection *openapi.GenericOpenAPIError
	check(errors.As(err, &rejection), "not rejected: %v", err)
	problem, parsed := rejection.Model().(openapi.Problem)
	check(parsed, "the problem was not parsed: %v", err)
	return problem
}

func must(err error) {
	if err != nil {
		_ = log.Output(2, err.Error())
		os.Exit(1)
	}
}

// check prints the caller's line and the message, and ends the program, unless ok is true.
func check(ok bool, format string, args ...any) {
	if !ok {
		_ = log.Output(2, fmt.Sprintf(format, args...))
		os.Exit(1)
	}
}
