package file

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Write writes observations as CSV, with the required columns and all columns that some observation fills. It omits
// series, executed plans and Provisional. When Open reads the CSV, a text feature that looks like a number or a bool
// becomes one, and a blank text or a text such as nan becomes missing. The function JSON preserves series, executed
// plans, Provisional and texts.
func Write(w io.Writer, observations []sizing.Observation) error {
	used := usedColumns(observations)
	features, entries := featureNames(observations), metadataNames(observations)
	out := csv.NewWriter(w)
	record := make([]string, 0, len(used)+len(features)+len(entries))
	for _, c := range used {
		record = append(record, c.name)
	}
	for _, name := range features {
		record = append(record, featurePrefix+name)
	}
	for _, name := range entries {
		record = append(record, metadataPrefix+name)
	}
	_ = out.Write(record) // csv.Writer keeps the error for Error
	for i := range observations {
		record = record[:0]
		for _, c := range used {
			record = append(record, c.get(&observations[i]))
		}
		for _, name := range features {
			record = append(record, formatFeature(observations[i].Features[name]))
		}
		for _, name := range entries {
			record = append(record, formatValues(observations[i].Metadata[name]))
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
}

func usedColumns(observations []sizing.Observation) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !c.required && !slices.ContainsFunc(observations, func(o sizing.Observation) bool { return c.get(&o) != "" })
	})
}

func featureNames(observations []sizing.Observation) []string {
	names := map[string]bool{}
	for i := range observations {
		for name := range observations[i].Features {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func metadataNames(observations []sizing.Observation) []string {
	names := map[string]bool{}
	for i := range observations {
		for name := range observations[i].Metadata {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// body is a body of POST /observe. The fields of type json.Number are formatted like CSV cells, and an empty
// one is omitted.
type body struct {
	Namespace       string               `json:"namespace,omitempty"`
	DAGID           string               `json:"dag_id"`
	TaskID          string               `json:"task_id"`
	RunID           string               `json:"run_id"`
	MapIndex        json.Number          `json:"map_index,omitempty"`
	TryNumber       json.Number          `json:"try_number,omitempty"`
	Outcome         string               `json:"outcome"`
	MemoryMaxBytes  json.Number          `json:"memory_max_bytes,omitempty"`
	MemorySampled   json.Number          `json:"memory_sampled_bytes,omitempty"`
	CPUMaxCores     json.Number          `json:"cpu_max_cores,omitempty"`
	DurationSeconds json.Number          `json:"duration_seconds,omitempty"`
	StartedAt       string               `json:"started_at,omitempty"`
	EndedAt         string               `json:"ended_at,omitempty"`
	Allocated       *resources           `json:"allocated,omitempty"`
	Requested       *resources           `json:"requested,omitempty"`
	Features        map[string]any       `json:"features,omitzero"`
	PredictionID    string               `json:"prediction_id,omitempty"`
	Provisional     bool                 `json:"provisional,omitempty"`
	UsageSeries     *series              `json:"usage_series,omitempty"`
	DetailedSeries  *series              `json:"detailed_series,omitempty"`
	ExecutedPlan    *sizing.ExecutedPlan `json:"executed_plan,omitempty"`
	Metadata        sizing.Metadata      `json:"metadata,omitempty"`
	Usage           map[string]float64   `json:"usage,omitempty"`
	NodeType        string               `json:"node_type,omitempty"`
	ClusterLoad     *float64             `json:"cluster_load,omitempty"`
}

type series struct {
	StepSeconds float64   `json:"step_seconds"`
	MemoryBytes []int64   `json:"memory_bytes"`
	CPUCores    []float64 `json:"cpu_cores,omitempty"`
}

type resources struct {
	MemoryBytes json.Number `json:"memory_bytes,omitempty"`
	CPUCores    json.Number `json:"cpu_cores,omitempty"`
}

// JSON returns the body of POST /observe that reports o, on one line.
func JSON(o *sizing.Observation) ([]byte, error) {
	cell := func(name string) string {
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		return columns[i].get(o)
	}
	b := body{
		Namespace: cell("namespace"), DAGID: o.Try.DAG, TaskID: o.Try.Task, RunID: o.Try.RunID,
		MapIndex: json.Number(cell("map_index")), TryNumber: json.Number(cell("try_number")),
		Outcome: o.Outcome.String(), StartedAt: cell("started_at"), EndedAt: cell("ended_at"),
		DurationSeconds: json.Number(cell("duration_s")),
		MemoryMaxBytes:  json.Number(cell("memory_max_bytes")), MemorySampled: json.Number(cell("memory_sampled_bytes")), CPUMaxCores: json.Number(cell("cpu_max_cores")),
		Allocated: &resources{
			MemoryBytes: json.Number(cell("memory_allocated_bytes")), CPUCores: json.Number(cell("cpu_allocated_cores"))},
		Requested: &resources{
			MemoryBytes: json.Number(cell("memory_requested_bytes")), CPUCores: json.Number(cell("cpu_requested_cores"))},
		PredictionID: o.PredictionID, Provisional: o.Provisional,
	}
	if *b.Allocated == (resources{}) {
		b.Allocated = nil
	}
	if *b.Requested == (resources{}) {
		b.Requested = nil
	}
	if o.Features != nil {
		b.Features = make(map[string]any, len(o.Features))
	}
	for name, v := range o.Features {
		if v.Kind != sizing.Missing {
			b.Features[name] = v.JSON()
		}
	}
	if s := o.Series; s != nil {
		b.UsageSeries = &series{StepSeconds: s.Step.Seconds(), MemoryBytes: s.Memory, CPUCores: s.CPU}
	}
	if s := o.Detailed; s != nil {
		b.DetailedSeries = &series{StepSeconds: s.Step.Seconds(), MemoryBytes: s.Memory, CPUCores: s.CPU}
	}
	b.ExecutedPlan = o.Executed
	b.Metadata, b.NodeType, b.ClusterLoad = o.Metadata, o.Placement.NodeType, o.Placement.ClusterLoad
	for i, name := range sizing.UsageNames {
		if v := o.Usage.Get(i); !math.IsNaN(v) {
			if b.Usage == nil {
				b.Usage = map[string]float64{}
			}
			b.Usage[name] = v
		}
	}
	return json.Marshal(b)
}
