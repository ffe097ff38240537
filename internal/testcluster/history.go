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

// Task names one synthetic task.
type Task struct {
	DAG  string `json:"dag_id"`
	Task string `json:"task_id"`
}

// History is a synthetic past. The zero value is one task of 200 runs.
type History struct {
	Tasks int    // 1 if zero
	Runs  int    // of each task; 200 if zero
	First int    // number of the first task, to add tasks to those of an earlier History
	Seed  uint64 // the same seed gives the same history
	Raw   bool   // store only: no model is asked for
}

// Observation is a report as it goes over the wire.
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

// Run draws run number n of a task: 12 features, of which three and a noise of about
// a tenth decide the peak, between 0.3 and 12 GB.
func Run(random *rand.Rand, task Task, runID string) Observation {
	f := Features(random)
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

// Features draws the 12 features of an ask.
func Features(random *rand.Rand) map[string]any {
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

// Ask is a body for POST /predict about a task.
func Ask(random *rand.Rand, task Task, runID string) []byte {
	ask := map[string]any{"dag_id": task.DAG, "task_id": task.Task, "features": Features(random), "requested": map[string]any{"memory": "64Gi"}}
	if runID != "" {
		ask["run_id"] = runID
	}
	body, err := json.Marshal(ask)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return body
}

// Fill tells the first replica a history and has it train each task. What is told is
// in the ledger.
func (r *Cluster) Fill(ctx context.Context, h History) ([]Task, error) {
	to := r.Replicas[0]
	var tasks []Task
	for i := range max(1, h.Tasks) {
		n := h.First + i
		task := Task{DAG: fmt.Sprintf("dag_%03d", n/10), Task: fmt.Sprintf("task_%05d", n)}
		random := rand.New(rand.NewPCG(h.Seed, uint64(n)))
		if err := r.tell(ctx, to, task, random, cmp.Or(h.Runs, 200)); err != nil {
			return nil, err
		}
		if !h.Raw {
			if status, says, err := to.Call(ctx, http.MethodPost, "/tasks/"+task.DAG+"/"+task.Task+"/train", nil); status != http.StatusOK {
				return nil, fmt.Errorf("train %s: %d %s: %w", task.Task, status, says, err)
			}
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// tell sends runs in batches of at most 1,000.
func (r *Cluster) tell(ctx context.Context, to *Replica, task Task, random *rand.Rand, runs int) error {
	for told := 0; told < runs; {
		batch := make([]Observation, min(1000, runs-told))
		for i := range batch {
			batch[i] = Run(random, task, fmt.Sprintf("past-%07d", told+i))
		}
		r.Ledger.Sent(batch...)
		status, says, err := to.Call(ctx, http.MethodPost, "/observe/batch", map[string]any{"observations": batch})
		if status != http.StatusOK {
			return fmt.Errorf("tell of %s: %d %s: %w", task.Task, status, says, err)
		}
		r.Ledger.Acked(batch...)
		told += len(batch)
	}
	return nil
}
