//go:build linux

package main

import (
	"strconv"
	"time"
)

type report struct {
	memory   int64   // bytes, the best estimate of the peak; 0 if unknown
	sampled  int64   // bytes, the largest sample; 0 if unknown
	cores    float64 // the largest CPU rate; 0 if unknown
	source   string  // memory.peak, sampled or proc: where `memory` comes from
	kills    int64   // OOM kills of processes during the run
	duration time.Duration
	exit     *int // nil while the program runs
	series   *series
}

// field is a member of a JSON object; value is JSON.
type field struct{ key, value string }

// peakKey is the member of the peak. A program that measures itself writes it or memory_max.
const peakKey = "memory_max_bytes"

// fields returns the members of the report in the termination message. It omits unknown values, and with 0 points also
// the series.
func (r report) fields(points int) []field {
	var fields []field
	add := func(known bool, key, value string) {
		if known {
			fields = append(fields, field{key, value})
		}
	}
	add(r.memory > 0, peakKey, integer(r.memory))
	add(r.cores > 0, "cpu_max_cores", decimal(r.cores, 3))
	add(true, "source", strconv.Quote(r.source))
	add(r.sampled > 0, "memory_sampled_bytes", integer(r.sampled))
	add(true, "oom_kills", integer(r.kills))
	add(true, "duration_seconds", decimal(r.duration.Seconds(), 3))
	if r.exit != nil {
		add(true, "exit_code", strconv.Itoa(*r.exit))
	}
	add(points > 0 && len(r.series.slots) > 0, "series", r.series.downsample(max(points, 1)).json())
	return fields
}

// json returns the series as JSON, with memory rounded up to MiB. The first point covers 0 to
// step_seconds, the second step_seconds to 2·step_seconds, and so on.
func (s *series) json() string {
	text := []byte(`{"step_seconds":` + decimal(s.step.Seconds(), 1) + `,"memory_mib":[`)
	for i, slot := range s.slots {
		text = append(comma(text, i), integer((slot.memory+(1<<20)-1)>>20)...)
	}
	text = append(text, `],"cpu_cores":[`...)
	for i, cores := range s.cores() {
		text = append(comma(text, i), decimal(cores, 2)...)
	}
	return string(append(text, `]}`...))
}

// members returns the members of a JSON object without the braces around them.
func members(fields []field) []byte {
	var text []byte
	for i, f := range fields {
		text = append(append(append(comma(text, i), strconv.Quote(f.key)...), ':'), f.value...)
	}
	return text
}

// comma separates elements: it appends a comma unless i is 0.
func comma(text []byte, i int) []byte {
	if i > 0 {
		return append(text, ',')
	}
	return text
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// decimal formats a number with at most `places` decimal places, and without trailing zeros.
func decimal(f float64, places int) string {
	scale := 1.0
	for range places {
		scale *= 10
	}
	return strconv.FormatFloat(float64(int64(f*scale+0.5))/scale, 'f', -1, 64)
}
