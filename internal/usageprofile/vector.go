// Package usageprofile groups the runs of a namespace by how they use resources, after
// PolarisProfiler (TU Wien 2023). A usage profile is a cluster of runs, of any task.
//
//	stored tries ─▶ RunOf: Vector of logarithms ─▶ scaler: median and interquartile range
//	Fit: HDBSCAN, the best of several minimum cluster sizes ─▶ Set: profiles and the outlier group
//	Set.NeedsRefit: has the sample grown, did tasks change, do new tasks fit? ─▶ Fit with the previous set
//	new run ─▶ Set.Place: profile and outlier score
//
// A set holds a bounded sample of the runs of one namespace, and no run of another namespace. The
// package reads no clock and does no I/O. The same runs and the same previous set give the same set.
package usageprofile

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Quantity is what a usage vector measures.
type Quantity uint8

const (
	MemoryPeak      Quantity = iota // bytes; a lower bound for a kill and for a success with only a sampled peak
	Duration                        // seconds
	CPUPeak                         // cores
	CPUMean                         // cores
	PeakOverRequest                 // memory peak divided by the memory request
	MeanOverPeak                    // mean memory divided by the memory peak
	InputOutput                     // bytes read and written
	GBHours                         // of memory: mean, or else peak, times duration; GB is 1e9 bytes

	quantities = iota
)

// quantityNames are used in the API.
var quantityNames = [quantities]string{
	"memory_peak_bytes", "duration_seconds", "cpu_peak_cores", "cpu_mean_cores", "peak_over_request", "mean_over_peak", "io_bytes", "memory_gbh",
}

// String returns the name of the quantity.
func (q Quantity) String() string { return quantityNames[q] }

// floors are the smallest amounts: a smaller amount counts as its floor, because the logarithms of tiny amounts would
// dominate the distances.
var floors = [quantities]float64{1 << 20, 0.1, 0.01, 0.01, 0.001, 0.001, 1 << 20, 1e-6}

// clustered is the number of quantities by which profiles are found: all before GBHours. The logarithm of
// GB·h is the sum of the logarithms of other quantities, so GB·h only describes profiles.
const clustered = int(GBHours)

// Vector is the usage of one run: the natural logarithm of each quantity. NaN is unknown.
type Vector [quantities]float64

// Amount returns a quantity in its unit; NaN if it is unknown.
func (v *Vector) Amount(q Quantity) float64 { return math.Exp(v[q]) }

// set sets a quantity. It ignores an amount that is NaN, negative or infinite.
func (v *Vector) set(q Quantity, amount float64) {
	if amount >= 0 && !math.IsInf(amount, 1) {
		v[q] = math.Log(max(amount, floors[q]))
	}
}

// Run is one ended try.
type Run struct {
	Task   Task
	Seq    int64 // order of arrival
	Killed bool
	Vector Vector
	facts  facts // known before the run
}

// Task is a task of the namespace.
type Task struct{ DAG, Task string }

// RunOf returns the run of a stored try; ok is false if neither the peak nor a lower bound is known.
func RunOf(r *sizing.ContextRow) (run Run, ok bool) {
	peak, censoring := r.Peak()
	if peak <= 0 || censoring == sizing.NoPeak || censoring == sizing.AtMost {
		return Run{}, false
	}
	run = Run{Task: Task{r.Task.DAG, r.Task.Task}, Seq: r.Seq, Killed: censoring == sizing.AtLeast, facts: factsOf(r)}
	v := &run.Vector
	for q := range v {
		v[q] = math.NaN()
	}
	memory, mean := float64(peak), r.Usage.Get(sizing.MemoryMean)
	v.set(MemoryPeak, memory)
	if r.CPUMax > 0 {
		v.set(CPUPeak, float64(r.CPUMax))
	}
	v.set(CPUMean, r.Usage.Get(sizing.CPUMean))
	if r.Requested.Memory > 0 {
		v.set(PeakOverRequest, memory/float64(r.Requested.Memory))
	}
	v.set(MeanOverPeak, min(1, mean/memory))
	if read, written := r.Usage.Get(sizing.BytesRead), r.Usage.Get(sizing.BytesWritten); !math.IsNaN(read) || !math.IsNaN(written) {
		v.set(InputOutput, orZero(read)+orZero(written))
	}
	if seconds := r.Duration.Seconds(); seconds > 0 {
		v.set(Duration, seconds)
		if math.IsNaN(mean) {
			mean = memory
		}
		v.set(GBHours, mean/1e9*seconds/3600)
	}
	return run, true
}

func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
