package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/linear"
)

// Run times vary more than peaks. So the start-up time may be longer than the shortest runs, and the logarithms of the parts
// above it are too noisy for a precise line. Therefore Gauss–Newton steps refine the offset and the line of the run time.

const offsetSteps = 4 // largest number of Gauss–Newton steps; more change the errors little

// lineRunTime returns log1p of the run time in seconds that the line predicts for the encoded inputs x.
func (m *models) lineRunTime(x []float64) float64 {
	if m.RunTimeAbove != nil {
		return withOffset(m.RunTimeAbove.Predict(x), m.RunTimeOffset)
	}
	return m.ridges[logSeconds].Predict(x)
}

// withRunTimes returns the rows with a known run time, with the run times as levels. `rows` are the rows of r. The result
// shares the encoded inputs with r if all run times are known.
func (r *offsetRows) withRunTimes(rows []row) *offsetRows {
	levels := make([]float64, len(rows))
	for i := range rows {
		levels[i] = math.Log1p(rows[i].Seconds)
	}
	if !slices.ContainsFunc(rows, func(r row) bool { return r.Untimed }) {
		return &offsetRows{columns: r.columns, inputs: r.inputs, levels: levels, weights: r.weights}
	}
	timed := newOffsetRows(len(rows), r.columns)
	for i := range rows {
		if !rows[i].Untimed {
			timed.add(r.row(i), levels[i], r.weights[i])
		}
	}
	return &timed
}

func (m *models) fitRunTimeOffset(rows *offsetRows) error {
	if !m.Enc.hasQuantities() {
		return nil
	}
	compared := rows.newest(maxComparedRows)
	best, err := compared.best(startShares[:])
	if err != nil || best.offset == 0 {
		return err
	}
	offset, above, least := best.offset, best.above, best.least
	for range offsetSteps {
		refitted, err := compared.refit(above, offset)
		if err != nil {
			return err
		}
		moved := compared.moveOffset(refitted, offset)
		c := compared.criterion(refitted, moved)
		if !(c < least) { // also for NaN
			break
		}
		above, offset, least = refitted, moved, c
	}
	m.RunTimeOffset = offset
	m.RunTimeAbove, err = rows.refit(above, offset)
	return err
}

// refit improves a line by a Gauss–Newton step: it fits the line to the levels, linearised at the predictions of the line.
func (r *offsetRows) refit(above *linear.Ridge, offset float64) (*linear.Ridge, error) {
	t := r.table()
	for i, level := range r.levels {
		predicted := above.Predict(r.row(i))
		predictedLevel := withOffset(predicted, offset)
		factor := max(minOffsetWeight, 1-offset/math.Exp(predictedLevel)) // derivative of the level with respect to the prediction
		t.Y[i] = predicted + clipError(level-predictedLevel)/factor
		t.W[i] = r.weights[i] * factor * factor
	}
	return linear.Fit(t, linear.Config{})
}

// moveOffset improves the logarithm of an offset by a Gauss–Newton step for a given line.
func (r *offsetRows) moveOffset(above *linear.Ridge, offset float64) float64 {
	errors, squares := 0.0, 0.0
	for i, level := range r.levels {
		predictedLevel := withOffset(above.Predict(r.row(i)), offset)
		share := offset / math.Exp(predictedLevel) // derivative of the level with respect to the logarithm of the offset
		errors, squares = errors+r.weights[i]*share*clipError(level-predictedLevel), squares+r.weights[i]*share*share
	}
	return offset * math.Exp(clipError(errors/squares))
}
