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

// tally gathers what became of the requests. Its zero value is empty.
type tally struct {
	mu      sync.Mutex
	sent    int
	classes map[string][6]int // by operation, then by first digit of the status; 0 is no answer
	refused []time.Duration   // of bodies below 64 KiB that were answered 4xx
	faults  int
	kinds   map[string]int // of faults, by their first words
	told    []string       // the first of each kind, with its request
}

// count takes in one answer and its fault, if there was one.
func (t *tally) count(n uint64, r *request, got *answer, fault error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.classes == nil {
		t.classes, t.kinds = map[string][6]int{}, map[string]int{}
	}
	t.sent++
	c := t.classes[r.op.name]
	c[got.status/100]++
	t.classes[r.op.name] = c
	if got.status/100 == 4 && r.body != nil && len(r.wire) < 64<<10 {
		t.refused = append(t.refused, got.took)
	}
	if fault != nil {
		t.faults++
		kind, _, _ := strings.Cut(fault.Error(), ":")
		kind = r.op.name + " " + kind
		if t.kinds[kind]++; t.kinds[kind] == 1 && len(t.told) < 20 {
			t.told = append(t.told, fmt.Sprintf("request %d, %s: %v\n    sent %.600q", n, r.op.name, fault, r.wire))
		}
	}
}

// fault tells the first of what was found; nil if nothing was.
func (t *tally) fault() error {
	if t.faults == 0 {
		return nil
	}
	return fmt.Errorf("%d faults, the first of them:\n  %s", t.faults, strings.Join(t.told[:min(5, len(t.told))], "\n  "))
}

// print says it all.
func (t *tally) print(w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "%d requests in %.0f s (%.0f/s)\n%-52s %8s %8s %8s %8s %8s\n", t.sent, took.Seconds(), float64(t.sent)/took.Seconds(),
		"operation", "2xx", "3xx", "4xx", "5xx", "none")
	for _, name := range slices.Sorted(maps.Keys(t.classes)) {
		c := t.classes[name]
		fmt.Fprintf(w, "%-52s %8d %8d %8d %8d %8d\n", name, c[2], c[3], c[4], c[5], c[0])
	}
	if len(t.refused) > 0 {
		slices.Sort(t.refused)
		at := func(q float64) time.Duration { return t.refused[int(q*float64(len(t.refused)-1))] }
		fast, _ := slices.BinarySearch(t.refused, 10*time.Millisecond)
		fmt.Fprintf(w, "bodies refused: %d, of them %.2f %% in under 10 ms; median %v, 99 %% in %v, 99.9 %% in %v\n", len(t.refused),
			100*float64(fast)/float64(len(t.refused)), at(0.5).Round(time.Microsecond), at(0.99).Round(10*time.Microsecond), at(0.999).Round(10*time.Microsecond))
	}
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		fmt.Fprintf(w, "fault ×%d: %s\n", t.kinds[kind], kind)
	}
	for _, fault := range t.told {
		fmt.Fprintln(w, "  "+fault)
	}
}
