package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// report translates one decoded body of POST /observe, and collects the fields that cannot
// be translated.
type report struct {
	body *api.Observation
	bad  []sizing.FieldError
}

func newReport(body *api.Observation) *report { return &report{body: body} }

func (r *report) add(field, format string, args ...any) {
	r.bad = append(r.bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

func (r *report) observation() (sizing.Observation, []sizing.FieldError) {
	b, o := r.body, blankObservation()
	o.Try.Namespace = *cmp.Or(b.Namespace, &o.Try.Namespace)
	o.Try.DAG, o.Try.Task, o.Try.RunID = b.DagID, b.TaskID, b.RunID
	o.Try.MapIndex = *cmp.Or(b.MapIndex, &o.Try.MapIndex)
	o.Try.Number = *cmp.Or(b.TryNumber, &o.Try.Number)
	o.Outcome, _ = sizing.ParseOutcome(string(b.Outcome)) // Validate names an unknown one; unlike in a CSV, it is required
	o.MemoryMax = r.memory("memory_max", b.MemoryMaxBytes, b.MemoryMax)
	o.MemorySampled = r.memory("memory_sampled", b.MemorySampledBytes, nil)
	o.CPUMax = r.cpu("cpu_max", b.CPUMaxCores, nil)
	o.Duration = r.seconds("duration_seconds", b.DurationSeconds)
	o.StartedAt = r.time("started_at", b.StartedAt)
	o.EndedAt = r.time("ended_at", b.EndedAt)
	o.Allocated = r.resources("allocated", b.Allocated)
	o.Requested = r.resources("requested", b.Requested)
	o.Features = r.features(b.Features)
	if b.PredictionID != nil {
		o.PredictionID = *b.PredictionID
		if detail := sizing.CheckRunID(o.PredictionID); detail != "" {
			r.add("prediction_id", "%s", detail)
		}
	}
	if s := b.UsageSeries; s != nil {
		o.Series = sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
	}
	bad := addNew(r.bad, o.Validate())
	o.StartedAt, o.EndedAt = o.StartedAt.UTC().Truncate(time.Microsecond), o.EndedAt.UTC().Truncate(time.Microsecond) // the grain of the store
	maps.DeleteFunc(o.Features, func(_ string, v sizing.Value) bool { return v.Kind == sizing.Missing })
	return o, bad
}

// memory reads field_bytes, the quantity in field, or both where they agree.
func (r *report) memory(field string, bytes *int64, quantity *string) (b sizing.Bytes) {
	if bytes != nil {
		if b = sizing.Bytes(*bytes); b < 1 || b > sizing.MaxBytes {
			r.add(field+"_bytes", "%d must be 1 byte to 8Pi; leave it out where it is not known", *bytes)
		}
	}
	if quantity == nil {
		return b
	}
	q, err := sizing.ParseMemory(*quantity)
	switch {
	case err != nil:
		r.add(field, "%s", err)
	case bytes != nil && q != b:
		r.add(field, "is %d bytes, but %s_bytes says %d: write one of them", q, field, b)
	}
	return q
}

// cpu reads field_cores, the quantity in field, or both where they agree to a millicore.
func (r *report) cpu(field string, cores *float64, quantity *string) (c sizing.Cores) {
	if cores != nil {
		if c = sizing.Cores(*cores); c < 0 || c > sizing.MaxCores {
			r.add(field+"_cores", "%g must be 0 to %.0f cores", *cores, float64(sizing.MaxCores))
		}
	}
	if quantity == nil {
		return c
	}
	q, err := sizing.ParseCPU(*quantity)
	switch {
	case err != nil:
		r.add(field, "%s", err)
	case cores != nil && math.Abs(float64(q-c)) >= 0.001:
		r.add(field, "is %g cores, but %s_cores says %g: write one of them", float64(q), field, float64(c))
	}
	return q
}

func (r *report) resources(field string, of *api.Resources) sizing.Resources {
	if of == nil {
		return sizing.Resources{}
	}
	return sizing.Resources{
		Memory: r.memory(field+".memory", of.MemoryBytes, of.Memory),
		CPU:    r.cpu(field+".cpu", of.CPUCores, of.CPU),
	}
}

// seconds keeps microseconds, the grain of the store.
func (r *report) seconds(field string, s *float64) time.Duration {
	if s == nil {
		return 0
	}
	if *s < 0 || *s > sizing.MaxDuration.Seconds() {
		r.add(field, "%g must be 0 to %.0f seconds", *s, sizing.MaxDuration.Seconds())
		return 0
	}
	return time.Duration(math.Round(*s*1e6)) * time.Microsecond
}

func (r *report) time(field string, t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	if !possibleYear(*t) {
		r.add(field, "%s must be between 1970 and 2200", t.Format(time.RFC3339))
	}
	return *t
}

// features reads an object of scalars; nil where there is none.
func (r *report) features(raw api.Features) sizing.Features {
	value := jsontext.Value(raw)
	if len(value) == 0 || value.Kind() == 'n' {
		return nil
	}
	if value.Kind() != '{' {
		r.add("features", "must be an object of numbers, strings, bools and nulls")
		return nil
	}
	features := sizing.Features{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
	_, _ = dec.ReadToken() // the brace; all of it is known to be JSON
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			break
		}
		if read, wrong := jsonFeature(v); wrong != "" {
			r.add(api.FieldName(jsontext.Pointer("/features").AppendToken(key)), "%s", wrong)
		} else {
			features[key] = read
		}
	}
	return features
}

// jsonFeature is a JSON value as a feature, or what is wrong with it.
func jsonFeature(v jsontext.Value) (value sizing.Value, wrong string) {
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
		f, err := token.Float()
		if err != nil {
			return sizing.Value{}, "is too large a number"
		}
		return sizing.NumberValue(f), ""
	}
	return sizing.Value{}, "must be a number, a string, a bool or null"
}
