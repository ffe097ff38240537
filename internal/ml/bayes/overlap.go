package bayes

import "slices"

// Overlap counts, for each of the newest runs, the runs that were learned before it and had not ended when it started. The
// prediction at the start of a run does not know the peaks of these runs, so a trend must be extrapolated over them.
type Overlap struct {
	_    struct{} `cbor:",toarray"`
	Ends []int64  // ends of the newest maxOverlap runs, in Unix seconds
	Runs []int    // by run, for the newest overlapRuns runs: number of runs in Ends that ended after the run had started
}

const (
	maxOverlap  = 16
	overlapRuns = 10 // about the number of runs that count for a trend, see trendDiscount
)

// learn adds the newest run. start and end are in Unix seconds; start 0: unknown.
func (o *Overlap) learn(start, end int64) {
	n := 0
	for _, e := range o.Ends {
		if start != 0 && e > start {
			n++
		}
	}
	o.Ends = append(slices.Clone(o.Ends[max(0, len(o.Ends)+1-maxOverlap):]), end)
	o.Runs = append(slices.Clone(o.Runs[max(0, len(o.Runs)+1-overlapRuns):]), n)
}

// largest returns the largest number in Runs. Runs that start together have different overlaps, and a grant for the one with the
// largest overlap is large enough for the others.
func (o *Overlap) largest() int {
	if len(o.Runs) == 0 {
		return 0
	}
	return slices.Max(o.Runs)
}
