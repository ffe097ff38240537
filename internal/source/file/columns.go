package file

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The prefixes of the columns that hold features, metadata and the fields of sizing.MeanUsage.
const (
	featurePrefix  = "feature."
	metadataPrefix = "metadata."
	usagePrefix    = "usage."
)

// upstreamColumn is the name of the column with the upstream tasks of the row's task. Upstream tasks belong to the DAG
// and not to the try, so they are a field of Row and not of the observation, and Write does not write them.
const upstreamColumn = "upstream"

// column describes one CSV column: its name, its field in POST /observe, and how its cells are parsed and
// formatted. The function `set` is not called for an empty cell: the field then keeps the value that blankObservation
// gives it, which for most fields means "unknown".
type column struct {
	name     string
	field    string // the field of POST /observe; empty if it has the same name
	required bool   // the header must have the column
	set      func(o *sizing.Observation, cell string) error
	get      func(o *sizing.Observation) string
}

// columns lists the CSV columns except features, metadata and upstream tasks, in the order in which Write
// writes them.
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
		set: func(o *sizing.Observation, cell string) error { return parseInt(cell, &o.Try.MapIndex) },
		get: func(o *sizing.Observation) string { return formatInt(o.Try.MapIndex, sizing.NoMap) }},
	{name: "try_number",
		set: func(o *sizing.Observation, cell string) error { return parseInt(cell, &o.Try.Number) },
		get: func(o *sizing.Observation) string { return formatInt(o.Try.Number, 1) }},
	{name: "outcome",
		set: func(o *sizing.Observation, cell string) error { return parseOutcome(cell, &o.Outcome) },
		get: func(o *sizing.Observation) string {
			if o.Outcome == sizing.Success {
				return ""
			}
			return o.Outcome.String()
		}},
	{name: "started_at",
		set: func(o *sizing.Observation, cell string) error { return parseTime(cell, &o.StartedAt) },
		get: func(o *sizing.Observation) string { return formatTime(o.StartedAt) }},
	{name: "ended_at",
		set: func(o *sizing.Observation, cell string) error { return parseTime(cell, &o.EndedAt) },
		get: func(o *sizing.Observation) string { return formatTime(o.EndedAt) }},
	{name: "duration_s", field: "duration_seconds",
		set: func(o *sizing.Observation, cell string) error { return parseSeconds(cell, &o.Duration) },
		get: func(o *sizing.Observation) string { return formatNumber(o.Duration.Seconds()) }},
	{name: "memory_requested_bytes", field: "requested.memory_bytes",
		set: func(o *sizing.Observation, cell string) error { return parseBytes(cell, &o.Requested.Memory) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.Requested.Memory)) }},
	{name: "cpu_requested_cores", field: "requested.cpu_cores",
		set: func(o *sizing.Observation, cell string) error { return parseCores(cell, &o.Requested.CPU) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.Requested.CPU)) }},
	{name: "memory_allocated_bytes", field: "allocated.memory_bytes",
		set: func(o *sizing.Observation, cell string) error { return parseBytes(cell, &o.Allocated.Memory) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.Allocated.Memory)) }},
	{name: "cpu_allocated_cores", field: "allocated.cpu_cores",
		set: func(o *sizing.Observation, cell string) error { return parseCores(cell, &o.Allocated.CPU) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.Allocated.CPU)) }},
	{name: "memory_max_bytes", required: true,
		set: func(o *sizing.Observation, cell string) error { return parseBytes(cell, &o.MemoryMax) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.MemoryMax)) }},
	{name: "memory_sampled_bytes",
		set: func(o *sizing.Observation, cell string) error { return parseBytes(cell, &o.MemorySampled) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.MemorySampled)) }},
	{name: "cpu_max_cores",
		set: func(o *sizing.Observation, cell string) error { return parseCores(cell, &o.CPUMax) },
		get: func(o *sizing.Observation) string { return formatNumber(float64(o.CPUMax)) }},
	{name: "prediction_id",
		set: func(o *sizing.Observation, cell string) error {
			if o.PredictionID = cell; sizing.CheckRunID(cell) != "" {
				return errors.New(sizing.CheckRunID(cell))
			}
			return nil
		},
		get: func(o *sizing.Observation) string { return o.PredictionID }},
	{name: "node_type",
		set: func(o *sizing.Observation, cell string) error { o.Placement.NodeType = cell; return nil },
		get: func(o *sizing.Observation) string { return o.Placement.NodeType }},
	{name: "cluster_load",
		set: func(o *sizing.Observation, cell string) error { return parseLoad(cell, o) },
		get: func(o *sizing.Observation) string {
			if o.Placement.ClusterLoad == nil {
				return ""
			}
			return strconv.FormatFloat(*o.Placement.ClusterLoad, 'f', -1, 64)
		}},
}

func init() {
	for i, name := range sizing.UsageNames {
		columns = append(columns, usageColumn(i, name))
	}
}

func usageColumn(field int, name string) column {
	return column{name: usagePrefix + name,
		set: func(o *sizing.Observation, cell string) error {
			v, ok := parseNumber(cell)
			if !ok {
				return notNumber(cell, "a number")
			}
			o.Usage = o.Usage.Set(field, v)
			return nil
		},
		get: func(o *sizing.Observation) string {
			v := o.Usage.Get(field)
			if math.IsNaN(v) {
				return ""
			}
			return strconv.FormatFloat(v, 'f', -1, 64)
		}}
}

// Columns returns the names of the CSV columns, with feature.<name> and metadata.<name> for the columns of all
// features and metadata. Write writes the columns in this order, without the last one, upstream.
func Columns() []string {
	names := make([]string, 0, len(columns)+3)
	for _, c := range columns {
		names = append(names, c.name)
	}
	return append(names, featurePrefix+"<name>", metadataPrefix+"<name>", upstreamColumn)
}

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

func (c *column) apiName() string {
	if c.field != "" {
		return c.field
	}
	return c.name
}

func columnForField(field string) string {
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
