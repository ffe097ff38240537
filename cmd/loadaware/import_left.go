package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// leftOut counts what an import could not join or take, by reason.
type leftOut map[string]*leftReason

type leftReason struct {
	count    int
	examples []string // the first ones
}

// examplesSaid is how many examples tell a reader where to look.
const examplesSaid = 3

func (l leftOut) add(reason, example string) {
	r := l[reason]
	if r == nil {
		r = &leftReason{}
		l[reason] = r
	}
	r.count++
	if len(r.examples) < examplesSaid && !slices.Contains(r.examples, example) {
		r.examples = append(r.examples, example)
	}
}

// say writes a line for each reason, the most frequent first.
func (l leftOut) say(w io.Writer) {
	reasons := slices.SortedFunc(maps.Keys(l), func(a, b string) int {
		return cmp.Or(cmp.Compare(l[b].count, l[a].count), cmp.Compare(a, b))
	})
	for _, reason := range reasons {
		r := l[reason]
		more := ""
		if r.count > len(r.examples) {
			more = ", …"
		}
		fmt.Fprintf(w, "%d × %s: %s%s\n", r.count, reason, strings.Join(r.examples, ", "), more)
	}
}
