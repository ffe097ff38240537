package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// CohortStep is one factor of the answer of a cohort (the tasks that size a task without history): the effect of a
// fact about the task, the margin or a bound.
type CohortStep struct {
	Kind  TermKind
	Name  string  // the fact or the rule, for people
	Value string  // value of a fact; "" for other steps
	Log   float64 // natural logarithm of the factor
}

// ExplainCohort splits an answer of a cohort. `base` and `expected` (the expected peak) are logarithms of bytes; an expected
// peak of zero is unknown. If the product of the base and the steps differs from the granted amount, the last term, a bound,
// is the ratio of the two.
func ExplainCohort(baseName string, base float64, steps []CohortStep, expected float64, granted sizing.Bytes) Explanation {
	c := startChain(baseName, base)
	c.expected = expected
	for _, s := range steps {
		c.add(s.Kind, s.Name, s.Value, s.Log)
	}
	switch bound := math.Log(float64(granted)) - c.logAmount; {
	case bound > 1e-9:
		c.add(TermFloor, "a lower bound of the answer, or the next bin", "", bound)
	case bound < -1e-9:
		c.add(TermCap, "an upper bound of the answer", "", bound)
	}
	return c.finish(granted)
}
