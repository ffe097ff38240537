package sizing

import (
	"fmt"
	"math"
	"time"
)

// Series is what a try used over time, in steps of equal width from its start on.
type Series struct {
	Step   time.Duration
	Memory []int64   // bytes, the most of each step
	CPU    []float64 // cores of each step; nil: not known
}

// MaxPoints bounds a Series, and MinStep how fine it is.
const (
	MaxPoints = 120
	MinStep   = time.Millisecond
)

// NewSeries is a series as it is sent. A step that nothing can have comes out as one
// that Validate names.
func NewSeries(stepSeconds float64, memory []int64, cpu []float64) *Series {
	step := time.Duration(-1)
	if stepSeconds >= 0 && stepSeconds <= MaxDuration.Seconds() {
		step = time.Duration(math.Round(stepSeconds*1e6)) * time.Microsecond
	}
	return &Series{Step: step, Memory: memory, CPU: cpu}
}

// Validate names the fields that cannot be right. Nil is right: it is not known.
func (s *Series) Validate() []FieldError {
	var bad []FieldError
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{"usage_series." + field, fmt.Sprintf(format, args...)})
	}
	if s == nil {
		return nil
	}
	if s.Step < MinStep || s.Step > MaxDuration {
		add("step_seconds", "must be %g to %.0f", MinStep.Seconds(), MaxDuration.Seconds())
	}
	if n := len(s.Memory); n < 1 || n > MaxPoints {
		add("memory_bytes", "must be a list of 1 to %d, not %d", MaxPoints, n)
	}
	for i, b := range s.Memory {
		if b < 0 || b > int64(MaxBytes) {
			add("memory_bytes", "must be 0 to %d bytes: look at [%d]", int64(MaxBytes), i)
			break
		}
	}
	if s.CPU != nil && len(s.CPU) != len(s.Memory) {
		add("cpu_cores", "must be as many as memory_bytes (%d), not %d; leave it out where it is not known", len(s.Memory), len(s.CPU))
		return bad
	}
	for i, c := range s.CPU {
		if !(c >= 0 && c <= float64(MaxCores)) {
			add("cpu_cores", "must be 0 to %.0f cores: look at [%d]", float64(MaxCores), i)
			break
		}
	}
	return bad
}
