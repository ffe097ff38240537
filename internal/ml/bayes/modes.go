package bayes

import (
	"cmp"
	"math"
	"slices"
)

// Modes is the structure of a task whose peaks have a few typical values that do not depend on its inputs, such as a task
// that reads either a day or a month. A new row belongs to a mode with a probability in proportion to the number of rows of
// the mode, or with the probability w/(rows + w) to none of the modes. newWeight estimates w from the number of modes
// created so far (a Dirichlet process, Ferguson 1973, with a bounded number of components). The quantiles of a single
// Student's t would be between the modes.
type Modes struct {
	_           struct{} `cbor:",toarray"`
	Modes       []Mode
	LogEvidence float64 // logarithm of the evidence of the modes together
	Created     float64 // number of modes created, including those that joinNearest has joined
}

// Mode holds the sufficient statistics of the rows of a mode.
type Mode struct {
	_       struct{} `cbor:",toarray"`
	Rows    float64
	Mean    float64 // of the log peaks
	Squares float64 // sum of the squared deviations from Mean
}

const (
	maxModes      = 8    // with more modes than this, joinNearest joins the two nearest ones
	modeRadius    = 0.25 // largest distance of a log peak from the mean of its mode: a factor of 1.28
	modeDeviation = 0.1  // prior standard deviation of a mode, in log peak; it counts as Prior.Rows rows
	leastNew      = 0.5  // least weight of a new mode, in rows
)

// newWeight returns the weight of a new mode in rows: n rows of a Dirichlet process with this weight have
// about weight · log(1 + n) modes.
func (s *Modes) newWeight() float64 { return max(leastNew, s.Created/math.Log1p(s.rows())) }

// span is a range of components: from ≤ i < to.
type span struct{ from, to int }

func (s span) size() int { return s.to - s.from }

func (s *Modes) rows() (n float64) {
	for i := range s.Modes {
		n += s.Modes[i].Rows
	}
	return n
}

// predict adds the modes to mix, and the structure without inputs (Average.constant) as the distribution of a row of a
// new mode.
func (s *Modes) predict(a *Average, prior *Prior, mix *Mixture, logWeight float64) {
	newWeight := s.newWeight()
	all := math.Log(s.rows() + newWeight)
	mix.Modes.from = mix.N
	for i := range s.Modes {
		m := &s.Modes[i]
		freedom := prior.Rows + m.Rows - 1
		variance := (prior.Rows*modeDeviation*modeDeviation + m.Squares) / freedom
		mix.add(m.Mean, math.Sqrt(variance*(1+1/m.Rows)), freedom, logWeight+math.Log(m.Rows)-all)
	}
	a.constant(prior.Deviation, prior.Rows, mix, logWeight+math.Log(newWeight)-all)
	mix.Modes.to = mix.N
}

// logDensity returns the log density of the modes together at y. It requires that predict has filled `mix`.
func (s *Modes) logDensity(mix *Mixture, y float64) float64 {
	newWeight := s.newWeight()
	density, all, first := 0.0, s.rows()+newWeight, mix.Modes.from
	for i := range s.Modes {
		density += s.Modes[i].Rows / all * math.Exp(mix.logDensity(first+i, y))
	}
	density += newWeight / all * math.Exp(mix.logDensity(first+len(s.Modes), y))
	return math.Log(density)
}

func (s *Modes) learn(y float64) {
	near := -1
	for i := range s.Modes {
		if off := math.Abs(s.Modes[i].Mean - y); off <= modeRadius && (near < 0 || off < math.Abs(s.Modes[near].Mean-y)) {
			near = i
		}
	}
	if near >= 0 {
		m := &s.Modes[near]
		m.Rows++
		off := y - m.Mean
		m.Mean += off / m.Rows
		m.Squares += off * (y - m.Mean)
		return
	}
	at, _ := slices.BinarySearchFunc(s.Modes, y, func(m Mode, y float64) int { return cmp.Compare(m.Mean, y) })
	s.Modes = slices.Insert(s.Modes, at, Mode{Rows: 1, Mean: y})
	s.Created++
	if len(s.Modes) > maxModes {
		s.joinNearest()
	}
}

// joinNearest joins the two nearest modes. They are neighbours, because the modes are ordered by their means.
func (s *Modes) joinNearest() {
	at := 1
	for i := 1; i < len(s.Modes); i++ {
		if s.Modes[i].Mean-s.Modes[i-1].Mean < s.Modes[at].Mean-s.Modes[at-1].Mean {
			at = i
		}
	}
	low, high := &s.Modes[at-1], s.Modes[at]
	off, rows := high.Mean-low.Mean, low.Rows+high.Rows
	low.Squares += high.Squares + off*off*low.Rows*high.Rows/rows
	low.Mean += off * high.Rows / rows
	low.Rows = rows
	s.Modes = slices.Delete(s.Modes, at, at+1)
}
