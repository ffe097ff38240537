package testcluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
)

// Task identifies a synthetic task in the namespace "default".
type Task struct {
	DAG  string `json:"dag_id"`
	Task string `json:"task_id"`
}

// History describes a synthetic history. The zero value is one task of 200 runs.
type History struct {
	Tasks int    // 1 if zero
	Runs  int    // per task; 200 if zero
	First int    // number of the first task, so that a second History can add tasks
	Seed  uint64 // the same seed gives the same history
	Raw   bool   // Fill trains no models
}

// Observation is the body of POST /observe.
type Observation struct {
	Task
	RunID     string         `json:"run_id"`
	MapIndex  int            `json:"map_index"`
	TryNumber int            `json:"try_number"`
	Outcome   string         `json:"outcome"`
	Peak      int64          `json:"memory_max_bytes,omitempty"`
	Duration  float64        `json:"duration_seconds,omitempty"`
	Requested map[string]any `json:"requested,omitempty"`
	Features  map[string]any `json:"features,omitempty"`
}

// DrawRun draws one run of a task: 12 features and a peak between about 0.2 and 12 GB. Three of the
// features (rows, columns, region) determine the peak, with log-normal noise of about 10 %.
func DrawRun(random *rand.Rand, task Task, runID string) Observation {
	f := drawFeatures(random)
	rows, width := f["rows"].(float64), f["columns"].(float64)
	peak := 2e8 + rows*width*8*1.5
	if f["region"] == "emea" {
		peak *= 1.4
	}
	peak *= math.Exp(0.1 * random.NormFloat64())
	return Observation{
		Task: task, RunID: runID, MapIndex: -1, TryNumber: 1, Outcome: "success", Peak: int64(peak),
		Duration: 60 + peak/1e8, Requested: map[string]any{"memory": "64Gi"}, Features: f,
	}
}

func drawFeatures(random *rand.Rand) map[string]any {
	f := map[string]any{
		"rows": math.Round(math.Exp(random.Float64()*3) * 1e6), "columns": float64(5 + random.IntN(20)),
		"region": []string{"emea", "apac", "amer"}[random.IntN(3)], "full": random.IntN(2) == 0,
		"day": fmt.Sprintf("2020-%02d-%02d", 1+random.IntN(12), 1+random.IntN(28)),
	}
	for i := range 7 {
		f[fmt.Sprintf("x%d", i)] = math.Round(random.Float64()*1e4) / 1e2
	}
	return f
}

// PredictBody draws the body of a POST /predict for a task. runID may be empty.
func PredictBody(random *rand.Rand, task Task, runID string) []byte {
	request := map[string]any{"dag_id": task.DAG, "task_id": task.Task, "features": drawFeatures(random), "requested": map[string]any{"memory": "64Gi"}}
	if runID != "" {
		request["run_id"] = runID
	}
	body, err := json.Marshal(request)
	if err != nil {
		panic(err) // cannot happen: the body contains only numbers, strings and bools
	}
	return body
}

// Fill reports a history to the first replica, trains a model for each task unless h.Raw is set, and returns the tasks.
func (c *Cluster) Fill(ctx context.Context, h History) ([]Task, error) {
	replica := c.Replicas[0]
	var tasks []Task
	for i := range max(1, h.Tasks) {
		n := h.First + i
		task := Task{DAG: fmt.Sprintf("dag_%03d", n/10), Task: fmt.Sprintf("task_%05d", n)}
		random := rand.New(rand.NewPCG(h.Seed, uint64(n)))
		if err := c.report(ctx, replica, task, random, cmp.Or(h.Runs, 200)); err != nil {
			return nil, err
		}
		if !h.Raw {
			if status, answer, err := replica.Call(ctx, http.MethodPost, "/tasks/"+task.DAG+"/"+task.Task+"/train", nil); status != http.StatusOK {
				return nil, callError("train "+task.Task, status, answer, err)
			}
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

func (c *Cluster) report(ctx context.Context, replica *Replica, task Task, random *rand.Rand, runs int) error {
	for reported := 0; reported < runs; {
		batch := make([]Observation, min(1000, runs-reported))
		for i := range batch {
			batch[i] = DrawRun(random, task, fmt.Sprintf("past-%07d", reported+i))
		}
		c.Reports.RecordSent(batch...)
		status, answer, err := replica.Call(ctx, http.MethodPost, "/observe/batch", map[string]any{"observations": batch})
		if status != http.StatusOK {
			return callError("report runs of "+task.Task, status, answer, err)
		}
		c.Reports.RecordAcked(batch...)
		reported += len(batch)
	}
	return nil
}

func callError(operation string, status int, answer []byte, err error) error {
	if err != nil { // no answer
		return fmt.Errorf("%s: %w", operation, err)
	}
	return fmt.Errorf("%s: status %d: %s", operation, status, answer)
}
