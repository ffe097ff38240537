package httpapi

import (
	"fmt"
	"math"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// form translates the fields of one request into the words of sizing, and
// gathers those that cannot be.
type form struct {
	bad []sizing.FieldError
}

func (f *form) add(field, format string, args ...any) {
	f.bad = append(f.bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// err joins what was found here with what the middle finds: all bad fields are
// told at once. Nil where nothing was found here, since the middle looks itself.
func (f *form) err(validate func() []sizing.FieldError) error {
	if len(f.bad) == 0 {
		return nil
	}
	bad := f.bad
	for _, field := range validate() {
		if !named(f.bad, field.Field) {
			bad = append(bad, field)
		}
	}
	return failed(bad)
}

func named(fields []sizing.FieldError, name string) bool {
	for _, f := range fields {
		if f.Field == name {
			return true
		}
	}
	return false
}

// memory reads an amount that may be given as field_bytes, as a quantity in
// field, or as both where they agree.
func (f *form) memory(field string, bytes *int64, quantity *string) sizing.Bytes {
	var b sizing.Bytes
	if bytes != nil {
		b = sizing.Bytes(*bytes)
		if b < 1 || b > sizing.MaxBytes {
			f.add(field+"_bytes", "must be 1 byte to 8Pi; leave it out where it is not known")
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
		f.add(field, "is %d bytes, but %s_bytes says %d: send one of them", q, field, b)
	}
	return q
}

// cpu reads cpu_cores, a quantity, or both where they agree to a millicore.
func (f *form) cpu(field string, cores *float64, quantity *string) sizing.Cores {
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
		f.add(field, "is %g cores, but %s_cores says %g: send one of them", float64(q), field, float64(c))
	}
	return q
}

// resources reads an object of both.
func (f *form) resources(field string, r *api.Resources) sizing.Resources {
	if r == nil {
		return sizing.Resources{}
	}
	return sizing.Resources{
		Memory: f.memory(field+".memory", r.MemoryBytes, r.Memory),
		CPU:    f.cpu(field+".cpu", r.CPUCores, r.CPU),
	}
}

// seconds reads a duration.
func (f *form) seconds(field string, s *float64) time.Duration {
	if s == nil {
		return 0
	}
	if *s < 0 || *s > sizing.MaxDuration.Seconds() {
		f.add(field, "must be 0 to %.0f seconds", sizing.MaxDuration.Seconds())
		return 0
	}
	return time.Duration(*s * float64(time.Second))
}

// time reads a moment that a run can have had. A year far off is a unit mixed
// up, and would stand first in every order by time for ever.
func (f *form) time(field string, t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	if year := t.UTC().Year(); year < 1970 || year >= 2200 {
		f.add(field, "must be between 1970 and 2200")
	}
	return *t
}

// id reads an optional identifier that is stored but means nothing to learning.
func (f *form) id(field string, id *string) string {
	if id == nil {
		return ""
	}
	if detail := sizing.CheckRunID(*id); detail != "" {
		f.add(field, "%s", detail)
	}
	return *id
}

// or is what p points to, or what is meant where it was left out.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// taskKey joins the parts of a task's key.
func taskKey(namespace *string, dag, task string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: or(namespace, sizing.DefaultNamespace), DAG: dag, Task: task}
}

// tryKey joins the parts of a try's key.
func tryKey(task sizing.TaskKey, run string, mapIndex, number *int) sizing.TryKey {
	return sizing.TryKey{TaskKey: task, RunID: run, MapIndex: or(mapIndex, sizing.NoMap), Number: or(number, 1)}
}
