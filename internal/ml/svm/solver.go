package svm

import "math"

const (
	// maxPenalty bounds C · weight so that sums stay finite. A larger penalty would not
	// avoid further errors.
	maxPenalty = 1e9
	// maxSteps bounds the steps of the solver, as a multiple of the number of rows. Ordinary
	// problems take one to five steps per row. With a very high penalty the solver can reach the
	// bound. The result then satisfies every constraint, but may violate the optimality conditions by
	// more than the tolerance.
	maxSteps = 200
	// flat replaces the zero curvature between two equal rows, and keeps the Hessian of the
	// sigmoid invertible.
	flat = 1e-12
)

// solver finds the coefficients of one boundary for rows of sign y = ±1:
//
//	max Σ y·β − ½ Σ Σ β·K·β′   where   Σ β = 0   and   low ≤ β ≤ high,
//
// which is the dual of C-SVC with β = y·α (Bottou & Lin 2007). A row with y = 1 has β in
// [0, C·w], and a row with y = −1 has β in [−C·w, 0]. A held-out row has bounds of 0, so
// β stays 0. Its residual still gives its decision value.
//
// Each step changes two coefficients in opposite directions (SMO, Platt 1998). The
// selection follows Fan, Chen & Lin (2005, WSS 2): the coefficient of the row with the largest
// residual rises, and the coefficient of the row with the largest second-order gain falls.
type solver struct {
	kernel    *kernel
	y         []float64
	low, high []float64
	beta      []float64
	residual  []float64 // y − Σ β·K: the gradient
}

func newSolver(k *kernel, y []float64) *solver {
	n := len(y)
	return &solver{
		kernel: k, y: y, low: make([]float64, n), high: make([]float64, n),
		beta: make([]float64, n), residual: make([]float64, n),
	}
}

// solve starts from β = 0, with bounds from the penalties of the rows. It returns the bias b of
// the decision value Σ β·K + b.
func (s *solver) solve(penalties []float64, tolerance float64) (bias float64) {
	clear(s.beta)
	copy(s.residual, s.y)
	for t, penalty := range penalties {
		s.low[t], s.high[t] = min(0, s.y[t]*penalty), max(0, s.y[t]*penalty)
	}
	for range maxSteps * len(s.y) {
		i := s.selectRising()
		if i < 0 {
			break
		}
		row := s.kernel.row(i)
		j, lowest := s.selectFalling(row, s.residual[i])
		if j < 0 || s.residual[i]-lowest < tolerance {
			break
		}
		s.move(i, j, row, s.kernel.row(j))
	}
	return s.bias()
}

func (s *solver) selectRising() int {
	best, at := math.Inf(-1), -1
	for t, e := range s.residual {
		if e > best && s.beta[t] < s.high[t] {
			best, at = e, t
		}
	}
	return at
}

// selectFalling returns the row that can fall with the largest gain, or −1 if there is no gain.
// `row` and `residual` are the kernel row and the residual of the rising row. `lowest` is the lowest
// residual among all rows that can fall.
func (s *solver) selectFalling(row []float32, residual float64) (at int, lowest float64) {
	best := 0.0
	at, lowest = -1, math.Inf(1)
	for t, e := range s.residual {
		if s.beta[t] <= s.low[t] {
			continue
		}
		lowest = min(lowest, e)
		if gap := residual - e; gap > 0 {
			if gain := gap * gap / max(flat, 2-2*float64(row[t])); gain > best {
				best, at = gain, t
			}
		}
	}
	return at, lowest
}

// move raises the coefficient of row i and lowers that of row j by the optimal step within their bounds. A coefficient that
// reaches its bound is set to the bound exactly, to avoid a rounding error.
func (s *solver) move(i, j int, rowI, rowJ []float32) {
	up, down := s.high[i]-s.beta[i], s.beta[j]-s.low[j]
	step := min(up, down, (s.residual[i]-s.residual[j])/max(flat, 2-2*float64(rowI[j])))
	s.beta[i] += step
	s.beta[j] -= step
	if step == up {
		s.beta[i] = s.high[i]
	}
	if step == down {
		s.beta[j] = s.low[j]
	}
	for t := range s.residual {
		s.residual[t] -= step * float64(rowI[t]-rowJ[t])
	}
}

// bias returns the mean residual of the rows strictly between their bounds. Without such
// rows it returns the middle of the interval of biases that the other rows allow. If the interval has only one end, it
// returns this end, and 0 if the interval has no end.
func (s *solver) bias() float64 {
	sum, free := 0.0, 0
	least, most := math.Inf(-1), math.Inf(1)
	for t, e := range s.residual {
		rises, falls := s.beta[t] < s.high[t], s.beta[t] > s.low[t]
		if rises && falls {
			sum, free = sum+e, free+1
		}
		if rises {
			least = max(least, e)
		}
		if falls {
			most = min(most, e)
		}
	}
	switch {
	case free > 0:
		return sum / float64(free)
	case !finite(least) && !finite(most):
		return 0
	case !finite(least):
		return most
	case !finite(most):
		return least
	}
	return (least + most) / 2
}

// decision returns the decision value of row t without the bias.
func (s *solver) decision(t int) float64 { return s.y[t] - s.residual[t] }
