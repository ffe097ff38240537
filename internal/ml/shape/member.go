package shape

import (
	"fmt"
	"math"
)

// None stands for "none of these shapes" where a function or a field has the index of a shape.
const None = -1

// Membership is the posterior distribution of a group over the shapes of a Set.
type Membership struct {
	Posterior []float64 // probability of each shape
	None      float64   // probability of "none of these shapes"
	Best      int       // the most probable shape, or None
	Runs      int       // number of runs of the group
}

// noneConcentration is the Dirichlet concentration of groups without a known shape around the pooled
// density. It is low, because these groups can have any density.
const noneConcentration = 10

// Given holds the prior probability of each shape of a Set for one group, provided that the group has
// one of these shapes. The zero Given stands for the priors that Learn derived from its groups.
type Given [MaxShapes]float64

// prior returns the unconditional prior probability of a shape. The probabilities of all shapes and s.None sum to 1.
func (s *Set) prior(given *Given, shape int) float64 {
	if *given == (Given{}) {
		return s.Shapes[shape].Prior
	}
	return (1 - s.None) * given[shape]
}

// Evidence holds the log likelihood of the runs of a group under each shape of a Set and under "none
// of these". The zero Evidence is that of a group without runs.
type Evidence struct {
	shapes [MaxShapes]float64
	none   float64
	runs   int
}

// Evidence returns the evidence of the runs c.
func (s *Set) Evidence(c *Counts) Evidence {
	e := Evidence{none: logLikelihood(c, &s.Pooled, noneConcentration), runs: c.Total()}
	for i := range s.Shapes {
		e.shapes[i] = logLikelihood(c, &s.Shapes[i].Density, s.Shapes[i].Concentration)
	}
	return e
}

// Tempered returns the evidence with each likelihood raised to the power t. A power below 1 is for runs
// that the shapes describe less well than the runs from which they were learned (Grünwald 2012).
func (e Evidence) Tempered(t float64) Evidence {
	for i := range e.shapes {
		e.shapes[i] *= t
	}
	e.none *= t
	return e
}

// Member returns the membership of a group with the runs c, with the priors that Learn derived.
func (s *Set) Member(c *Counts) Membership {
	e := s.Evidence(c)
	return s.Posterior(&Given{}, &e)
}

// Posterior returns the membership of a group by Bayes' rule: the prior times the likelihood. For a group
// without runs it is the prior.
func (s *Set) Posterior(given *Given, e *Evidence) Membership {
	m := Membership{Posterior: make([]float64, len(s.Shapes)), Best: None, Runs: e.runs}
	if len(s.Shapes) == 0 {
		m.None = 1
		return m
	}
	none := math.Log(s.None) + e.none
	most := none
	for i := range s.Shapes {
		m.Posterior[i] = math.Log(s.prior(given, i)) + e.shapes[i]
		if m.Posterior[i] > most {
			m.Best, most = i, m.Posterior[i]
		}
	}
	m.None = math.Exp(none - most)
	total := m.None
	for i, log := range m.Posterior {
		m.Posterior[i] = math.Exp(log - most)
		total += m.Posterior[i]
	}
	m.None /= total
	for i := range m.Posterior {
		m.Posterior[i] /= total
	}
	return m
}

// Probability returns the probability of Best: of the most probable shape, or of "none of these".
func (m *Membership) Probability() float64 {
	if m.Best == None {
		return m.None
	}
	return m.Posterior[m.Best]
}

// mixture returns the mean of the shapes and of the pooled density, weighted by the membership. It
// ignores the histogram of the group itself.
func (m Membership) mixture(s *Set) *Density {
	out := new(Density)
	for h := range out {
		out[h] = m.None * s.Pooled[h]
		for i := range s.Shapes {
			out[h] += m.Posterior[i] * s.Shapes[i].Density[h]
		}
	}
	return out
}

// maxPriorRuns bounds the weight of the prior, in runs (pseudo-counts), because groups of one shape
// still differ in detail.
const maxPriorRuns = 30

// Prior returns the prior density of the runs of a group with the membership m: the mixture of the
// shapes and the pooled density. It also returns the weight of the prior, in runs (pseudo-counts).
func (s *Set) Prior(m Membership) (*Density, float64) {
	return m.mixture(s), s.weight(&m)
}

// Name returns the name of a shape: its number, from 1 on, and its 95 % quantile, such as
// "2: p95 1.4x", or "2: p95 +30 s" with the norm Delta. It is empty for None.
func (s *Set) Name(shape int) string {
	if shape == None {
		return ""
	}
	q := s.Shapes[shape].Density.Quantile(s.Norm, .95)
	if s.Norm == Delta {
		return fmt.Sprintf("%d: p95 %+.0f s", shape+1, q)
	}
	return fmt.Sprintf("%d: p95 %.1fx", shape+1, q)
}

// Predictive returns the density of the next run of a group with the runs c and the membership m: the
// posterior mean of the density of the group. For a group without runs it is the density of Prior.
// With many runs it approaches the histogram of the group.
func (s *Set) Predictive(c *Counts, m Membership) *Density {
	prior, weight := s.Prior(m)
	out, n := new(Density), float64(m.Runs)
	for h := range out {
		out[h] = (weight*prior[h] + float64(c[h])) / (weight + n)
	}
	return out
}

func (s *Set) weight(m *Membership) float64 {
	weight := m.None * noneConcentration
	for i := range s.Shapes {
		weight += m.Posterior[i] * min(maxPriorRuns, s.Shapes[i].Concentration)
	}
	return weight
}
