package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// jsonRows reads one body of POST /observe a line.
type jsonRows struct {
	in *lines
}

// body is what POST /observe takes. Numbers stay text until their cell is read,
// so that both formats have one way of reading, and one set of messages.
type body struct {
	Namespace       string         `json:"namespace,omitempty"`
	DAGID           string         `json:"dag_id"`
	TaskID          string         `json:"task_id"`
	RunID           string         `json:"run_id"`
	MapIndex        json.Number    `json:"map_index,omitempty"`
	TryNumber       json.Number    `json:"try_number,omitempty"`
	Outcome         string         `json:"outcome"`
	MemoryMaxBytes  json.Number    `json:"memory_max_bytes,omitempty"`
	MemorySampled   json.Number    `json:"memory_sampled_bytes,omitempty"`
	CPUMaxCores     json.Number    `json:"cpu_max_cores,omitempty"`
	DurationSeconds json.Number    `json:"duration_seconds,omitempty"`
	StartedAt       string         `json:"started_at,omitempty"`
	EndedAt         string         `json:"ended_at,omitempty"`
	Allocated       *resources     `json:"allocated,omitempty"`
	Requested       *resources     `json:"requested,omitempty"`
	Features        map[string]any `json:"features,omitzero"`
	PredictionID    string         `json:"prediction_id,omitempty"`
	UsageSeries     *series        `json:"usage_series,omitempty"`
}

// series is what a try used over time, which a CSV has no room for.
type series struct {
	StepSeconds float64   `json:"step_seconds"`
	MemoryBytes []int64   `json:"memory_bytes"`
	CPUCores    []float64 `json:"cpu_cores,omitempty"`
}

// resources may say each amount as a number or as a Kubernetes quantity.
type resources struct {
	MemoryBytes json.Number `json:"memory_bytes,omitempty"`
	Memory      string      `json:"memory,omitempty"`
	CPUCores    json.Number `json:"cpu_cores,omitempty"`
	CPU         string      `json:"cpu,omitempty"`
}

func (j *jsonRows) read() (Row, error) {
	next, err := j.in.nextFilled()
	if err != nil {
		return Row{}, err
	}
	o, bad := parseBody(next.text)
	if len(bad) > 0 {
		return Row{}, &RowError{Line: next.number, Fields: bad}
	}
	return Row{Line: next.number, Observation: o}, nil
}

// parseBody reads a body strictly: a field that is not known is an error, since
// whoever wrote it meant something by it.
func parseBody(text string) (sizing.Observation, []sizing.FieldError) {
	var b body
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	in.UseNumber()
	if err := in.Decode(&b); err != nil {
		return sizing.Observation{}, []sizing.FieldError{jsonFieldError(err)}
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return sizing.Observation{}, []sizing.FieldError{{Detail: "has more text behind the JSON object: write one object a line"}}
	}
	return b.observation()
}

// jsonFieldError puts the decoder's words in ours.
func jsonFieldError(err error) sizing.FieldError {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return sizing.FieldError{Field: kind.Field, Detail: "must not be a JSON " + kind.Value}
	}
	detail := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.ErrUnexpectedEOF) {
		detail = "the JSON object is not closed: write one object a line"
	}
	return sizing.FieldError{Detail: detail}
}

func (b *body) observation() (sizing.Observation, []sizing.FieldError) {
	o := blankObservation()
	o.Outcome = sizing.UnknownOutcome // unlike a row of a CSV, a report must say how the try ended
	var bad []sizing.FieldError
	cells := b.cells()
	for i := range columns {
		field := columns[i].apiName()
		if cell := cells[field]; cell != "" {
			if err := columns[i].set(&o, cell); err != nil {
				bad = append(bad, sizing.FieldError{Field: field, Detail: err.Error()})
			}
		}
	}
	bad = append(bad, b.Allocated.quantities("allocated", &o.Allocated)...)
	bad = append(bad, b.Requested.quantities("requested", &o.Requested)...)
	if b.Features != nil {
		o.Features = sizing.Features{}
	}
	for name, v := range b.Features {
		value, wrong := jsonFeature(v)
		if wrong != "" {
			bad = append(bad, sizing.FieldError{Field: "features." + name, Detail: wrong})
		} else if value.Kind != sizing.Missing {
			o.Features[name] = value
		}
	}
	if s := b.UsageSeries; s != nil {
		o.Series = sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
	}
	return o, addNew(bad, o.Validate())
}

// cells are the texts of the fields; "" where one was left out.
func (b *body) cells() map[string]string {
	allocated, requested := cmp.Or(b.Allocated, &resources{}), cmp.Or(b.Requested, &resources{})
	return map[string]string{
		"namespace": b.Namespace, "dag_id": b.DAGID, "task_id": b.TaskID, "run_id": b.RunID,
		"map_index": b.MapIndex.String(), "try_number": b.TryNumber.String(), "outcome": b.Outcome,
		"started_at": b.StartedAt, "ended_at": b.EndedAt, "duration_seconds": b.DurationSeconds.String(),
		"memory_max_bytes": b.MemoryMaxBytes.String(), "memory_sampled_bytes": b.MemorySampled.String(), "cpu_max_cores": b.CPUMaxCores.String(),
		"allocated.memory_bytes": allocated.MemoryBytes.String(), "allocated.cpu_cores": allocated.CPUCores.String(),
		"requested.memory_bytes": requested.MemoryBytes.String(), "requested.cpu_cores": requested.CPUCores.String(),
		"prediction_id": b.PredictionID,
	}
}

// quantities reads the amounts that are written as "350Gi" and "250m".
func (r *resources) quantities(field string, into *sizing.Resources) []sizing.FieldError {
	if r == nil {
		return nil
	}
	var bad []sizing.FieldError
	if r.Memory != "" {
		if b, err := sizing.ParseMemory(r.Memory); err != nil {
			bad = append(bad, sizing.FieldError{Field: field + ".memory", Detail: err.Error()})
		} else {
			into.Memory = b
		}
	}
	if r.CPU != "" {
		if c, err := sizing.ParseCPU(r.CPU); err != nil {
			bad = append(bad, sizing.FieldError{Field: field + ".cpu", Detail: err.Error()})
		} else {
			into.CPU = c
		}
	}
	return bad
}

// jsonFeature is a JSON value as a feature, or what is wrong with it.
func jsonFeature(v any) (value sizing.Value, wrong string) {
	switch v := v.(type) {
	case nil:
		return sizing.Value{}, ""
	case bool:
		return sizing.BoolValue(v), ""
	case string:
		return sizing.TextValue(v), ""
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return sizing.NumberValue(f), ""
		}
		return sizing.Value{}, "is a number out of range"
	}
	return sizing.Value{}, "must be a number, a string, a bool or null"
}
