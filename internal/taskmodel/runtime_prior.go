package taskmodel

import (
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/loadaware/loadaware/internal/ml/shape"
)

// ratioCache holds what answers need about the ratios of run times to predictions. updateRunTimes
// computes it from Overrun, DurationLevels and the shapes; a snapshot does not contain it.
type ratioCache struct {
	ratioAnswer // for the zero shape.Given: the prior probabilities are the shares of the shapes among the tasks

	own      []float64                               // the log ratios that count in the distribution of the next ratio, ascending; see countedRatios
	known    [givenSlots]atomic.Pointer[ratioAnswer] // for other prior probabilities; nil: none
	shapes   *shape.Set                              // nil: none
	evidence shape.Evidence                          // of the ratios about the shapes
	counted  int                                     // Window.Position of the ratios when evidence was computed; −1: it must be computed again
}

// givenSlots is the number of ratioAnswers that a model stores for given prior probabilities. Few are
// enough, because the trees that predict these probabilities give few different predictions. It is 4 because slotOf returns
// two bits.
const givenSlots = 4

// slotOf returns the slot of prior probabilities in ratioCache.known, by Fibonacci hashing.
func slotOf(given *shape.Given) uint64 {
	h := uint64(0)
	for _, p := range given {
		h = (h ^ math.Float64bits(p)) * 0x9E3779B97F4A7C15
	}
	return h >> 62
}

// ratioAnswer is the distribution of the next ratio, given prior probabilities of the shapes.
type ratioAnswer struct {
	given  shape.Given
	prior  *[shape.Bins + 1]float64 // cumulative distribution at the edges of the bins; nil: the default prior
	weight float64                  // weight of the prior, in runs
	member string                   // name of the most probable shape; "" if there are no shapes, or if most probably the task has none of them

	median, p95, p99 float64 // quantiles of the log ratio
}

// The prior of a task without shapes: lognormal ratios.
const (
	defaultSpread = 0.5 // standard deviation of the log ratio
	defaultWeight = 4   // runs; with a larger weight, more runs are needed until the task's own ratios decide
)

// SetShapes sets the shapes that the tasks of a namespace share; nil means none.
func (m *Model) SetShapes(s *shape.Set) {
	if m.ratios.shapes == s {
		return
	}
	m.state = states.Add(1)
	m.ratios.shapes, m.ratios.counted = s, -1
	m.updateRunTimes()
}

// UsesGivenShape reports whether prior probabilities of the shapes change the answers. They do not after
// more than shape.MinRuns runs, because then the runs of the task show its shape.
func (m *Model) UsesGivenShape() bool { return len(m.Overrun.Ring) <= shape.MinRuns }

// Membership returns the membership of the task in the shapes s, given their prior probabilities. It
// considers the runs of the task only if the model uses s (see Shapes).
func (m *Model) Membership(s *Shapes, given *shape.Given) shape.Membership {
	var e shape.Evidence
	if m.ratios.shapes == s {
		e = m.ratios.evidence
	}
	return m.posterior(s, given, &e)
}

// posterior returns the membership of the task, given prior probabilities and the evidence of its runs.
// The first runs were predicted before the models knew the effects of the inputs, so their ratios vary more
// than those of later runs, which show the shape. So if prior probabilities are given, the weight of the evidence
// grows slowly, to one half at shape.MinRuns runs.
func (m *Model) posterior(s *Shapes, given *shape.Given, e *shape.Evidence) shape.Membership {
	if *given == (shape.Given{}) || !m.UsesGivenShape() {
		return s.Posterior(&shape.Given{}, e)
	}
	n := float64(len(m.Overrun.Ring))
	tempered := e.Tempered(n / (n + shape.MinRuns))
	return s.Posterior(given, &tempered)
}

// membershipEvery is the number of runs between two computations of the prior in updateRunTimes. While a task has fewer runs
// than this, updateRunTimes computes the prior after every run.
const membershipEvery = 32

// updateRunTimes computes m.ratios after a change of the ratios, their corrections or the shapes.
func (m *Model) updateRunTimes() {
	c, n := &m.ratios, m.Overrun.Position()
	c.own = m.countedRatios(c.own)
	for i := range c.known {
		c.known[i].Store(nil)
	}
	if due := n < membershipEvery || n < c.counted || c.counted < 0 || n >= c.counted+membershipEvery; due && c.shapes != nil {
		c.evidence, c.counted = c.shapes.Evidence(shape.Count(c.shapes.Norm, m.Ratios())), n
		c.setPrior(c.shapes, m.posterior(c.shapes, &c.given, &c.evidence))
	} else if c.shapes == nil {
		c.prior, c.weight, c.member, c.evidence = nil, defaultWeight, "", shape.Evidence{}
	}
	m.setQuantiles(&c.ratioAnswer)
}

// countedShare is the share of the ratios, the newest ones, that count in the quantiles of the next run time. The first
// predictions do not know the effects of the features yet, and a few of their errors would set the 99 % quantile of hundreds of
// later predictions. With 0.5 the tail of a few runs would be less well known.
const countedShare = 0.75

// countedRatios returns the newest log ratios that count (countedShare), ascending, in the memory of dst. The shapes consider
// all ratios, because they need as many as possible.
func (m *Model) countedRatios(dst []float64) []float64 {
	counted := m.Overrun.Newest(dst[:0], int(math.Ceil(countedShare*float64(len(m.Overrun.Ring)))))
	slices.Sort(counted)
	return counted
}

// ratiosGiven returns the distribution of the next ratio, given prior probabilities of the shapes. It is
// safe for concurrent use.
func (m *Model) ratiosGiven(given *shape.Given) *ratioAnswer {
	c := &m.ratios
	if *given == (shape.Given{}) || c.shapes == nil || !m.UsesGivenShape() {
		return &c.ratioAnswer
	}
	slot := &c.known[slotOf(given)]
	if known := slot.Load(); known != nil && known.given == *given {
		return known
	}
	a := &ratioAnswer{given: *given}
	a.setPrior(c.shapes, m.posterior(c.shapes, given, &c.evidence))
	m.setQuantiles(a)
	slot.Store(a)
	return a
}

func (a *ratioAnswer) setPrior(s *shape.Set, member shape.Membership) {
	if a.prior == nil {
		a.prior = new([shape.Bins + 1]float64)
	}
	prior, weight := s.Prior(member)
	sum := 0.0
	for bin, p := range prior {
		sum += p
		a.prior[bin+1] = sum
	}
	a.weight, a.member = weight, s.Name(member.Best)
}

func (m *Model) setQuantiles(a *ratioAnswer) {
	d := m.ratioDistribution(a)
	a.median = d.quantile(.5)
	a.p95 = max(a.median, d.quantile(1-d.tail[1]))
	a.p99 = max(a.p95, d.quantile(1-d.tail[2]))
}

// bytes returns the memory of the cache, without the shapes, which the tasks of a namespace share.
func (c *ratioCache) bytes() int64 {
	size := c.ratioAnswer.bytes() + int64(8*cap(c.own))
	for i := range c.known {
		if a := c.known[i].Load(); a != nil {
			size += int64(unsafe.Sizeof(*a)) + a.bytes()
		}
	}
	return size
}

func (a *ratioAnswer) bytes() int64 {
	if a.prior == nil {
		return 0
	}
	return int64(unsafe.Sizeof(*a.prior))
}
