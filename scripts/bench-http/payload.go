package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// predictedTask is a task of the DAG dagID. Rows 1, 2 and 16 of bench.table request predictions for this task, and row 4 for
// copies of it. It has twelve features: eight numbers, two categories, a bool and a date. Four of them determine the peak.
const (
	dagID         = "pricing"
	predictedTask = "predict_demand"
)

// newRandom returns a random number generator. Its seed determines the history and the requests.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 12)) }

type object = map[string]any

// features draws the features, the peak in bytes and the duration in seconds of one run.
func features(r *rand.Rand) (f object, peak, seconds float64) {
	products, days := math.Round(100+4900*r.Float64()), 1+r.IntN(60)
	region := []string{"emea", "apac", "amer"}[r.IntN(3)]
	full := r.IntN(4) == 0
	f = object{
		"product_count": products, "days": days, "region": region, "full": full,
		"store_count": r.IntN(400), "price_points": 5 + r.IntN(20), "history_weeks": 26 + r.IntN(130),
		"discount": math.Round(1000*r.Float64()) / 1000, "elasticity": math.Round(1000*r.NormFloat64()) / 1000,
		"currency_rate": math.Round(1000*(0.8+0.4*r.Float64())) / 1000, "channel": fmt.Sprint("channel ", r.IntN(12)),
		"sale_end": time.Date(2020, 1, 1+r.IntN(360), 0, 0, 0, 0, time.UTC).Format(time.DateOnly),
	}
	peak = 0.4e9 + 4e6*products*math.Pow(float64(days)/30, 0.8)
	if region == "emea" {
		peak *= 1.4
	}
	if full {
		peak *= 2
	}
	peak *= math.Exp(0.08 * r.NormFloat64())
	return f, peak, 60 + peak/2e7
}

func predictRequest(r *rand.Rand, task, run string) object {
	f, _, _ := features(r)
	return object{
		"dag_id": dagID, "task_id": task, "run_id": run, "map_index": r.IntN(100), "features": f,
		"requested": object{"memory": "64Gi", "cpu": "6"}, "max_memory_bytes": int64(412316860416),
	}
}

func observeRequest(r *rand.Rand, task, run string, ended time.Time) object {
	f, peak, seconds := features(r)
	return object{
		"dag_id": dagID, "task_id": task, "run_id": run, "outcome": "success", "memory_max_bytes": int64(peak),
		"cpu_max_cores": math.Round(100*(1+r.Float64())) / 100, "duration_seconds": math.Round(seconds), "features": f,
		"started_at": ended.Add(-time.Duration(seconds) * time.Second).Format(time.RFC3339), "ended_at": ended.Format(time.RFC3339),
		"allocated": object{"memory_bytes": int64(64 << 30), "cpu_cores": 6.0}, "requested": object{"memory": "64Gi", "cpu": "6"},
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: every value comes from this program and has a form in JSON
	}
	return string(b)
}
