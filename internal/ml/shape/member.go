package shape

import (
	"fmt"
	"math"
)

// None is the index of "none of these".
const None = -1

// Membership is the posterior distribution of a group over the shapes of a Set.
type Membership struct {
	Posterior []float64 // probability of each shape
	None      float64   // probability of "none of these"
	Best      int       // the most probable shape, or None
	Runs      int       // number of runs of the group
}

// noneConcentration is the Dirichlet concentration of groups of no known shape around the pooled
// density. It is low, because such groups can have any density.
const noneConcentration = 10

// Member returns the membership of a group with the runs c by Bayes' rule: the empirical prior
// times the likelihood. Without runs it is the prior.
func (s *Set) Member(c *Counts) Membership {
	m := Membership{Posterior: make([]float64, len(s.Shapes)), Best: None, Runs: c.Total()}
	if len(s.Shapes) == 0 {
		m.None = 1
		return m
	}
	none := math.Log(s.None) + logLikelihood(c, &s.Pooled, noneConcentration)
	most := none
	for i := range s.Shapes {
		shape := &s.Shapes[i]
		m.Posterior[i] = math.Log(shape.Prior) + logLikelihood(c, &shape.Density, shape.Concentration)
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

// Probability returns the probability of the best shape, or of "none of these".
func (m *Membership) Probability() float64 {
	if m.Best == None {
		return m.None
	}
	return m.Posterior[m.Best]
}

// mixture returns the mean of the shapes, weighted by the membership. It ignores the histogram
// of the group itself.
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

// Prior returns the prior density of a group with the runs c: the mixture of the shapes by the
// membership of the group. It also returns the weight of the prior, in runs (pseudo-counts), and
// the membership.
func (s *Set) Prior(c *Counts) (*Density, float64, Membership) {
	m := s.Member(c)
	return m.mixture(s), s.weight(&m), m
}

// Name returns the name of a shape: its index and its 95 % quantile, such as "2: p95 1.4x". It is
// empty for None.
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

// Predictive returns the density of the next run of a group with the runs c: the posterior mean
// of the density of the group. For a group without runs it is the mixture of the shapes. With
// many runs it approaches the histogram of the group.
func (s *Set) Predictive(c *Counts) (*Density, Membership) {
	prior, weight, m := s.Prior(c)
	out, n := new(Density), float64(m.Runs)
	for h := range out {
		out[h] = (weight*prior[h] + float64(c[h])) / (weight + n)
	}
	return out, m
}

// weight returns the weight of the prior, in runs (pseudo-counts).
func (s *Set) weight(m *Membership) float64 {
	weight := m.None * noneConcentration
	for i := range s.Shapes {
		weight += m.Posterior[i] * min(maxPriorRuns, s.Shapes[i].Concentration)
	}
	return weight
}
