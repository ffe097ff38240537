package bayes

import "slices"

// Overlap counts the runs that started before earlier runs ended. The prediction for such a run did not know the peaks of these
// earlier runs, so a trend must be extrapolated over them.
type Overlap struct {
	_    struct{} `cbor:",toarray"`
	Ends []int64  // ends of the newest maxOverlap runs, in Unix seconds
	Runs []int    // by run, for the newest overlapRuns runs: number of runs in Ends that ended after the run had started
}

const (
	maxOverlap  = 16
	overlapRuns = 10 // as many runs as count for a trend
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

// largest returns the largest overlap of the newest runs. Runs that start together have different overlaps, and a grant for the
// last of them is safe for the others.
func (o *Overlap) largest() int {
	if len(o.Runs) == 0 {
		return 0
	}
	return slices.Max(o.Runs)
}
