package sizing

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// The thresholds for warnings about valid reports and asks. The scale of a peak is the allocation or, if that
// is unknown, the request.
const (
	minContainer    = MiB      // memory of a pause container; no program uses less
	unitFactor      = 1000.0   // largest normal allocation / peak: neighbouring units, such as kB and MB, differ by this factor or more
	requestedFactor = 10_000.0 // largest normal request / peak: requests are often 1,000 times too high
	overAllocation  = 1.01     // largest normal peak / allocation: the kernel charges memory in batches of pages
	overRequest     = 100.0    // largest normal peak / request: tasks without an enforced limit use up to 34 times their request
	maxNodeCores    = 2048     // cores of the largest node
	normalCores     = 32.0     // largest normal ratio of used to allocated or requested cores; above it the unit is probably wrong
	smallNodeCores  = 8.0      // cores of a small node; normalCores applies only to a use above this
	minPeakAtOOM    = 0.5      // smallest normal peak / allocation of a container that is killed at its limit
	coresFactor     = 250.0    // largest ratio of used to allocated or requested cores at which the use is learned: a pod with a small request may use the idle cores of a large node
	maxClockSkew    = 6 * time.Hour
	durationShare   = 0.01                // tolerated relative difference between a duration and the time from start to end
	durationFloor   = 2 * time.Second     // tolerated absolute difference
	longestTry      = 30 * 24 * time.Hour // a longer duration is rare; 3,600,000 for an hour in milliseconds is 42 days
)

// LargestServer is the memory of the largest server that public clouds offer.
const LargestServer Bytes = 32 << 40

// earliest is before the first Kubernetes pod, so an earlier time is missing or wrong.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Warnings lists the fields of a valid report that are suspicious even without a history to compare them with.
func (o *Observation) Warnings(now time.Time) []FieldError {
	var all []FieldError
	add := func(field, detail string) {
		if detail != "" {
			all = append(all, FieldError{field, detail})
		}
	}
	add("memory_max_bytes", o.unlikelyPeak(o.MemoryMax))
	add("memory_sampled_bytes", cmp.Or(o.unlikelyPeak(o.MemorySampled), o.unlikelySample()))
	add("cpu_max_cores", o.unlikelyCores())
	unlikelyStart, unlikelyEnd := unlikelyTime(o.StartedAt, now), unlikelyTime(o.EndedAt, now)
	switch {
	case unlikelyStart != "" && unlikelyEnd == "" && !o.EndedAt.IsZero():
		add("started_at", unlikelyStart+": the start counts as unknown")
	case unlikelyStart != "":
		add("started_at", unlikelyStart+": the report counts at its time of arrival")
	}
	if unlikelyEnd != "" {
		add("ended_at", unlikelyEnd+": the report counts at its time of arrival")
	}
	add("duration_seconds", o.unlikelyDuration(now))
	return all
}

// Warnings lists the fields of a valid ask that are suspicious even without a history to compare them with.
func (a *Ask) Warnings() []FieldError {
	if m := a.Requested.Memory; m > 0 && m < minContainer {
		return []FieldError{{"requested.memory_bytes", lessThanAContainer(m)}}
	}
	return nil
}

func lessThanAContainer(b Bytes) string {
	return fmt.Sprintf("%d bytes is less than any container uses: check the unit", b)
}

func (o *Observation) unlikelyPeak(peak Bytes) string {
	scale, of, factor := o.Allocated.Memory, "allocated", unitFactor
	if scale == 0 {
		scale, of, factor = o.Requested.Memory, "requested", requestedFactor
	}
	times := float64(peak) / float64(max(scale, 1))
	switch {
	case peak == 0:
	case o.Outcome == Success && scale > 0 && times*factor < 1:
		return fmt.Sprintf("%d bytes is 1/%.0f of the %s %s%s", peak, 1/times, scale.Approx(), of, unitHint(peak, scale))
	case o.Outcome == Success && peak < minContainer:
		return lessThanAContainer(peak)
	case o.Outcome == OOMKilled && peak == o.MemoryMax && float64(peak) < minPeakAtOOM*float64(o.Allocated.Memory):
		return fmt.Sprintf("%d bytes is %.2g of the %s allocated, and a container that is killed at its limit used all of it: "+
			"was another process, or the whole node, out of memory? The allocation counts as too little", peak, float64(peak)/float64(o.Allocated.Memory), o.Allocated.Memory.Approx())
	case o.Outcome == AppOOM && peak == o.measured() && o.isBelowAllocation():
		return fmt.Sprintf("%d bytes is %.2g of the %s allocated: does the program have a limit of its own, such as -Xmx or ulimit? "+
			"The allocation does not count as too little unless a try with more memory uses more", peak, float64(peak)/float64(o.Allocated.Memory), o.Allocated.Memory.Approx())
	case peak > LargestServer:
		return fmt.Sprintf("%d bytes is more than the largest server has (32Ti): check the unit", peak)
	case o.Allocated.Memory > 0 && times > overAllocation:
		return fmt.Sprintf("%d bytes is %s times the %s allocated: the limit is not enforced, the unit is wrong, or another container was measured", peak, FormatFactor(times), scale.Approx())
	case scale > 0 && times > overRequest:
		return fmt.Sprintf("%d bytes is %s times the %s %s: check the unit", peak, FormatFactor(times), scale.Approx(), of)
	}
	return ""
}

func (o *Observation) unlikelySample() string {
	if o.Outcome != Success || o.MemoryMax == 0 || float64(o.MemorySampled) <= overAllocation*float64(o.MemoryMax) {
		return ""
	}
	return fmt.Sprintf("%d bytes is above memory_max_bytes (%d), and no sample of a container is above its peak: does memory_max_bytes measure "+
		"only a part of the container? loadaware learns memory_max_bytes", o.MemorySampled, o.MemoryMax)
}

func unitHint(peak, scale Bytes) string {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"GiB", float64(GiB)}, {"MiB", float64(MiB)}, {"KiB", 1 << 10}} {
		if float64(peak)*unit.bytes <= float64(scale) {
			return ": is the value in " + unit.name + "?"
		}
	}
	return ""
}

// PlausibleCores reports whether a CPU use may be learned. Millicores that are reported as cores exceed the cores of
// every node, or a large multiple of `scale`, which is the allocated or the requested CPU; zero if both are unknown.
func PlausibleCores(used, scale Cores) bool {
	return used <= maxNodeCores && (scale == 0 || used <= coresFactor*scale)
}

func (o *Observation) unlikelyCores() string {
	scale := max(o.Allocated.CPU, o.Requested.CPU)
	switch plausible := PlausibleCores(o.CPUMax, scale); {
	case plausible && scale > 0 && o.CPUMax > normalCores*scale && o.CPUMax > smallNodeCores:
		return fmt.Sprintf("%v cores is %.0f times the %v allocated or requested: was a percentage or millicores meant?",
			float64(o.CPUMax), float64(o.CPUMax/scale), float64(scale))
	case plausible:
		return ""
	}
	if scale == 0 {
		return fmt.Sprintf("%v cores is more than any node has: is the value in millicores? It is stored but not learned", float64(o.CPUMax))
	}
	return fmt.Sprintf("%v cores is %.0f times the %v allocated or requested: is the value in millicores? It is stored but not learned",
		float64(o.CPUMax), float64(o.CPUMax/scale), float64(scale))
}

func unlikelyTime(t, now time.Time) string {
	switch {
	case t.IsZero():
	case t.After(now.Add(maxClockSkew)):
		return fmt.Sprintf("%s is in the future", t.UTC().Format(time.RFC3339))
	case t.Before(earliest):
		return fmt.Sprintf("%s is before the year 2000", t.UTC().Format(time.RFC3339))
	}
	return ""
}

// At returns the time of the row of a report that arrived at now: the end of the try, or else its start, or else (also
// for an implausible time) now.
func (o *Observation) At(now time.Time) time.Time {
	at := o.EndedAt
	if at.IsZero() {
		at = o.StartedAt
	}
	if at.IsZero() || unlikelyTime(at, now) != "" {
		return now
	}
	return at
}

// Start returns the start of the try of a report that arrived at now, as in HistoryRow.StartedAt.
func (o *Observation) Start(now time.Time) time.Time {
	start := o.StartedAt
	if start.IsZero() && !o.EndedAt.IsZero() && o.Duration > 0 {
		start = o.EndedAt.Add(-o.Duration)
	}
	if start.Before(earliest) || start.After(o.At(now)) {
		return time.Time{}
	}
	return start
}

func (o *Observation) unlikelyDuration(now time.Time) string {
	if o.StartedAt.IsZero() || o.EndedAt.IsZero() {
		switch {
		case !o.StartedAt.IsZero() && unlikelyTime(o.StartedAt, now) == "" && o.StartedAt.Add(o.Duration).After(now.Add(maxClockSkew)):
			return fmt.Sprintf("%.0f s after started_at is in the future: is the value in milliseconds?", o.Duration.Seconds())
		case o.Duration > longestTry:
			return fmt.Sprintf("%.0f s is %.0f days: is the value in milliseconds?", o.Duration.Seconds(), o.Duration.Hours()/24)
		}
		return ""
	}
	span := o.EndedAt.Sub(o.StartedAt)
	difference := math.Abs(span.Seconds() - o.Duration.Seconds())
	if difference <= max(durationFloor.Seconds(), durationShare*max(span, o.Duration).Seconds()) {
		return ""
	}
	return fmt.Sprintf("%.0f s contradicts ended_at - started_at, which is %.0f s: the duration is used", o.Duration.Seconds(), span.Seconds())
}
