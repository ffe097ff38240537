package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

type results struct {
	mu             sync.Mutex
	sent           int
	classes        map[string][10]int // answers per operation, by the first digit of the status; 0 means no answer
	rejectionTimes []time.Duration    // latencies of 4xx answers to requests that have a body and less than 64 KiB in all
	faults         int
	kinds          map[string]int // faults by operation and first words of the description
	examples       []string       // the first fault of each of the first 20 kinds, with its request
}

// add counts the answer to request n. The argument `fault` is nil if the answer is right.
func (t *results) add(n uint64, r *request, got *answer, fault error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.classes == nil {
		t.classes, t.kinds = map[string][10]int{}, map[string]int{}
	}
	t.sent++
	c := t.classes[r.op.name]
	c[got.status/100]++
	t.classes[r.op.name] = c
	if got.status/100 == 4 && r.body != nil && len(r.encoded) < 64<<10 {
		t.rejectionTimes = append(t.rejectionTimes, got.took)
	}
	if fault != nil {
		t.faults++
		kind, _, _ := strings.Cut(fault.Error(), ":")
		kind = r.op.name + " " + kind
		if t.kinds[kind]++; t.kinds[kind] == 1 && len(t.examples) < 20 {
			t.examples = append(t.examples, fmt.Sprintf("request %d, %s: %v\n    request %.600q", n, r.op.name, fault, r.encoded))
		}
	}
}

// fault returns an error with up to five faults of different kinds; nil if there is none.
func (t *results) fault() error {
	if t.faults == 0 {
		return nil
	}
	return fmt.Errorf("%d faults; the first of each kind, for up to five kinds:\n  %s", t.faults, strings.Join(t.examples[:min(5, len(t.examples))], "\n  "))
}

func (t *results) print(w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "%d requests in %.0f s (%.0f/s)\n%-52s %8s %8s %8s %8s %8s\n", t.sent, took.Seconds(), float64(t.sent)/took.Seconds(),
		"operation", "2xx", "3xx", "4xx", "5xx", "none")
	for _, name := range slices.Sorted(maps.Keys(t.classes)) {
		c := t.classes[name]
		fmt.Fprintf(w, "%-52s %8d %8d %8d %8d %8d\n", name, c[2], c[3], c[4], c[5], c[0])
	}
	if len(t.rejectionTimes) > 0 {
		slices.Sort(t.rejectionTimes)
		at := func(q float64) time.Duration { return t.rejectionTimes[int(q*float64(len(t.rejectionTimes)-1))] }
		fast, _ := slices.BinarySearch(t.rejectionTimes, 10*time.Millisecond)
		fmt.Fprintf(w, "requests with a body, below 64 KiB, rejected: %d, of them %.2f %% in under 10 ms; median %v, 99 %% in %v, 99.9 %% in %v\n", len(t.rejectionTimes),
			100*float64(fast)/float64(len(t.rejectionTimes)), at(0.5).Round(time.Microsecond), at(0.99).Round(10*time.Microsecond), at(0.999).Round(10*time.Microsecond))
	}
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		fmt.Fprintf(w, "fault ×%d: %s\n", t.kinds[kind], kind)
	}
	for _, fault := range t.examples {
		fmt.Fprintln(w, "  "+fault)
	}
}
