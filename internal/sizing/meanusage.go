package sizing

import (
	"fmt"
	"math"
	"slices"
)

// UsageNames are the names of the fields of MeanUsage in a report, in order.
var UsageNames = [...]string{"memory_mean_bytes", "cpu_mean_cores", "read_bytes", "written_bytes", "gpu_memory_max_bytes", "gpu_utilisation_mean"}

// The indexes of the fields in MeanUsage and UsageNames.
const (
	MemoryMean = iota
	CPUMean
	BytesRead
	BytesWritten
	GPUMemoryMax
	GPUUtilisation
)

// MeanUsage holds means and totals of the usage of one try, and its largest GPU memory, in the order of
// UsageNames. NaN is unknown. In a nil MeanUsage all fields are unknown.
type MeanUsage []float64

// maxUsage are the upper limits of the fields of MeanUsage. A GPU utilisation of 8 means that eight
// GPUs are fully used.
var maxUsage = [len(UsageNames)]float64{MaxBytes, float64(MaxCores), 1e18, 1e18, MaxBytes, 1000}

// Set sets one field and returns u. It allocates u if u is nil.
func (u MeanUsage) Set(field int, v float64) MeanUsage {
	if u == nil {
		u = make(MeanUsage, len(UsageNames))
		for i := range u {
			u[i] = math.NaN()
		}
	}
	u[field] = v
	return u
}

// Get returns one field; NaN if it is unknown.
func (u MeanUsage) Get(field int) float64 {
	if field >= len(u) {
		return math.NaN()
	}
	return u[field]
}

// bounded returns u without the fields outside the limits, and a warning for each of these fields. It returns nil if no
// known field remains.
func (u MeanUsage) bounded() (MeanUsage, []FieldError) {
	var warnings []FieldError
	for i := range u {
		if !(u[i] < 0) && !(u[i] > maxUsage[i]) {
			continue
		}
		if warnings == nil {
			u = slices.Clone(u)
		}
		warnings = append(warnings, FieldError{"usage." + UsageNames[i], fmt.Sprintf("%s is ignored: it must be 0 to %s", FormatNumber(u[i]), FormatNumber(maxUsage[i]))})
		u[i] = math.NaN()
	}
	if !slices.ContainsFunc(u, func(v float64) bool { return !math.IsNaN(v) }) {
		u = nil
	}
	return u, warnings
}

func mean[T int64 | float64](values []T) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}
