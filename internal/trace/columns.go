package trace

import (
	"errors"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// featurePrefix begins the name of every feature's column.
const featurePrefix = "feature."

// column is one fact of a try: its name in a CSV, its name in POST /observe, and
// how its cell is read and written. A blank cell is not set: it is not known.
type column struct {
	name     string
	field    string // where the API has another name
	required bool
	set      func(o *sizing.Observation, cell string) error
	get      func(o *sizing.Observation) string
}

// columns are all that a CSV may hold beside features, in the order of writing.
var columns = []column{
	{name: "namespace",
		set: func(o *sizing.Observation, cell string) error { o.Try.Namespace = cell; return nil },
		get: func(o *sizing.Observation) string {
			if o.Try.Namespace == sizing.DefaultNamespace {
				return ""
			}
			return o.Try.Namespace
		}},
	{name: "dag_id", required: true,
		set: func(o *sizing.Observation, cell string) error { o.Try.DAG = cell; return nil },
		get: func(o *sizing.Observation) string { return o.Try.DAG }},
	{name: "task_id", required: true,
		set: func(o *sizing.Observation, cell string) error { o.Try.Task = cell; return nil },
		get: func(o *sizing.Observation) string { return o.Try.Task }},
	{name: "run_id", required: true,
		set: func(o *sizing.Observation, cell string) error { o.Try.RunID = cell; return nil },
		get: func(o *sizing.Observation) string { return o.Try.RunID }},
	{name: "map_index",
		set: func(o *sizing.Observation, cell string) error { return readInt(cell, &o.Try.MapIndex) },
		get: func(o *sizing.Observation) string { return writeInt(o.Try.MapIndex, sizing.NoMap) }},
	{name: "try_number",
		set: func(o *sizing.Observation, cell string) error { return readInt(cell, &o.Try.Number) },
		get: func(o *sizing.Observation) string { return writeInt(o.Try.Number, 1) }},
	{name: "outcome",
		set: func(o *sizing.Observation, cell string) error { return readOutcome(cell, &o.Outcome) },
		get: func(o *sizing.Observation) string {
			if o.Outcome == sizing.Success {
				return ""
			}
			return o.Outcome.String()
		}},
	{name: "started_at",
		set: func(o *sizing.Observation, cell string) error { return readTime(cell, &o.StartedAt) },
		get: func(o *sizing.Observation) string { return writeTime(o.StartedAt) }},
	{name: "ended_at",
		set: func(o *sizing.Observation, cell string) error { return readTime(cell, &o.EndedAt) },
		get: func(o *sizing.Observation) string { return writeTime(o.EndedAt) }},
	{name: "duration_s", field: "duration_seconds",
		set: func(o *sizing.Observation, cell string) error { return readSeconds(cell, &o.Duration) },
		get: func(o *sizing.Observation) string { return writeNumber(o.Duration.Seconds()) }},
	{name: "memory_requested_bytes", field: "requested.memory_bytes",
		set: func(o *sizing.Observation, cell string) error { return readBytes(cell, &o.Requested.Memory) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.Requested.Memory)) }},
	{name: "cpu_requested_cores", field: "requested.cpu_cores",
		set: func(o *sizing.Observation, cell string) error { return readCores(cell, &o.Requested.CPU) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.Requested.CPU)) }},
	{name: "memory_allocated_bytes", field: "allocated.memory_bytes",
		set: func(o *sizing.Observation, cell string) error { return readBytes(cell, &o.Allocated.Memory) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.Allocated.Memory)) }},
	{name: "cpu_allocated_cores", field: "allocated.cpu_cores",
		set: func(o *sizing.Observation, cell string) error { return readCores(cell, &o.Allocated.CPU) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.Allocated.CPU)) }},
	{name: "memory_max_bytes", required: true,
		set: func(o *sizing.Observation, cell string) error { return readBytes(cell, &o.MemoryMax) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.MemoryMax)) }},
	{name: "memory_sampled_bytes",
		set: func(o *sizing.Observation, cell string) error { return readBytes(cell, &o.MemorySampled) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.MemorySampled)) }},
	{name: "cpu_max_cores",
		set: func(o *sizing.Observation, cell string) error { return readCores(cell, &o.CPUMax) },
		get: func(o *sizing.Observation) string { return writeNumber(float64(o.CPUMax)) }},
	{name: "prediction_id",
		set: func(o *sizing.Observation, cell string) error {
			if o.PredictionID = cell; sizing.CheckRunID(cell) != "" {
				return errors.New(sizing.CheckRunID(cell))
			}
			return nil
		},
		get: func(o *sizing.Observation) string { return o.PredictionID }},
}

// Columns names all that a CSV may hold, in the order of writing.
func Columns() []string {
	names := make([]string, 0, len(columns)+1)
	for _, c := range columns {
		names = append(names, c.name)
	}
	return append(names, featurePrefix+"<name>")
}

// blankObservation is a row before its cells are read: a row is one successful
// try of an unmapped task unless a cell says otherwise.
func blankObservation() sizing.Observation {
	return sizing.Observation{
		Try: sizing.TryKey{
			TaskKey:  sizing.TaskKey{Namespace: sizing.DefaultNamespace},
			MapIndex: sizing.NoMap,
			Number:   1,
		},
		Outcome: sizing.Success,
	}
}

// apiName is the column's name in POST /observe.
func (c *column) apiName() string {
	if c.field != "" {
		return c.field
	}
	return c.name
}

// columnOf is the column that a field of POST /observe stands in.
func columnOf(field string) string {
	if name, ok := strings.CutPrefix(field, "features."); ok {
		return featurePrefix + name
	}
	for i := range columns {
		if columns[i].apiName() == field {
			return columns[i].name
		}
	}
	return field
}
