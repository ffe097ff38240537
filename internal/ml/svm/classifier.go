package svm

import "sync"

// Classifier predicts P(bin | x). It is immutable, safe for concurrent use and satisfies
// classify.Classifier.
type Classifier struct {
	*model
	scratch *sync.Pool // of *scratch
}

// model holds the data for prediction. The m classes are the bins that had rows. Their
// m·(m−1)/2 pairs have the order (0,1), (0,2), (1,2), (0,3) … A support vector has one
// coefficient for each pair that contains its class.
type model struct {
	scale        scale
	bins         int
	gamma        float64
	uniformShare float64    // the part of the probability that is divided equally among all bins
	classes      []member   // ascending by bin
	boundaries   []boundary // by pair
	vectors      points     // support vectors, class by class
	beta         []float64  // coefficients: for each support vector one per pair that contains its class
}

// member is a class: its bin and its number of support vectors.
type member struct{ bin, vectors uint32 }

// boundary holds the bias of the decision value of a pair, and the sigmoid that maps this value
// to P(first class | either class).
type boundary struct {
	bias    float64
	sigmoid sigmoid
}

func newClassifier(m *model) *Classifier {
	return &Classifier{model: m, scratch: &sync.Pool{New: func() any { return newScratch(m) }}}
}

type scratch struct{ z, kernelValues, decisions, pairwise, p []float64 }

func newScratch(m *model) *scratch {
	z, n, pairs, k := len(m.scale.used), len(m.vectors.squares), len(m.boundaries), len(m.classes)
	buffer := make([]float64, z+n+pairs+k*k+k)
	cut := func(n int) []float64 {
		part := buffer[:n:n]
		buffer = buffer[n:]
		return part
	}
	return &scratch{z: cut(z), kernelValues: cut(n), decisions: cut(pairs), pairwise: cut(k * k), p: cut(k)}
}

// pairOf returns the index of the pair of classes a < b.
func pairOf(a, b int) int { return b*(b-1)/2 + a }

// addPairs copies the support vectors and the boundaries. The rows of a pair (c, d), c < d, are
// the rows of class c and then the rows of class d.
func (m *model) addPairs(classes []class, pairs []pair) {
	for _, p := range pairs {
		m.boundaries = append(m.boundaries, boundary{p.bias, p.sigmoid})
	}
	m.vectors.p = len(m.scale.used)
	for c := range classes {
		m.classes = append(m.classes, member{bin: uint32(classes[c].bin)})
		for i := range classes[c].weight {
			supports, beta := false, make([]float64, 0, len(classes)-1)
			for d := range classes {
				var v float64
				switch {
				case c < d:
					v = pairs[pairOf(c, d)].beta[i]
				case c > d:
					v = pairs[pairOf(d, c)].beta[len(classes[d].weight)+i]
				default:
					continue
				}
				beta, supports = append(beta, v), supports || v != 0
			}
			if supports {
				m.classes[c].vectors++
				m.vectors.add(classes[c].points.row(i))
				m.beta = append(m.beta, beta...)
			}
		}
	}
}

// Bins returns the number of bins.
func (c *Classifier) Bins() int { return c.bins }

// Cols returns the number of columns of the training table.
func (c *Classifier) Cols() int { return c.scale.cols }

// Vectors returns the number of support vectors. Prediction time and size grow with it.
func (c *Classifier) Vectors() int { return len(c.vectors.squares) }

// Probabilities writes P(bin | x) into p: len(p) = Bins(), every value in (0, 1], sum 1.
// len(x) = Cols(); NaN is a missing value. It does not allocate.
func (c *Classifier) Probabilities(x, p []float64) {
	s := c.scratch.Get().(*scratch)
	defer c.scratch.Put(s)
	c.decide(x, s)
	k := len(c.classes)
	for b := range k {
		for a := range b {
			at := pairOf(a, b)
			r := max(minPairwise, min(c.boundaries[at].sigmoid.at(s.decisions[at]), 1-minPairwise))
			s.pairwise[a*k+b], s.pairwise[b*k+a] = r, 1-r
		}
	}
	couple(s.pairwise, s.p)
	for bin := range p {
		p[bin] = c.uniformShare / float64(c.bins)
	}
	for i, m := range c.classes {
		p[m.bin] += (1 - c.uniformShare) * s.p[i]
	}
}

// minPairwise bounds pairwise probabilities away from 0 and 1, as in libsvm.
const minPairwise = 1e-7

// decide writes the decision value of every pair into s. A positive value stands for the first class of the pair.
func (m *model) decide(x []float64, s *scratch) {
	m.scale.apply(x, s.z)
	m.vectors.kernelRow(s.z, m.gamma, s.kernelValues)
	for i, b := range m.boundaries {
		s.decisions[i] = b.bias
	}
	values, beta := s.kernelValues, m.beta
	for c, member := range m.classes {
		for _, k := range values[:member.vectors] {
			at := 0
			for d := range m.classes {
				if d == c {
					continue
				}
				s.decisions[pairOf(min(c, d), max(c, d))] += k * beta[at]
				at++
			}
			beta = beta[at:]
		}
		values = values[member.vectors:]
	}
}
