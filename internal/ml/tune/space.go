package tune

import (
	"errors"
	"fmt"
	"math"
)

// ErrSpace reports an invalid space or number of trials.
var ErrSpace = errors.New("tune: invalid search space")

// Dimension is one parameter and its range.
type Dimension struct {
	Name      string
	Low, High float64 // finite, inclusive; the parameter is fixed if they are equal
	Log       bool    // search on a logarithmic scale, as for rates and penalties; Low > 0
	Integer   bool    // integers only; Low and High are integers
}

// Space is d ≥ 1 dimensions. The search maps it to the unit cube.
type Space []Dimension

func (s Space) check() error {
	if len(s) == 0 {
		return fmt.Errorf("%w: no dimensions", ErrSpace)
	}
	for _, d := range s {
		switch {
		case !(d.Low <= d.High) || math.IsInf(d.High-d.Low, 0) || d.Low-d.Low != 0:
			return fmt.Errorf("%w: %s from %v to %v: the bounds and their difference must be finite, and the lower bound must not exceed the upper one", ErrSpace, d.Name, d.Low, d.High)
		case d.Log && d.Low <= 0:
			return fmt.Errorf("%w: %s from %v to %v: the lower bound of a logarithmic scale must be positive", ErrSpace, d.Name, d.Low, d.High)
		case d.Integer && (d.Low != math.Trunc(d.Low) || d.High != math.Trunc(d.High)):
			return fmt.Errorf("%w: %s from %v to %v: bounds must be integers", ErrSpace, d.Name, d.Low, d.High)
		}
	}
	return nil
}

func (s Space) params(u []float64) []float64 {
	params := make([]float64, len(s))
	for i, d := range s {
		low, high := d.bounds()
		v := low + u[i]*(high-low)
		if d.Log {
			v = math.Exp(v)
		}
		if d.Integer {
			v = math.Round(v)
		}
		params[i] = max(d.Low, min(v, d.High))
	}
	return params
}

// unit returns the point of the unit cube for parameters. If a dimension is fixed and its field Integer is false,
// its coordinate is ½. An integer maps to its own position, not to the point that the method params rounded to
// this integer, because the Gaussian process needs the point that was actually evaluated.
func (s Space) unit(params []float64) []float64 {
	u := make([]float64, len(s))
	for i, d := range s {
		v := params[i]
		if d.Log {
			v = math.Log(v)
		}
		u[i] = 0.5
		if low, high := d.bounds(); low < high {
			u[i] = (v - low) / (high - low)
		}
	}
	return u
}

// bounds returns the values at the sides 0 and 1 of the cube. An integer dimension is widened
// by one half on either side, so that on a linear scale its bounds are as likely as the other numbers.
func (d Dimension) bounds() (low, high float64) {
	low, high = d.Low, d.High
	if d.Integer {
		low, high = low-0.5, high+0.5
	}
	if d.Log {
		low, high = math.Log(low), math.Log(high)
	}
	return low, high
}
