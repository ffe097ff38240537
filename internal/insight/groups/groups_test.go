package groups_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/groups"
	"github.com/loadaware/loadaware/internal/sizing"
)

// retailTasks is the usage of the trace retail (docs/benchmarks.md), a synthetic pricing pipeline. Its marginal distributions
// are those of the industrial ML workflow in the publication that binning.Improvement names. The operators of that workflow
// classify 17 tasks as light, 8 as moderate and 2 as heavy.
var retailTasks = []struct {
	task         string
	runs         int
	mean, spread float64 // bytes
	gbHours      float64
}{
	{"aggregate_results", 1460, 2.0155e+09, 1.5777e+09, 322.96},
	{"archive_logs", 828, 1.0776e+08, 3.5186e+07, 0.54118},
	{"clean_sales", 1460, 1.698e+09, 2.0998e+09, 189.77},
	{"clean_stock", 1460, 6.7812e+08, 4.7622e+08, 78.087},
	{"cleanup_workspace", 1460, 5.9004e+08, 4.9682e+08, 52.562},
	{"export_results", 1460, 5.3358e+08, 2.8554e+08, 86.443},
	{"extract_prices", 1460, 5.895e+08, 5.0434e+08, 28.512},
	{"extract_sales", 1460, 3.7183e+08, 2.6387e+08, 72.529},
	{"extract_stock", 1460, 6.1283e+08, 3.847e+08, 107.13},
	{"feature_calendar", 1460, 2.8406e+08, 4.3119e+08, 24.518},
	{"feature_price", 1460, 1.4524e+09, 1.4845e+09, 206.11},
	{"feature_stock", 1460, 7.8034e+08, 1.6253e+09, 58.601},
	{"fetch_config", 829, 3.381e+08, 1.054e+08, 1.6671},
	{"join_history", 1460, 9.4613e+08, 2.0076e+09, 58.966},
	{"load_exchange_rates", 829, 2.6104e+08, 3.6284e+07, 1.2825},
	{"notify_downstream", 828, 3.235e+08, 5.2749e+07, 1.6143},
	{"optimize_discounts", 1460, 1.3631e+09, 1.8363e+09, 142.85},
	{"predict_demand", 1460, 3.5366e+09, 9.7366e+09, 5222.3},
	{"publish_status", 828, 1.4067e+08, 1.9157e+07, 0.71115},
	{"quality_report", 1460, 3.8091e+08, 3.808e+08, 14.424},
	{"refresh_catalog", 828, 2.8396e+08, 9.084e+07, 1.4139},
	{"simulate_discounts", 1460, 3.7386e+09, 1.0692e+10, 10362},
	{"split_train", 1460, 6.2088e+08, 5.0391e+08, 98.03},
	{"sync_calendar", 829, 2.0843e+08, 8.2117e+07, 1.0476},
	{"train_demand", 1460, 1.2175e+09, 1.9242e+09, 52.382},
	{"train_elasticity", 1460, 1.6988e+09, 1.648e+09, 77.702},
	{"validate_inputs", 829, 1.4593e+08, 2.0878e+07, 0.72641},
}

func pipeline(namespace string) []sizing.Usage {
	var usage []sizing.Usage
	for _, r := range retailTasks {
		usage = append(usage, sizing.Usage{Task: sizing.TaskKey{Namespace: namespace, DAG: "pricing", Task: r.task},
			Runs: r.runs, MeanPeak: r.mean, Spread: r.spread, GBHours: r.gbHours})
	}
	return usage
}

func count(g groups.Groups) map[sizing.Group]int {
	n := map[sizing.Group]int{}
	for _, group := range g {
		n[group]++
	}
	return n
}

func TestPipelineHasThePublishedGroups(t *testing.T) {
	g := groups.Cluster(pipeline("default"))
	assert.Equal(t, map[sizing.Group]int{sizing.Light: 17, sizing.Moderate: 8, sizing.Heavy: 2}, count(g))
	for _, task := range []string{"predict_demand", "simulate_discounts"} {
		assert.Equal(t, sizing.Heavy, g[sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: task}], task)
	}
}

// The groups depend neither on the order of the tasks, nor on the unit of memory, nor on the time
// over which the usage is summed.
func TestGroupsDependOnRelativeUsageOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	want := groups.Cluster(pipeline("default"))
	for range 20 {
		usage := pipeline("default")
		rng.Shuffle(len(usage), func(i, j int) { usage[i], usage[j] = usage[j], usage[i] })
		bytes, hours := 1+99*rng.Float64(), 1+99*rng.Float64()
		for i := range usage {
			usage[i].MeanPeak *= bytes
			usage[i].Spread *= bytes
			usage[i].GBHours *= hours
		}
		require.Equal(t, want, groups.Cluster(usage))
	}
}

func TestNamespacesAreClusteredSeparately(t *testing.T) {
	usage := pipeline("small")
	for _, u := range pipeline("large") {
		u.MeanPeak, u.Spread, u.GBHours = 1000*u.MeanPeak, 1000*u.Spread, 1000*u.GBHours
		usage = append(usage, u)
	}
	assert.Equal(t, map[sizing.Group]int{sizing.Light: 34, sizing.Moderate: 16, sizing.Heavy: 4}, count(groups.Cluster(usage)))
}

func TestTasksWithoutClustersUseThresholds(t *testing.T) {
	few := pipeline("default")[:groups.MinTasks-1]
	assert.Empty(t, groups.Cluster(few), "too few tasks")
	equal := make([]sizing.Usage, 10)
	for i := range equal {
		equal[i] = sizing.Usage{Task: sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint(i)}, Runs: 5, MeanPeak: 1e9}
	}
	assert.Empty(t, groups.Cluster(equal), "tasks with equal usage")
	large := sizing.Quantiles{P50: 20 * float64(sizing.GiB), P99: 20 * float64(sizing.GiB)}
	assert.Equal(t, sizing.Heavy, groups.Cluster(equal).Of(equal[0].Task, large))
}
