package sizing

import (
	"fmt"
	"math"
	"time"
)

// Series is the usage of a try over time, in steps of equal length from the start of the try.
type Series struct {
	Step   time.Duration
	Memory []int64   // bytes, the maximum of each step
	CPU    []float64 // cores, the mean of each step; nil if unknown
}

// MaxPoints and MinStep bound the length and the resolution of Observation.Series.
const (
	MaxPoints = 120
	MinStep   = time.Millisecond
)

// NewSeries converts a reported series. A step below 0 or above MaxDuration becomes negative, so that Validate rejects it;
// NaN does so, too.
func NewSeries(stepSeconds float64, memory []int64, cpu []float64) *Series {
	step := time.Duration(-1)
	if stepSeconds >= 0 && stepSeconds <= MaxDuration.Seconds() {
		step = time.Duration(math.Round(stepSeconds*1e6)) * time.Microsecond
	}
	return &Series{Step: step, Memory: memory, CPU: cpu}
}

// Validate returns an error for each invalid field of Observation.Series. A nil series is valid and means unknown.
func (s *Series) Validate() []FieldError {
	return s.check("usage_series.", MinStep, MaxDuration, MaxPoints)
}

func (s *Series) check(prefix string, minStep, maxStep time.Duration, maxPoints int) []FieldError {
	var bad []FieldError
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{prefix + field, fmt.Sprintf(format, args...)})
	}
	if s == nil {
		return nil
	}
	if s.Step < minStep || s.Step > maxStep {
		add("step_seconds", "must be %g to %.0f", minStep.Seconds(), maxStep.Seconds())
	}
	if n := len(s.Memory); n < 1 || n > maxPoints {
		add("memory_bytes", "must have 1 to %d entries, not %d", maxPoints, n)
	}
	for i, b := range s.Memory {
		if b < 0 || b > int64(MaxBytes) {
			add("memory_bytes", "must be 0 to %d bytes: check [%d]", int64(MaxBytes), i)
			break
		}
	}
	if s.CPU != nil && len(s.CPU) != len(s.Memory) {
		add("cpu_cores", "must have as many entries as memory_bytes (%d), not %d; omit it if it is unknown", len(s.Memory), len(s.CPU))
		return bad
	}
	for i, c := range s.CPU {
		if !(c >= 0 && c <= float64(MaxCores)) {
			add("cpu_cores", "must be 0 to %.0f cores: check [%d]", float64(MaxCores), i)
			break
		}
	}
	return bad
}
