// Command ogen runs the scenario of docs/clients.md with the client that ogen generates.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"time"

	"github.com/go-faster/jx"

	"github.com/loadaware/loadaware/scripts/clients/go/generated/oas"
)

const (
	gib   = int64(1) << 30
	dagID = oas.ID("clients")
)

var (
	ctx      = context.Background()
	taskID   = oas.ID(os.Getenv("STORY_TASK")) // set by run.sh: a task that only this client uses
	client   *oas.Client
	features = oas.Features{
		"product_count": jx.Raw("1253"), "discount": jx.Raw("0.25"), "region": jx.Raw(`"emea"`),
		"promo": jx.Raw("true"), "sale_end": jx.Raw(`"2020-02-05"`),
	}
)

// bearer implements the security source of ogen.
type bearer struct{}

func (bearer) Bearer(context.Context, oas.OperationName) (oas.Bearer, error) {
	return oas.Bearer{Token: os.Getenv("LOADAWARE_TOKEN")}, nil
}

func main() {
	log.SetFlags(log.Lshortfile)
	var err error
	client, err = oas.NewClient(os.Getenv("LOADAWARE_URL"), bearer{})
	check(err == nil, "%v", err)
	health, err := client.Health(ctx)
	check(err == nil && health.Status == oas.HealthStatusOk, "%v", err)
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
	request.Features = oas.NewOptNilFeatures(features)
	answer := expect[*oas.Prediction](client.Predict(ctx, request))
	check(answer.Source == oas.SourceRequested && answer.Mode == oas.ModeEnforce, "source %s, mode %s", answer.Source, answer.Mode)
	check(int64(answer.Memory.Value.RequestBytes) == 8*gib && answer.CPU.Value.RequestCores == 2, "memory %+v", answer.Memory)
	ladder := answer.LadderBytes.Value
	check(len(ladder) == 4 && int64(ladder[0]) == 8*gib && int64(ladder[3]) == 128*gib, "ladder %v", ladder)
	check(answer.Risk.Promised.IsNull() && answer.Risk.Target == 0.015, "risk %+v", answer.Risk)
	check(answer.Model.IsNull() && answer.Bins.IsNull() && answer.Shadow.IsNull(), "a model for an unknown task")

	receipt := receiptOf(answer.PredictionID)
	check(maps.EqualFunc(receipt.Ask.Features.Value, features, sameJSON), "features arrived as %s", receipt.Ask.Features.Value)
	check(int64(receipt.Answer.Memory.Value.RequestBytes) == 8*gib && !receipt.AnsweredAt.IsZero(), "receipt %+v", receipt)
}

func predictWithAModel() {
	answer := expect[*oas.Prediction](client.Predict(ctx, &oas.PredictRequest{
		DagID: "pricing", TaskID: "predict_demand",
		Features: oas.NewOptNilFeatures(oas.Features{
			"product_count": jx.Raw("1253"), "store_count": jx.Raw("12"), "region": jx.Raw(`"emea"`), "execution_date": jx.Raw(`"2020-02-01"`),
		}),
	}))
	check(answer.Source == oas.SourceModel, "source %s", answer.Source)
	model := answer.Model.Value
	check(model.Version >= 1 && model.Observations > 100 && !model.TrainedAt.IsZero(), "model %+v", model)
	check(answer.Risk.Promised.Value > 0 && answer.Risk.Promised.Value < 1, "risk %+v", answer.Risk)
	check(answer.LadderBytes.Value[0] == answer.Memory.Value.LimitBytes, "ladder %v", answer.LadderBytes)
	check(answer.Duration.Value.MedianSeconds <= answer.Duration.Value.P95Seconds, "duration %+v", answer.Duration)
	sum := 0.0
	for _, p := range answer.Bins.Value.Probabilities {
		sum += p
	}
	check(math.Abs(sum-1) < 0.01, "probabilities sum to %v", sum)
}

func observe() {
	success := report("run-1", oas.OutcomeSuccess)
	success.MemoryMaxBytes.SetTo(5 * gib)
	success.DurationSeconds.SetTo(60.5)
	success.CPUMaxCores.SetTo(1.5)
	for _, duplicate := range []bool{false, true} {
		answer := expect[*oas.Recorded](client.Observe(ctx, success))
		check(answer.Recorded && answer.Duplicate == duplicate, "answer %+v", answer)
		for _, warning := range answer.Warnings {
			check(warning.Field != "" && warning.Detail != "", "warning %+v", warning)
		}
	}
	killed := report("run-2", oas.OutcomeOomKilled)
	killed.DurationSeconds.SetTo(30)
	killed.Allocated.SetTo(oas.Resources{MemoryBytes: oas.NewOptNilInt64(4 * gib)})
	answer := expect[*oas.Recorded](client.Observe(ctx, killed))
	check(answer.Recorded, "answer %+v", answer)
}

func lift() {
	failed := oas.FailedMemory{MemoryBytes: oas.NewOptNilInt64(4 * gib)}
	lifted := expect[*oas.Lift](client.RetryLift(ctx, &oas.LiftRequest{
		DagID: dagID, TaskID: taskID, RunID: "run-2", Failed: failed,
		Reason: oas.NewOptNilLiftRequestReason(oas.LiftRequestReasonOomKilled), MaxMemory: oas.NewOptNilString("64Gi"),
	}))
	check(lifted.Retry && lifted.Verdict == oas.LiftVerdictLift && lifted.Attempt == 2, "lift %+v", lifted)
	check(int64(lifted.Memory.Value.RequestBytes) > 4*gib, "lifted to %+v", lifted.Memory)

	evicted := expect[*oas.Lift](client.RetryLift(ctx, &oas.LiftRequest{
		DagID: dagID, TaskID: taskID, RunID: "run-3", Failed: failed,
		Reason: oas.NewOptNilLiftRequestReason(oas.LiftRequestReasonEvicted),
	}))
	check(!evicted.Retry && evicted.Verdict == oas.LiftVerdictNotMemory && evicted.Memory.IsNull(), "lift %+v", evicted)
}

func batch() {
	answer := expect[*oas.PredictBatchAnswer](client.PredictBatch(ctx, &oas.PredictBatchRequest{
		Tasks: []oas.PredictRequest{*newPredictRequest("run-4", "8Gi"), *newPredictRequest("run-5", "350GiB")},
	}))
	good, bad := answer.Predictions[0], answer.Predictions[1]
	check(good.IsPrediction() && good.Prediction.Memory.Value.RequestBytes > 0, "first %+v", good)
	check(bad.IsItemError(), "second %+v", bad)
	problem := bad.ItemError.Error
	check(problem.Status == 422 && problem.Errors[0].Field == "tasks[1].requested.memory", "problem %+v", problem)
}

func profile() {
	known := expect[*oas.TaskProfile](client.GetTask(ctx, oas.GetTaskParams{DagID: dagID, TaskID: taskID}))
	check(known.Observations == 2 && known.Kills == 1 && known.LargestPeakBytes.Value == 5*gib, "profile %+v", known)
	kinds := map[string]oas.FeatureFieldKind{}
	for _, f := range known.Features {
		kinds[f.Name] = f.Kind
	}
	want := map[string]oas.FeatureFieldKind{
		"product_count": oas.FeatureFieldKindNumber, "discount": oas.FeatureFieldKindNumber, "region": oas.FeatureFieldKindCategory,
		"promo": oas.FeatureFieldKindBool, "sale_end": oas.FeatureFieldKindDate,
	}
	check(maps.Equal(kinds, want), "kinds of features are %v", kinds)
	check(!known.LastSeen.Value.IsZero() && known.Policy.Mode == oas.ModeEnforce, "profile %+v", known)

	learned := expect[*oas.TaskProfile](client.GetTask(ctx, oas.GetTaskParams{DagID: "pricing", TaskID: "predict_demand"}))
	check(learned.Champion.Value.Version >= 1 && len(learned.Exam.Value) > 0, "champion %+v", learned.Champion)
	check(learned.MemoryBytes.Value.P50 <= learned.MemoryBytes.Value.Max, "memory %+v", learned.MemoryBytes)
	page := expect[*oas.TaskPage](client.ListTasks(ctx, oas.ListTasksParams{Namespace: oas.NewOptID("default")}))
	check(len(page.Tasks) > 1, "tasks %+v", page.Tasks)
}

func policy() {
	request := &oas.PolicyRequest{
		Mode: oas.NewOptNilPolicyRequestMode(oas.PolicyRequestModeShadow), Cap: oas.NewOptNilString("384Gi"), RiskTarget: oas.NewOptNilFloat64(0.01),
	}
	request.MaxLifts.SetToNull()
	expect[*oas.Policy](client.PutPolicy(ctx, request, oas.PutPolicyParams{DagID: dagID, TaskID: taskID}))
	got := expect[*oas.Policy](client.GetPolicy(ctx, oas.GetPolicyParams{DagID: dagID, TaskID: taskID}))
	check(got.Mode == oas.ModeShadow && got.CapBytes.Value == 384*gib && got.FloorBytes.IsNull(), "policy %+v", got)

	defaults := expect[*oas.Policy](client.PutPolicy(ctx, &oas.PolicyRequest{}, oas.PutPolicyParams{DagID: dagID, TaskID: taskID}))
	check(defaults.Mode == oas.ModeEnforce && defaults.CapBytes.IsNull(), "policy %+v", defaults)
	audit := expect[*oas.AuditPage](client.ListAudit(ctx, oas.ListAuditParams{DagID: oas.NewOptID(dagID), TaskID: oas.NewOptID(taskID)}))
	check(string(audit.Entries[0].After.Value["mode"]) == `"enforce"`, "audit %+v", audit.Entries[0])
}

func rejections() {
	wrong := newPredictRequest("run-6", "350GiB")
	wrong.Requested.Value.CPU.SetTo("lots")
	rejected := expect[*oas.ProblemStatusCode](client.Predict(ctx, wrong))
	problem := rejected.Response
	check(rejected.StatusCode == 422 && problem.Status == 422 && problem.Type == "urn:loadaware:problem:invalid", "problem %+v", problem)
	check(len(problem.Errors) == 2 && problem.Errors[0].Field == "requested.memory" && problem.Errors[1].Field == "requested.cpu",
		"problem %+v", problem)

	missing := expect[*oas.Problem](client.GetTask(ctx, oas.GetTaskParams{DagID: dagID, TaskID: "unknown"}))
	check(missing.Status == 404, "problem %+v", missing)
}

func newPredictRequest(run, memory string) *oas.PredictRequest {
	return &oas.PredictRequest{
		DagID: dagID, TaskID: taskID, RunID: oas.NewOptNilString(run),
		Requested: oas.NewOptNilResources(oas.Resources{Memory: oas.NewOptNilString(memory), CPU: oas.NewOptNilString("2")}),
	}
}

func report(run oas.RunID, outcome oas.Outcome) *oas.Observation {
	return &oas.Observation{DagID: dagID, TaskID: taskID, RunID: run, Outcome: outcome, Features: oas.NewOptNilFeatures(features)}
}

// receiptOf waits for a receipt, which the service stores shortly after the answer.
func receiptOf(id oas.PredictionID) *oas.Receipt {
	for range 100 {
		answer, err := client.GetReceipt(ctx, oas.GetReceiptParams{PredictionID: id})
		if receipt, found := answer.(*oas.Receipt); found && err == nil {
			return receipt
		}
		check(err == nil, "receipt: %v", err)
		time.Sleep(100 * time.Millisecond)
	}
	log.Fatalf("no receipt of %s", id)
	return nil
}

// expect ends the program if the call failed or the answer is no T.
func expect[T any](answer any, err error) T {
	typed, ok := answer.(T)
	if err != nil || !ok {
		_ = log.Output(2, fmt.Sprintf("answered %T %+v: %v", answer, answer, err))
		os.Exit(1)
	}
	return typed
}

// sameJSON compares two values as JSON, because a number has several notations.
func sameJSON(a, b jx.Raw) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// check prints the caller's line and the message, and ends the program, unless ok is true.
func check(ok bool, format string, args ...any) {
	if !ok {
		_ = log.Output(2, fmt.Sprintf(format, args...))
		os.Exit(1)
	}
}
