package file

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

type jsonReader struct {
	in     *lines
	strict json.Options
}

func newJSONReader(in *lines) *jsonReader { return &jsonReader{in: in, strict: api.Strict()} }

func (j *jsonReader) read() (Row, error) {
	next, err := j.in.nextNonBlank()
	if err != nil {
		return Row{}, err
	}
	o, bad := j.parse(next.text)
	if len(bad) > 0 {
		return Row{}, &RowError{Line: next.number, Fields: bad}
	}
	return Row{Line: next.number, Observation: o}, nil
}

// parse decodes a line exactly as the server decodes a body of POST /observe.
// internal/httpapi/import_parity_test.go compares the two.
func (j *jsonReader) parse(text string) (sizing.Observation, []sizing.FieldError) {
	var body api.Observation
	if err := json.Unmarshal([]byte(text), &body, j.strict); err != nil {
		return sizing.Observation{}, []sizing.FieldError{jsonFieldError(err)}
	}
	return (&observationDecoder{body: &body}).observation()
}

func jsonFieldError(err error) sizing.FieldError {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		field, detail := api.DescribeError(semantic)
		return sizing.FieldError{Field: field, Detail: strings.Replace(detail, "of this request: see /docs", "of POST /observe", 1)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return sizing.FieldError{Detail: "the JSON object is not closed; write one object per line"}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return sizing.FieldError{Field: api.FieldName(syntax.JSONPointer), Detail: "is given twice"}
	case strings.Contains(err.Error(), "after top-level value"):
		return sizing.FieldError{Detail: "has text after the JSON object; write one object per line"}
	}
	return sizing.FieldError{Detail: "is not JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")}
}

type observationDecoder struct {
	body *api.Observation
	bad  []sizing.FieldError
}

func (t *observationDecoder) add(field, format string, args ...any) {
	t.bad = append(t.bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

func (t *observationDecoder) observation() (sizing.Observation, []sizing.FieldError) {
	b, o := t.body, blankObservation()
	o.Try.Namespace = *cmp.Or(b.Namespace, &o.Try.Namespace)
	o.Try.DAG, o.Try.Task, o.Try.RunID = b.DagID, b.TaskID, b.RunID
	o.Try.MapIndex = *cmp.Or(b.MapIndex, &o.Try.MapIndex)
	o.Try.Number = *cmp.Or(b.TryNumber, &o.Try.Number)
	o.Outcome, _ = sizing.ParseOutcome(string(b.Outcome)) // required, unlike in a CSV; Validate reports an unknown one
	o.MemoryMax = t.memory("memory_max", b.MemoryMaxBytes, b.MemoryMax)
	o.MemorySampled = t.memory("memory_sampled", b.MemorySampledBytes, nil)
	o.CPUMax = t.cpu("cpu_max", b.CPUMaxCores, nil)
	o.Duration = t.seconds("duration_seconds", b.DurationSeconds)
	o.StartedAt = t.time("started_at", b.StartedAt)
	o.EndedAt = t.time("ended_at", b.EndedAt)
	o.Allocated = t.resources("allocated", b.Allocated)
	o.Requested = t.resources("requested", b.Requested)
	o.Features = t.features(b.Features)
	if b.PredictionID != nil {
		o.PredictionID = *b.PredictionID
		if detail := sizing.CheckRunID(o.PredictionID); detail != "" {
			t.add("prediction_id", "%s", detail)
		}
	}
	o.Provisional = b.Provisional != nil && *b.Provisional
	if s := b.UsageSeries; s != nil {
		o.Series = sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
	}
	if s := b.DetailedSeries; s != nil {
		o.Detailed = sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
	}
	o.Executed = executedPlan(b.ExecutedPlan)
	metadata, wrong := api.ReadMetadata(b.Metadata) // like the server, ignore single entries of the wrong type
	if slices.Contains(wrong, "") {                 // the metadata as a whole
		t.add("metadata", "must be an object of strings and lists of strings")
	}
	o.Metadata, o.Usage = metadata, api.UsageValues(b.Usage)
	if b.NodeType != nil {
		o.Placement.NodeType = *b.NodeType
	}
	o.Placement.ClusterLoad = b.ClusterLoad
	bad := appendMissing(t.bad, o.Validate())
	o.StartedAt, o.EndedAt = o.StartedAt.UTC().Truncate(time.Microsecond), o.EndedAt.UTC().Truncate(time.Microsecond) // the precision of the store
	maps.DeleteFunc(o.Features, func(_ string, v sizing.Value) bool { return v.Kind == sizing.Missing })
	return o, bad
}

// executedPlan converts the plan of the API by way of JSON, because both types have the same JSON.
func executedPlan(b *api.ExecutedPlan) *sizing.ExecutedPlan {
	if b == nil {
		return nil
	}
	p := new(sizing.ExecutedPlan)
	if text, err := json.Marshal(b); err == nil { // its numbers are finite, because they were decoded
		_ = json.Unmarshal(text, p)
	}
	return p
}

// memory converts the number in the field <field>_bytes, or else the quantity in the field itself. If both are
// given, they must be equal.
func (t *observationDecoder) memory(field string, bytes *int64, quantity *string) (b sizing.Bytes) {
	if bytes != nil {
		if b = sizing.Bytes(*bytes); b < 1 || b > sizing.MaxBytes {
			t.add(field+"_bytes", "%d must be 1 byte to 8Pi; leave it out where it is not known", *bytes)
		}
	}
	if quantity == nil {
		return b
	}
	q, err := sizing.ParseMemory(*quantity)
	switch {
	case err != nil:
		t.add(field, "%s", err)
	case bytes != nil && q != b:
		t.add(field, "is %d bytes, but %s_bytes says %d: write one of them", q, field, b)
	}
	return q
}

// cpu converts the number in the field <field>_cores, or else the quantity in the field itself. If both are
// given, they must differ by less than a millicore.
func (t *observationDecoder) cpu(field string, cores *float64, quantity *string) (c sizing.Cores) {
	if cores != nil {
		if c = sizing.Cores(*cores); c < 0 || c > sizing.MaxCores {
			t.add(field+"_cores", "%g must be 0 to %.0f cores", *cores, float64(sizing.MaxCores))
		}
	}
	if quantity == nil {
		return c
	}
	q, err := sizing.ParseCPU(*quantity)
	switch {
	case err != nil:
		t.add(field, "%s", err)
	case cores != nil && math.Abs(float64(q-c)) >= 0.001:
		t.add(field, "is %g cores, but %s_cores says %g: write one of them", float64(q), field, float64(c))
	}
	return q
}

func (t *observationDecoder) resources(field string, r *api.Resources) sizing.Resources {
	if r == nil {
		return sizing.Resources{}
	}
	return sizing.Resources{
		Memory: t.memory(field+".memory", r.MemoryBytes, r.Memory),
		CPU:    t.cpu(field+".cpu", r.CPUCores, r.CPU),
	}
}

func (t *observationDecoder) seconds(field string, s *float64) time.Duration {
	if s == nil {
		return 0
	}
	if *s < 0 || *s > sizing.MaxDuration.Seconds() {
		t.add(field, "%g must be 0 to %.0f seconds", *s, sizing.MaxDuration.Seconds())
		return 0
	}
	return sizing.DurationOf(*s)
}

func (t *observationDecoder) time(field string, at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	if !isPlausibleYear(*at) {
		t.add(field, "%s must be in the years 1970 to 2199 in UTC", at.Format(time.RFC3339))
	}
	return *at
}

func (t *observationDecoder) features(raw api.Features) sizing.Features {
	value := jsontext.Value(raw)
	if len(value) == 0 || value.Kind() == 'n' {
		return nil
	}
	if value.Kind() != '{' {
		t.add("features", "must be an object of numbers, strings, bools and nulls")
		return nil
	}
	features := sizing.Features{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
	_, _ = dec.ReadToken() // the opening brace; the value is valid JSON
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			break
		}
		if value, fault := jsonFeature(v); fault != "" {
			t.add(api.FieldName(jsontext.Pointer("/features").AppendToken(key)), "%s", fault)
		} else {
			features[key] = value
		}
	}
	return features
}

func jsonFeature(v jsontext.Value) (value sizing.Value, fault string) {
	token, err := jsontext.NewDecoder(bytes.NewBuffer(v)).ReadToken()
	if err != nil {
		return sizing.Value{}, err.Error()
	}
	switch token.Kind() {
	case 'n':
		return sizing.Value{}, ""
	case 't', 'f':
		return sizing.BoolValue(token.Bool()), ""
	case '"':
		return sizing.TextValue(token.String()), ""
	case '0':
		number, ok := sizing.ParseNumber(token.String())
		if !ok {
			return sizing.Value{}, "is too large a number"
		}
		return number, ""
	}
	return sizing.Value{}, "must be a number, a string, a bool or null"
}
