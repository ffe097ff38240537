package tune

import (
	"errors"
	"fmt"
	"math"
)

// ErrSpace reports a space or a number of trials that cannot be searched.
var ErrSpace = errors.New("tune: space cannot be searched")

// Dimension is one parameter and where to look for it.
type Dimension struct {
	Name      string
	Low, High float64 // finite; both ends are in; equal: the parameter is fixed
	Log       bool    // search the logarithm, as for rates and penalties; Low > 0
	Whole     bool    // whole numbers only; Low and High are whole
}

// Space is d ≥ 1 dimensions. It is searched as a unit cube, in which every
// dimension is as wide as the others.
type Space []Dimension

// check names the first dimension that cannot be searched.
func (s Space) check() error {
	if len(s) == 0 {
		return fmt.Errorf("%w: no dimensions", ErrSpace)
	}
	for _, d := range s {
		switch {
		case !(d.Low <= d.High) || math.IsInf(d.High-d.Low, 0) || d.Low-d.Low != 0:
			return fmt.Errorf("%w: %s from %v to %v: give finite bounds, the lower first", ErrSpace, d.Name, d.Low, d.High)
		case d.Log && d.Low <= 0:
			return fmt.Errorf("%w: %s has no logarithm from %v to %v: start above 0", ErrSpace, d.Name, d.Low, d.High)
		case d.Whole && (d.Low != math.Trunc(d.Low) || d.High != math.Trunc(d.High)):
			return fmt.Errorf("%w: %s from %v to %v: give whole bounds", ErrSpace, d.Name, d.Low, d.High)
		}
	}
	return nil
}

// params are the parameters at a point of the unit cube.
func (s Space) params(u []float64) []float64 {
	params := make([]float64, len(s))
	for i, d := range s {
		low, high := d.ends()
		v := low + u[i]*(high-low)
		if d.Log {
			v = math.Exp(v)
		}
		if d.Whole {
			v = math.Round(v)
		}
		params[i] = max(d.Low, min(v, d.High))
	}
	return params
}

// unit is the point of the unit cube where the parameters are; ½ where a dimension
// is fixed. A whole number is at the middle of the points that give it, so that
// whoever learns from unit(params(u)) learns where the loss was really asked.
func (s Space) unit(params []float64) []float64 {
	u := make([]float64, len(s))
	for i, d := range s {
		v := params[i]
		if d.Log {
			v = math.Log(v)
		}
		u[i] = 0.5
		if low, high := d.ends(); low < high {
			u[i] = (v - low) / (high - low)
		}
	}
	return u
}

// ends are what the sides 0 and 1 of the cube stand for. A whole dimension is
// widened by a half, so that its ends are drawn as often as numbers between them.
func (d Dimension) ends() (low, high float64) {
	low, high = d.Low, d.High
	if d.Whole {
		low, high = low-0.5, high+0.5
	}
	if d.Log {
		low, high = math.Log(low), math.Log(high)
	}
	return low, high
}
