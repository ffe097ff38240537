package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// questions draws questions (requests for predictions), sends them to a server, and counts the results. It implements the
// interface target.
type questions struct {
	ctx    context.Context
	server *client.Client
	random *rand.Rand
	trace  []sizing.Observation // by start
	prefix string               // name of the trace: prefix of its DAG ids, and of the run ids of the questions

	total     int                        // questions
	explained int                        // explanations
	wrong     int                        // explanations that do not lead to the answer
	changed   int                        // questions asked again because a training changed the answer meanwhile
	noted     int                        // explanations with a note
	worst     float64                    // largest relative error of a product
	sources   map[string]int             // answers by source
	kinds     map[string]int             // factors by kind
	took      map[string][]time.Duration // by call
}

// maxAttempts bounds how often a question is asked while trainings change the answer.
const maxAttempts = 5

// oneIn returns true with the probability 1/n.
func (q *questions) oneIn(n int) bool { return q.random.IntN(n) == 0 }

// amount draws an amount of memory in bytes, from 64 MiB to 256 GiB.
func (q *questions) amount() int64 {
	return int64(float64(64*sizing.MiB) * math.Exp2(12*q.random.Float64()))
}

// ask asks about one of the next 50 runs after the first `reported` runs, or about the last run at the end of the trace.
func (q *questions) ask(reported int) error {
	q.total++
	later := min(len(q.trace)-1, reported+q.random.IntN(50))
	o := q.trace[later]
	if q.oneIn(15) {
		if err := q.setPolicy(o.Try.TaskKey); err != nil {
			return err
		}
	}
	if q.oneIn(10) {
		o.Try.Task = fmt.Sprintf("never-seen-%d", q.total)
	}
	request, err := q.requestOf(&o)
	if err != nil {
		return err
	}
	answer, err := q.explainAnswer(request)
	if answer == nil || err != nil || request["run_id"] == nil || answer.Mode != api.Mode(sizing.Enforce) || !q.oneIn(4) {
		return err
	}
	return q.kill(request, answer)
}

// requestOf returns a prediction request about a run, with random changes.
func (q *questions) requestOf(o *sizing.Observation) (map[string]any, error) {
	text, err := file.JSON(o)
	if err != nil {
		return nil, err
	}
	var row map[string]any
	if err := json.Unmarshal(text, &row); err != nil {
		return nil, err
	}
	request := map[string]any{"dag_id": o.Try.DAG, "task_id": o.Try.Task, "requested": map[string]any{"memory_bytes": int64(o.Requested.Memory)}}
	if row["metadata"] != nil && !q.oneIn(8) {
		request["metadata"] = row["metadata"]
	}
	features, _ := row["features"].(map[string]any)
	for _, name := range o.Features.Names() {
		switch v := features[name].(type) {
		case float64:
			if q.oneIn(8) {
				features[name] = v * math.Exp(2*q.random.NormFloat64())
			}
		case string:
			if q.oneIn(12) {
				features[name] = "never seen"
			}
		}
		if q.oneIn(10) {
			delete(features, name)
		}
	}
	request["features"] = features
	switch {
	case o.Requested.Memory == 0 || q.oneIn(5):
		request["requested"] = map[string]any{"memory_bytes": q.amount()}
	case q.oneIn(10):
		delete(request, "requested")
	}
	if q.oneIn(4) {
		request["max_memory_bytes"] = q.amount()
	}
	if q.oneIn(2) {
		request["run_id"], request["try_number"] = fmt.Sprintf("%s-question-%d", q.prefix, q.total), 1
	}
	return request, nil
}

func (q *questions) setPolicy(task sizing.TaskKey) error {
	policy := map[string]any{}
	if !q.oneIn(3) {
		if q.oneIn(2) {
			policy["floor_bytes"] = q.amount() / 64
		}
		if q.oneIn(3) {
			policy["cap_bytes"] = 4*int64(sizing.GiB) + q.amount()
		}
		if q.oneIn(3) {
			policy["risk_target"] = []float64{0.001, 0.005, 0.05, 0.2}[q.random.IntN(4)]
		}
		if q.oneIn(4) {
			policy["grid"], policy["bin_edges_bytes"] = "bins", []int64{1 << 30, 4 << 30, 16 << 30, 64 << 30, 256 << 30}
		}
		if q.oneIn(5) {
			policy["mode"] = "shadow"
		}
		if q.oneIn(5) {
			policy["never_above_requested"] = true
		}
		if q.oneIn(5) {
			policy["limit_ratio"] = 1.5
		}
	}
	if err := q.server.Call(q.ctx, http.MethodPut, client.TaskPath(task, "policy"), policy, nil); err != nil {
		return fmt.Errorf("set policy %v: %w", policy, err)
	}
	return nil
}

// explainAnswer requests a prediction and checks the explanations of POST /explain and of the stored receipt. It returns nil
// if the service has no answer, because the task is unknown and the request has no static amount.
func (q *questions) explainAnswer(request map[string]any) (*api.Prediction, error) {
	for attempt := 1; ; attempt++ {
		var before, after api.Prediction
		var e api.Explanation
		err := q.call("POST /predict", http.MethodPost, "/predict", request, &before)
		if client.IsStatus(err, http.StatusNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if err := q.call("POST /explain", http.MethodPost, "/explain", request, &e); err != nil {
			return nil, err
		}
		if err := q.call("POST /predict (again)", http.MethodPost, "/predict", request, &after); err != nil {
			return nil, err
		}
		if before.Memory.LimitBytes != after.Memory.LimitBytes && attempt < maxAttempts {
			q.changed++
			continue
		}
		q.sources[string(before.Source)]++
		q.check("POST /explain", request, before.Memory.LimitBytes, &e, before.Shadow)
		return &before, q.explainReceipt(before.PredictionID, request, before.Memory.LimitBytes, before.Shadow)
	}
}

// explainReceipt checks the explanation of a stored receipt. If the explanation is wrong, it prints the request, too.
func (q *questions) explainReceipt(id string, request any, limit int64, shadow *api.Memory) error {
	var e api.Explanation
	if err := q.call("GET …/explanation", http.MethodGet, "/predictions/"+id+"/explanation", nil, &e); err != nil {
		return err
	}
	if e.Note != nil {
		q.noted++
	}
	q.check("GET …/explanation", request, limit, &e, shadow)
	return nil
}

// kill reports an OOM kill at the granted amount and requests a lift. It checks the explanations of the lift, of the receipt
// of the killed try, and of the prediction for the second try.
func (q *questions) kill(request map[string]any, answer *api.Prediction) error {
	granted := answer.Memory.LimitBytes
	try := map[string]any{
		"dag_id": request["dag_id"], "task_id": request["task_id"], "run_id": request["run_id"], "try_number": 1, "features": request["features"],
	}
	report, lift := try, map[string]any{}
	for name, value := range try {
		lift[name] = value
	}
	report["outcome"], report["duration_seconds"], report["allocated"] = "oom_killed", 60, map[string]any{"memory_bytes": granted}
	if err := q.call("POST /observe", http.MethodPost, "/observe", report, nil); err != nil {
		return err
	}
	lift["failed"] = map[string]any{"memory_bytes": granted}
	for _, name := range []string{"requested", "max_memory_bytes"} {
		if request[name] != nil {
			lift[name] = request[name]
		}
	}
	var lifted api.Lift
	if err := q.call("POST /retry-lift", http.MethodPost, "/retry-lift", lift, &lifted); err != nil {
		return err
	}
	if lifted.Retry {
		if err := q.explainReceipt(*lifted.PredictionID, lift, lifted.Memory.LimitBytes, nil); err != nil {
			return err
		}
	}
	if err := q.explainReceipt(answer.PredictionID, request, granted, answer.Shadow); err != nil { // explains the kill
		return err
	}
	request["try_number"] = 2
	_, err := q.explainAnswer(request)
	return err
}

// check prints an explanation if its factors do not lead to the limit of the answer.
func (q *questions) check(call string, request any, limit int64, e *api.Explanation, shadow *api.Memory) {
	q.explained++
	chains := []api.ExplanationChain{{Base: e.Base, BaseBytes: e.BaseBytes, GrantedBytes: e.GrantedBytes, Terms: e.Terms}}
	limits := []int64{limit}
	if shadow != nil && e.Shadow != nil {
		chains, limits = append(chains, *e.Shadow), append(limits, shadow.LimitBytes)
	}
	ok := (shadow != nil) == (e.Shadow != nil)
	for i, c := range chains {
		product, last := float64(c.BaseBytes), c.BaseBytes
		for _, t := range c.Terms {
			product, last = product*t.Factor, t.BytesAfter
			q.kinds[string(t.Kind)]++
		}
		off := math.Abs(product/float64(c.GrantedBytes) - 1)
		q.worst = max(q.worst, off)
		ok = ok && off <= 1e-9 && last == c.GrantedBytes && c.GrantedBytes == limits[i]
	}
	if ok {
		return
	}
	q.wrong++
	body, _ := json.Marshal(request) // cannot fail: requests are maps of JSON values
	answered, _ := json.Marshal(chains)
	fmt.Printf("%s: limits %v, explained as %s\n  question: %s\n", call, limits, answered, body)
}

func (q *questions) call(name, method, path string, body, answer any) error {
	start := time.Now()
	if err := q.server.Call(q.ctx, method, path, body, answer); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	q.record(name, time.Since(start))
	return nil
}

func (q *questions) record(name string, took time.Duration) {
	q.took[name] = append(q.took[name], took)
}
