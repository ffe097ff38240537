package sizing

import (
	"fmt"
	"math"
	"time"
)

// What a valid report must exceed before it draws a warning.
const (
	leastContainer  = MiB      // a pause container takes about this much; no program takes less
	unitFactor      = 1000.0   // the smallest mistaken unit, and a success uses no more than it has
	requestedFactor = 10_000.0 // requests are often a thousand times too high, allocations are not
	enforced        = 1.01     // of the allocation: the kernel counts in batches of pages
	tooManyTimes    = 100.0    // of the request: limits that are not enforced are exceeded by up to 34
	mostCores       = 2048     // of one node
	coresUnlikely   = 32.0     // of the cores allocated or requested …
	coresAnyNode    = 8.0      // … and more than a small node has: most likely a percentage
	leastAtOOM      = 0.5      // of the allocation: a container that is killed at its limit used all of it
	coresFactor     = 250.0    // of the cores allocated: below it a small request may share a large node
	clockSkew       = 6 * time.Hour
	skewShare       = 0.01 // of a duration against its ends …
	skewLeast       = 2 * time.Second
)

// LargestServer is the memory of the largest server that clouds rent out.
const LargestServer Bytes = 32 << 40

// earliest is before every Kubernetes pod: an earlier time is a missing or a mistaken one.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Warnings names the fields of a valid report that look wrong in themselves, and says
// what is done with them. now is the clock of whoever received the report.
func (o *Observation) Warnings(now time.Time) []FieldError {
	var all []FieldError
	add := func(field, detail string) {
		if detail != "" {
			all = append(all, FieldError{field, detail})
		}
	}
	add("memory_max_bytes", o.unlikelyPeak(o.MemoryMax))
	add("memory_sampled_bytes", o.unlikelyPeak(o.MemorySampled))
	add("cpu_max_cores", o.unlikelyCores())
	add("started_at", unlikelyTime(o.StartedAt, now))
	add("ended_at", unlikelyTime(o.EndedAt, now))
	add("duration_seconds", o.unlikelyDuration())
	return all
}

// unlikelyPeak says what is wrong with a peak; empty if nothing is.
func (o *Observation) unlikelyPeak(peak Bytes) string {
	scale, of, factor := o.Allocated.Memory, "allocated", unitFactor
	if scale == 0 {
		scale, of, factor = o.Requested.Memory, "requested", requestedFactor
	}
	times := float64(peak) / float64(max(scale, 1))
	switch {
	case peak == 0:
	case o.Outcome == Success && scale > 0 && times*factor < 1:
		return fmt.Sprintf("%d bytes is 1/%.0f of the %s %s%s", peak, 1/times, scale.Approx(), of, meant(peak, scale))
	case o.Outcome == Success && peak < leastContainer:
		return fmt.Sprintf("%d bytes is less than any container uses: was another unit meant?", peak)
	case o.Outcome == OOMKilled && peak == o.MemoryMax && float64(peak) < leastAtOOM*float64(o.Allocated.Memory):
		return fmt.Sprintf("%d bytes is %.2g of the %s allocated, and a container that is killed at its limit used all of it: "+
			"was another process, or the whole node, out of memory? The allocation counts as too little", peak, float64(peak)/float64(o.Allocated.Memory), o.Allocated.Memory.Approx())
	case peak > LargestServer:
		return fmt.Sprintf("%d bytes is more than the largest server has (32Ti): was another unit meant?", peak)
	case o.Allocated.Memory > 0 && times > enforced:
		return fmt.Sprintf("%d bytes is %.3g times the %s allocated: either its limit is not enforced, or the unit or the container is wrong", peak, times, scale.Approx())
	case scale > 0 && times > tooManyTimes:
		return fmt.Sprintf("%d bytes is %.3g times the %s %s: was another unit meant?", peak, times, scale.Approx(), of)
	}
	return ""
}

// meant asks for the unit in which a peak would fit its container.
func meant(peak, scale Bytes) string {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"GiB", float64(GiB)}, {"MiB", float64(MiB)}, {"KiB", 1 << 10}} {
		if float64(peak)*unit.bytes <= float64(scale) {
			return ": were " + unit.name + " meant?"
		}
	}
	return ""
}

// PlausibleCores reports whether so many cores may be learned: millicores taken for
// cores would ask for more than any node has. scale are the cores that the try had or
// requested, zero if not known.
func PlausibleCores(used, scale Cores) bool {
	return used <= mostCores && (scale == 0 || used <= coresFactor*scale)
}

func (o *Observation) unlikelyCores() string {
	scale := max(o.Allocated.CPU, o.Requested.CPU)
	switch plausible := PlausibleCores(o.CPUMax, scale); {
	case plausible && scale > 0 && o.CPUMax > coresUnlikely*scale && o.CPUMax > coresAnyNode:
		return fmt.Sprintf("%v cores is %.0f times the %v allocated or requested: was a percentage or millicores meant?",
			float64(o.CPUMax), float64(o.CPUMax/scale), float64(scale))
	case plausible:
		return ""
	}
	if scale == 0 {
		return fmt.Sprintf("%v cores is more than any node has: were millicores meant? It is stored, and not learned", float64(o.CPUMax))
	}
	return fmt.Sprintf("%v cores is %.0f times the %v allocated or requested: were millicores meant? It is stored, and not learned",
		float64(o.CPUMax), float64(o.CPUMax/scale), float64(scale))
}

func unlikelyTime(t, now time.Time) string {
	switch {
	case t.IsZero():
	case t.After(now.Add(clockSkew)):
		return fmt.Sprintf("%s is in the future: the report counts as of when it arrived", t.UTC().Format(time.RFC3339))
	case t.Before(earliest):
		return fmt.Sprintf("%s is before the year 2000: the report counts as of when it arrived", t.UTC().Format(time.RFC3339))
	}
	return ""
}

// unlikelyDuration compares a duration with the ends of the try.
func (o *Observation) unlikelyDuration() string {
	if o.Duration == 0 || o.StartedAt.IsZero() || o.EndedAt.IsZero() {
		return ""
	}
	span := o.EndedAt.Sub(o.StartedAt)
	apart := math.Abs(span.Seconds() - o.Duration.Seconds())
	if apart <= max(skewLeast.Seconds(), skewShare*max(span, o.Duration).Seconds()) {
		return ""
	}
	return fmt.Sprintf("%.0f s contradicts ended_at - started_at, which is %.0f s: the duration is used", o.Duration.Seconds(), span.Seconds())
}
