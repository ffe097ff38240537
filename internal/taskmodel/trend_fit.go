package taskmodel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// trendRows are the rows of a history in the form that least squares fits of the trend need.
type trendRows struct {
	fields []int      // inputs
	scale  []float64  // by input: its transformed values in x are divided by this
	x      *mat.Dense // one row per run: the weight of the run for the intercept, then the inputs and the target, times this weight
	y      []float64  // log peaks by row

	// reduced is the upper triangular factor R of the QR factorisation of x. A least squares fit on some columns of R has the
	// same coefficients and the same sum of squared errors as a fit on these columns of x, but R has few rows.
	reduced *mat.Dense
}

func (t *trend) newTrendRows(fields []int, rows []row, y []float64) *trendRows {
	p := len(fields) + 1
	e := &trendRows{fields: fields, scale: make([]float64, len(fields)), x: mat.NewDense(len(rows), p+1, nil), y: y}
	for c, j := range fields {
		e.scale[c] = max(t.transform(j, t.rangeOf(j).magnitude()), math.SmallestNonzeroFloat64)
	}
	for i := range rows {
		x, weight, target := e.x.RawRowView(i), 1.0, y[i]
		if t.Linear {
			weight, target = 1/rows[i].Peak, 1 // relative errors, which are nearly the errors of the logarithm
		}
		x[0], x[p] = weight, target
		for c, j := range fields {
			v, _ := t.value(j, rows[i].Cells)
			x[c+1] = weight * t.transform(j, v) / e.scale[c]
		}
	}
	var qr mat.QR
	qr.Factorize(e.x)
	var r mat.Dense
	qr.RTo(&r)
	e.reduced = mat.DenseCopyOf(r.Slice(0, p+1, 0, p+1))
	return e
}

// eliminate fits one function and, while a slope is unreliable, removes the input with the least reliable slope and fits
// again (backward elimination): if several inputs measure the same size, each of their slopes is uncertain, but the slope of
// the last remaining input is not. If no fit is possible, because the inputs are collinear or a linear function predicts a
// negative peak, it removes the weakest input; `fields` is sorted by strength. It returns the sum of the squared errors of
// the log peak in the first possible fit, because elimination adds error: a function with more reliable slopes would keep
// more inputs and win for that reason. If this sum is not below least, the sum of another function, eliminate stops at this fit,
// because the function cannot win. ok is false if no fit is possible.
func (t *trend) eliminate(fields []int, rows []row, y []float64, least float64) (squares float64, ok bool) {
	if len(fields) == 0 {
		return 0, false
	}
	e := t.newTrendRows(fields, rows, y)
	columns := make([]int, len(fields))
	for c := range columns {
		columns[c] = c + 1
	}
	for len(columns) > 0 {
		worst := len(columns) - 1
		if next, isPossible := t.solve(e, columns); isPossible {
			if !ok {
				squares, ok = next, true
			}
			if squares >= least {
				return squares, true
			}
			for i := range t.Slopes {
				if t.Slopes[i].Relative > t.Slopes[worst].Relative {
					worst = i
				}
			}
			if t.Slopes[worst].Relative <= maxSlopeError {
				return squares, true
			}
		}
		t.Slopes = nil
		columns = slices.Delete(columns, worst, worst+1)
	}
	return squares, ok
}

// solve fits the function on some columns of e.x. It returns the sum of the squared errors of the log peak. ok is false if
// the fit is impossible or numerically unstable.
func (t *trend) solve(e *trendRows, columns []int) (squares float64, ok bool) {
	n, width := e.x.Dims()
	p, target := len(columns)+1, e.reduced.ColView(width-1)
	x := mat.NewDense(width, p, nil)
	for c, from := range append([]int{0}, columns...) {
		x.SetCol(c, mat.Col(nil, from, e.reduced))
	}
	var qr mat.QR
	qr.Factorize(x)
	var b mat.VecDense
	if qr.Cond() > 1e8 || qr.SolveVecTo(&b, false, target) != nil {
		return 0, false
	}
	var residual mat.VecDense
	residual.MulVec(x, &b)
	residual.SubVec(target, &residual)
	errors := standardErrors(x, mat.Dot(&residual, &residual)/float64(max(1, n-p)))
	t.Base = b.AtVec(0)
	for c, from := range columns {
		relative := errors[c+1] / math.Abs(b.AtVec(c+1))
		t.Slopes = append(t.Slopes, slope{Field: e.fields[from-1], Slope: b.AtVec(c+1) / e.scale[from-1], Relative: relative})
	}
	for i, y := range e.y {
		row := e.x.RawRowView(i)
		fitted := t.Base * row[0]
		for c, from := range columns {
			fitted += b.AtVec(c+1) * row[from]
		}
		if t.Linear {
			fitted = math.Log(fitted / row[0])
		}
		squares += (y - fitted) * (y - fitted)
	}
	return squares, squares-squares == 0 // false for NaN and infinity
}

// standardErrors returns the standard errors of the coefficients of a least squares fit on x; `variance` is the variance of
// the residuals.
func standardErrors(x *mat.Dense, variance float64) []float64 {
	_, p := x.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1, x.T())
	errors := make([]float64, p)
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if !cholesky.Factorize(&gram) || cholesky.InverseTo(&inverse) != nil {
		for c := range errors {
			errors[c] = math.Inf(1)
		}
		return errors
	}
	for c := range errors {
		errors[c] = math.Sqrt(max(0, variance*inverse.At(c, c)))
	}
	return errors
}
