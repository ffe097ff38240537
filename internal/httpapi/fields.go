package httpapi

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/codec"
	"github.com/loadaware/loadaware/internal/sizing"
)

// fieldReader converts the fields of one request to the types of package sizing, and collects
// the errors of invalid fields.
type fieldReader struct {
	errors   []sizing.FieldError
	warnings []sizing.FieldError // parts of the request that are ignored
}

func (f *fieldReader) add(field, format string, args ...any) {
	f.errors = append(f.errors, sizing.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// err returns the collected errors together with the errors of `validate` for other fields, so that the client
// gets all of them at once. It returns nil if `f` collected no error, because the service validates too.
func (f *fieldReader) err(validate func() []sizing.FieldError) error {
	if len(f.errors) == 0 {
		return nil
	}
	all := f.errors
	for _, e := range validate() {
		known := func(other sizing.FieldError) bool { return other.Field == e.Field }
		if !slices.ContainsFunc(f.errors, known) {
			all = append(all, e)
		}
	}
	return invalidFields(all)
}

// memory reads a memory amount in bytes from the field with the suffix _bytes, from a Kubernetes quantity in
// the field itself, or from both if they agree. Without either it returns 0.
func (f *fieldReader) memory(field string, bytes *int64, quantity *string) sizing.Bytes {
	var b sizing.Bytes
	if bytes != nil {
		b = sizing.Bytes(*bytes)
		if b < 1 || b > sizing.MaxBytes {
			f.add(field+"_bytes", "must be 1 byte to 8Pi; omit it if it is unknown")
		}
	}
	if quantity == nil {
		return b
	}
	q, err := sizing.ParseMemory(*quantity)
	switch {
	case err != nil:
		f.add(field, "%s", err)
	case bytes != nil && q != b:
		f.add(field, "is %d bytes, but %s_bytes is %d; send one of them", q, field, b)
	}
	return q
}

// cpu reads a CPU amount in cores from the field with the suffix _cores, from a Kubernetes quantity in the
// field itself, or from both if they differ by less than a millicore. Without either it returns 0.
func (f *fieldReader) cpu(field string, cores *float64, quantity *string) sizing.Cores {
	var c sizing.Cores
	if cores != nil {
		c = sizing.Cores(*cores)
		if c < 0 || c > sizing.MaxCores {
			f.add(field+"_cores", "must be 0 to %.0f cores", float64(sizing.MaxCores))
		}
	}
	if quantity == nil {
		return c
	}
	q, err := sizing.ParseCPU(*quantity)
	switch {
	case err != nil:
		f.add(field, "%s", err)
	case cores != nil && math.Abs(float64(q-c)) >= 0.001:
		f.add(field, "is %g cores, but %s_cores is %g; send one of them", float64(q), field, float64(c))
	}
	return q
}

func (f *fieldReader) resources(field string, r *api.Resources) sizing.Resources {
	if r == nil {
		return sizing.Resources{}
	}
	return sizing.Resources{
		Memory: f.memory(field+".memory", r.MemoryBytes, r.Memory),
		CPU:    f.cpu(field+".cpu", r.CPUCores, r.CPU),
	}
}

func (f *fieldReader) seconds(field string, s *float64) time.Duration {
	if s == nil {
		return 0
	}
	if !(*s >= 0 && *s <= sizing.MaxDuration.Seconds()) { // a query can contain NaN
		f.add(field, "must be 0 to %.0f seconds", sizing.MaxDuration.Seconds())
		return 0
	}
	return time.Duration(*s * float64(time.Second))
}

func (f *fieldReader) duration(field string, s *float64) time.Duration {
	if s == nil {
		return 0
	}
	return sizing.DurationOf(f.seconds(field, s).Seconds())
}

// time reads the time of a run. It rejects years outside 1970 to 2199: such a time is usually a unit error, and would sort
// the run before or after all others.
func (f *fieldReader) time(field string, t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	if year := t.UTC().Year(); year < 1970 || year >= 2200 {
		f.add(field, "must be in the years 1970 to 2199 in UTC")
	}
	return *t
}

func (f *fieldReader) id(field string, id *string) string {
	if id == nil {
		return ""
	}
	if detail := sizing.CheckRunID(*id); detail != "" {
		f.add(field, "%s", detail)
	}
	return *id
}

// features reads the features of a body whose syntax was checked. It returns nil if the body
// has none; for a report or a lift, the service then uses the features that it knows of the try or its run.
func (f *fieldReader) features(raw []byte) sizing.Features {
	features, invalid := codec.ReadFeatures(raw)
	if invalid != nil {
		f.errors = append(f.errors, *invalid)
	}
	return features
}

// metadata reads the metadata of a body whose syntax was checked. Metadata that are not an object are an
// error. An entry of the wrong type is ignored with a warning, because it must not fail a launch.
func (f *fieldReader) metadata(raw []byte) sizing.Metadata {
	metadata, invalid := api.ReadMetadata(raw)
	for _, name := range invalid {
		if name == "" {
			f.add("metadata", "must be an object of strings and lists of strings")
			continue
		}
		f.warnings = append(f.warnings, sizing.FieldError{Field: "metadata." + name, Detail: "is ignored: it must be a string or a list of strings"})
	}
	return metadata
}

func valueOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

func taskKey(namespace *string, dag, task string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: valueOr(namespace, sizing.DefaultNamespace), DAG: dag, Task: task}
}

func tryKey(task sizing.TaskKey, run string, mapIndex, number *int) sizing.TryKey {
	return sizing.TryKey{TaskKey: task, RunID: run, MapIndex: valueOr(mapIndex, sizing.NoMap), Number: valueOr(number, 1)}
}
