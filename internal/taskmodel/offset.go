package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Many programs need a fixed amount of memory, the offset, and a second amount that is proportional to a product of
// powers of the inputs. The logarithm of the second amount is linear in the logarithms of the inputs, but the logarithm of the
// peak is not. Therefore the line predicts log(peak − offset) if this makes its errors smaller. In the same way, a run time
// has an offset, the start-up time; see fitRunTimeOffset.

// The offsets that a fit tries are shares of a low quantile of the amounts. It tries startShares first, and otherShares only
// for peaks. For run times, Gauss–Newton steps follow.
var (
	startShares = [...]float64{0.5, 0.9}
	otherShares = [...]float64{0.25, 0.7, 0.8, 0.95, 0.98}
)

const (
	minOffsetRows   = 32   // fewest rows for an offset; with fewer the task is in its cold start
	maxOffsetRows   = 5000 // newest rows on which a line with an offset is fitted; with more, a fit takes longer
	maxComparedRows = 1000 // newest rows on which the offsets are compared; with fewer, the offset follows a change sooner
	offsetQuantile  = 0.01 // level of the low quantile of the amounts of the compared rows
	minAboveOffset  = 0.02 // lower bound of the part of an amount above the offset, as a share of the amount; without it the logarithm may not exist
	minOffsetWeight = 0.1  // lower bound of the factor whose square weights a row, see offsetRows.fit
	offsetClip      = 1.0  // largest error in log units in the comparison; larger errors are clipped
	maxLogAbove     = 100  // far above all logarithms of amounts; avoids infinite intermediate values
)

func (m *models) lineRidge() *linear.Ridge {
	if m.Above != nil {
		return m.Above
	}
	return m.ridges[logPeak]
}

// levelOf returns the log peak for a prediction of lineRidge. It clips the log peak at ridgeSlack outside the range from Low
// to High, because a ridge regression may predict any value for an unusual input.
func (m *models) levelOf(predicted float64) float64 {
	return max(m.Low-ridgeSlack, min(m.High+ridgeSlack, withOffset(predicted, m.Offset)))
}

// slopeAt returns the derivative of levelOf with respect to the prediction of lineRidge, at a log peak within the bounds of
// levelOf.
func (m *models) slopeAt(level float64) float64 { return 1 - m.Offset/math.Exp(level) }

// withOffset returns the logarithm of an amount; `above` is the logarithm of its part above the offset.
func withOffset(above, offset float64) float64 {
	if offset == 0 {
		return above
	}
	return math.Log(offset + math.Exp(min(above, maxLogAbove)))
}

// hasQuantities reports whether a number or a date is encoded: without one, there is no quantity with which an amount could
// grow.
func (e *encoder) hasQuantities() bool {
	return slices.ContainsFunc(e.Columns, func(c column) bool {
		return c.Kind == sizing.Number || c.Kind == sizing.Date || c.textNumberCount() > 0
	})
}

// offsetRows are the newest rows of a fit, encoded for the line.
type offsetRows struct {
	columns int
	inputs  []float64 // row by row
	levels  []float64 // logarithms of the amounts: of the peaks, or of one second plus the run time
	weights []float64
}

func newOffsetRows(n, columns int) offsetRows {
	return offsetRows{columns: columns, inputs: make([]float64, 0, n*columns), levels: make([]float64, 0, n), weights: make([]float64, 0, n)}
}

func (r *offsetRows) add(x []float64, level, weight float64) {
	r.inputs, r.levels, r.weights = append(r.inputs, x...), append(r.levels, level), append(r.weights, weight)
}

func (r *offsetRows) newest(n int) *offsetRows {
	first := max(0, len(r.levels)-n)
	return &offsetRows{columns: r.columns, inputs: r.inputs[first*r.columns:], levels: r.levels[first:], weights: r.weights[first:]}
}

func (r *offsetRows) row(i int) []float64 { return r.inputs[i*r.columns : (i+1)*r.columns] }

// table returns a table of the inputs. The caller must fill in the targets and the weights.
func (r *offsetRows) table() *table.Table {
	return &table.Table{Names: make([]string, r.columns), X: r.inputs, Y: make([]float64, len(r.levels)), W: make([]float64, len(r.levels))}
}

// fit fits a line with an offset. An error of the level is about (1 − offset/amount) times the error of the target, so the
// square of this factor is the weight of a row: near the offset, the noise of the amount would otherwise dominate.
func (r *offsetRows) fit(offset float64) (*linear.Ridge, error) {
	t := r.table()
	for i, level := range r.levels {
		amount := math.Exp(level)
		t.Y[i] = math.Log(max(amount-offset, minAboveOffset*amount))
		factor := max(minOffsetWeight, 1-offset/amount)
		t.W[i] = r.weights[i] * factor * factor
	}
	return linear.Fit(t, linear.Config{})
}

// criterion returns the Bayesian information criterion of a line, without the penalty for the parameters
// that every line has, with or without an offset.
func (r *offsetRows) criterion(ridge *linear.Ridge, offset float64) float64 {
	squares, weight := 0.0, 0.0
	for i, level := range r.levels {
		e := clipError(level - withOffset(ridge.Predict(r.row(i)), offset))
		squares, weight = squares+r.weights[i]*e*e, weight+r.weights[i]
	}
	c := weight * math.Log(squares/weight+spreadFloor*spreadFloor)
	if offset > 0 {
		c += math.Log(weight)
	}
	return c
}

func clipError(err float64) float64 { return max(-offsetClip, min(offsetClip, err)) }

// fitOffset sets Offset and Above if an offset makes the errors smaller. It tries otherShares only if one of startShares
// does, because the errors change slowly with the share.
func (m *models) fitOffset(rows *offsetRows) error {
	if !m.Enc.hasQuantities() {
		return nil
	}
	best, err := rows.newest(maxComparedRows).best(startShares[:])
	if err != nil || best.offset == 0 {
		return err
	}
	if err := best.try(otherShares[:]); err != nil {
		return err
	}
	m.Offset = best.offset
	m.Above, err = rows.fit(best.offset)
	return err
}

// offsetChoice is the offset with the lowest criterion of those that were tried.
type offsetChoice struct {
	rows   *offsetRows
	low    float64       // low quantile of the amounts, to which the shares refer
	offset float64       // zero: no offset
	above  *linear.Ridge // line with the offset; nil without an offset
	least  float64       // criterion of the line with this offset
}

func (r *offsetRows) best(shares []float64) (offsetChoice, error) {
	if len(r.levels) < minOffsetRows {
		return offsetChoice{}, nil
	}
	plain, err := r.fit(0)
	if err != nil {
		return offsetChoice{}, err
	}
	levels := slices.Sorted(slices.Values(r.levels))
	c := offsetChoice{rows: r, low: math.Exp(levels[int(offsetQuantile*float64(len(levels)))]), least: r.criterion(plain, 0)}
	err = c.try(shares)
	return c, err
}

func (c *offsetChoice) try(shares []float64) error {
	for _, share := range shares {
		offset := share * c.low
		ridge, err := c.rows.fit(offset)
		if err != nil {
			return err
		}
		if criterion := c.rows.criterion(ridge, offset); criterion < c.least {
			c.offset, c.above, c.least = offset, ridge, criterion
		}
	}
	return nil
}
