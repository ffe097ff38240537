package bayes

import "math"

// Category is the structure of a task whose peak depends on one categorical input. The mean log peaks of its values are
// drawn from a normal distribution, and the peaks of a value scatter around its mean (one-way random effects, Searle,
// Casella & McCulloch 1992).
type Category struct {
	_           struct{} `cbor:",toarray"` // compact, because a task has up to MaxCategories
	Values      []Value  // in order of arrival, at most maxValues
	Rows        float64  // number of rows with one of Values
	Squares     float64  // sum of their squared deviations from the means of their values
	LogEvidence float64  // logarithm of the evidence of the structure
}

// Value holds the rows of one value of a categorical input.
type Value struct {
	_    struct{} `cbor:",toarray"`
	Hash uint64   // as in Row.Categories
	Rows float64  // number of rows
	Mean float64  // of the log peaks
}

// MaxCategories is the largest number of categorical inputs with a structure. maxValues is the largest number of values
// of one input; all further values count as new.
const (
	MaxCategories = 4
	maxValues     = 32
)

// find returns the statistics of a value; nil if it is new.
func (c *Category) find(hash uint64) *Value {
	for i := range c.Values {
		if c.Values[i].Hash == hash {
			return &c.Values[i]
		}
	}
	return nil
}

// mean returns the mean of the means of the values.
func (c *Category) mean() (mean float64) {
	for i := range c.Values {
		mean += c.Values[i].Mean / float64(len(c.Values))
	}
	return mean
}

// predict adds the structure to mix. The mean of a known value is shrunk to the mean of all values, and a new value has a
// mean like that of a random one. The prior deviation counts as Prior.Rows rows within the values, and as one value
// between them.
func (c *Category) predict(hash uint64, prior *Prior, mix *Mixture, logWeight float64) {
	k, mean := float64(len(c.Values)), c.mean()
	between := prior.Deviation * prior.Deviation
	for i := range c.Values {
		off := c.Values[i].Mean - mean
		between += off * off
	}
	between /= k
	freedom := prior.Rows + c.Rows - k
	within := (prior.Rows*prior.Deviation*prior.Deviation + c.Squares) / freedom
	v := c.find(hash)
	if v == nil {
		mix.add(mean, math.Sqrt(within+between*(1+1/k)), prior.Rows+k-1, logWeight)
		return
	}
	shrink := within / between // weight of the mean of all values, in rows
	level := (shrink*mean + v.Rows*v.Mean) / (shrink + v.Rows)
	mix.add(level, math.Sqrt(within*(1+1/(shrink+v.Rows))), freedom, logWeight)
}

// learn adds a row (Welford 1962).
func (c *Category) learn(hash uint64, y float64) {
	v := c.find(hash)
	if v == nil {
		if len(c.Values) == maxValues {
			return
		}
		c.Values = append(c.Values, Value{Hash: hash})
		v = &c.Values[len(c.Values)-1]
	}
	c.Rows++
	v.Rows++
	off := y - v.Mean
	v.Mean += off / v.Rows
	c.Squares += off * (y - v.Mean)
}
