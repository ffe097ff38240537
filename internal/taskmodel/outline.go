package taskmodel

import (
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Outline is the part of a model that stays in memory when the decoded model is removed from it (eviction). It suffices
// for the cap and the ceiling of an answer, for a conservative answer, and for lists of tasks.
type Outline struct {
	runs                                             int          // number of learned measured runs
	largest, smallest, largestKilled, largestStarted sizing.Bytes // peaks, killed allocation, and allocation that a pod started with
	requested                                        sizing.Resources

	bins       sizing.Bins
	ambiguity  string
	quarantine []quarantinedReport // without features
}

// Outline returns the outline of m. The outline does not refer to m.
func (m *Model) Outline() *Outline {
	o := &Outline{
		runs: m.knownRuns(), largest: m.Largest, smallest: m.Smallest, largestKilled: m.Bound, largestStarted: m.Started,
		requested: m.Requested, bins: slices.Clone(m.Bins), ambiguity: m.Ambiguity, quarantine: slices.Clone(m.Quarantine),
	}
	for i := range o.quarantine {
		o.quarantine[i].Features = nil
	}
	return o
}

// outlineExperts are the experts of every model of an outline. They never learn.
var outlineExperts = experts.New(expertConfig)

// Model returns a model without predictors, which answers by sizeFromOutline. It must not learn.
func (o *Outline) Model() *Model {
	return &Model{
		Experts: outlineExperts, state: states.Add(1), outline: o,
		Largest: o.largest, Smallest: o.smallest, Bound: o.largestKilled, Started: o.largestStarted, Requested: o.requested,
		Bins: o.bins, Ambiguity: o.ambiguity, Quarantine: o.quarantine,
	}
}

const outlineMargin = 1.25 // factor on the largest peak: the answer ignores the features, and the run may need more than earlier runs

// sizeFromOutline answers while the decoded model is not in memory, or after it has panicked. A first try gets the request if
// the request is above all killed allocations of the task or if no peak is known. Otherwise it gets an amount above the
// largest peak and all killed allocations. A lift is the largest of the request, the largest peak with a margin, and twice
// q.Above. The floor and the cap of q apply to all these amounts, the minimum grant only to lifts. The answer states no risk.
func (m *Model) sizeFromOutline(q Question) Answer {
	s := Answer{Limit: q.Requested.Memory, Source: sizing.FromRequested, CPU: q.Requested.CPU, Reason: "the static request, unchanged"}
	why, killed := "the static request", max(q.Above, m.Bound)
	switch {
	case q.Above > 0:
		s.Limit, s.Source = max(s.Limit, m.outlinePeak(), sizing.DefaultLift(q.Above)), sizing.FromLift
		why = "at least twice the killed allocation"
	case s.Limit > killed || m.outline.runs == 0:
	default:
		s.Limit, s.Source = m.outlinePeak(), sizing.FromProfile
		if s.Limit <= killed {
			s.Limit = sizing.DefaultLift(killed)
		}
		why = "above the largest peak of " + countRuns(m.outline.runs)
	}
	if s.Limit == 0 {
		s.Reason = "no peak of this task is known yet: " + noRequest
	} else {
		if q.Above == 0 {
			q.MinGrant = 0
		}
		amount := s.Limit
		s.Limit = clamp(q, amount)
		s.Ladder = []sizing.Bytes{s.Limit}
		switch {
		case s.Limit != amount:
			s.Reason = describeBound(q, amount, s.Limit, q.Above) + amount.Approx() + " is " + why
		case s.Source != sizing.FromRequested:
			s.Reason = amount.Approx() + ": " + why
		}
	}
	return s
}

func (m *Model) outlinePeak() sizing.Bytes {
	return sizing.Bytes(outlineMargin * float64(m.Largest)).RoundUp(sizing.MiB)
}
