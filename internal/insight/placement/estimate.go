package placement

import "math"

// The priors, which matter for tasks with few runs, and the constants of the estimation. Variances are
// in squared log units. The own deviation of a task on a node type is the part of the effect that
// sensitivity · typical effect does not explain (see the package comment).
const (
	priorVariance       = 0.04 // of the residuals; it counts as priorRows rows
	priorRows           = 3.0
	nodeVariance        = 1.0  // of the effect of a node type on a typical task
	minSensitivityVar   = 0.01 // smallest estimated variance of the sensitivities around 1
	minOwnVar           = 1e-4 // smallest estimated variance of the own deviations
	slopeVariance       = 1.0  // of the slope of a scaled input
	typicalLoadVariance = 4.0  // of the slope of the load of a typical task
	loadVariance        = 0.25 // of the slope of the load around that of a typical task
	huberWidth          = 2.0  // residuals of more than this number of standard deviations weigh less
	tolerance           = 1e-7 // of the convergence: the estimation ends after a round in which each effect on a typical task changes by less
)

// variances holds the variances of the sensitivities around 1 and of the own deviations around 0.
type variances struct{ sensitivity, ownDeviation float64 }

func (e *Effects) estimate(tasks []*taskEffect) {
	v := variances{.1, .01} // initial values
	for range rounds {
		before := append([]float64(nil), e.typical...)
		for _, t := range tasks {
			t.fitInputs(e)
			t.fitEffects(e, v)
		}
		e.fitTypical(tasks, v)
		e.fitLoad(tasks)
		v = estimateVariances(tasks, e, v)
		change := 0.0
		for i := range before {
			change = max(change, math.Abs(e.typical[i]-before[i]))
		}
		if change < tolerance {
			break
		}
	}
}

// effect returns the effect of a node type; 0 for an unknown one (−1).
func (t *taskEffect) effect(e *Effects, node int) float64 {
	if node < 0 {
		return 0
	}
	return t.sensitivity*e.typical[node] + t.ownDeviation[node]
}

// fitInputs fits the slopes of the inputs and of the load, and the level. It then sets the residual variance and the
// weights of the rows.
func (t *taskEffect) fitInputs(e *Effects) {
	k := len(t.names)
	width := k + 2 // inputs, load, level
	// The normal equations a·solution = b.
	a, b := make([][]float64, width), make([]float64, width)
	for i := range a {
		a[i] = make([]float64, width)
	}
	x := make([]float64, width)
	for i := range t.rows {
		r := &t.rows[i]
		copy(x, r.x)
		x[k], x[k+1] = r.load, 1
		y := r.y - t.effect(e, r.node) - e.slope*r.load // the load slope is a deviation from e.slope
		for i := range x {
			for j := range x {
				a[i][j] += r.weight * x[i] * x[j]
			}
			b[i] += r.weight * x[i] * y
		}
	}
	for i := range k {
		a[i][i] += t.variance / slopeVariance
	}
	a[k][k] += t.variance / loadVariance
	a[k+1][k+1] += 1e-9
	solution := solve(a, b)
	copy(t.slopes, solution)
	t.load, t.level = e.slope+solution[k], solution[k+1]
	t.reweight(e)
}

func (t *taskEffect) reweight(e *Effects) {
	sum, rows := priorRows*priorVariance, priorRows
	for i := range t.rows {
		r := &t.rows[i]
		d := t.residual(e, r)
		sum, rows = sum+r.weight*d*d, rows+r.weight
	}
	t.variance = sum / rows
	width := huberWidth * math.Sqrt(t.variance)
	for i := range t.rows {
		r := &t.rows[i]
		r.weight = min(1, width/max(1e-12, math.Abs(t.residual(e, r))))
	}
}

func (t *taskEffect) residual(e *Effects, r *row) float64 {
	return t.partialResidual(r) - t.effect(e, r.node)
}

// partialResidual returns the part of the log seconds of a row that neither the level nor the inputs nor the load
// explain. This part is the effect of the node type and noise.
func (t *taskEffect) partialResidual(r *row) float64 {
	y := r.y - t.level - t.load*r.load
	for i, slope := range t.slopes {
		y -= slope * r.x[i]
	}
	return y
}

// cell holds the weight and the weighted sum of the partial residuals of the rows of a task on one node type.
type cell struct{ weight, sum float64 }

func (t *taskEffect) cells(nodes int) []cell {
	cells := make([]cell, nodes)
	for i := range t.rows {
		if r := &t.rows[i]; r.node >= 0 {
			c := &cells[r.node]
			c.weight, c.sum = c.weight+r.weight, c.sum+r.weight*t.partialResidual(r)
		}
	}
	return cells
}

func (t *taskEffect) fitEffects(e *Effects, v variances) {
	cells := t.cells(len(e.nodes))
	// The level and the sensitivity are fitted together, with the own deviations integrated out.
	a := [][]float64{{1e-9, 0}, {0, 1 / v.sensitivity}}
	b := []float64{0, 1 / v.sensitivity}
	for n, c := range cells {
		if c.weight == 0 {
			continue
		}
		w := 1 / (t.variance/c.weight + v.ownDeviation)
		y, x := c.sum/c.weight, e.typical[n]
		a[0][0], a[0][1], a[1][1] = a[0][0]+w, a[0][1]+w*x, a[1][1]+w*x*x
		b[0], b[1] = b[0]+w*y, b[1]+w*x*y
	}
	a[1][0] = a[0][1]
	solution := solve(a, b)
	t.level += solution[0]
	t.sensitivity = solution[1]
	for n, c := range cells {
		t.ownDeviation[n] = 0
		if c.weight > 0 {
			y := c.sum/c.weight - solution[0] - t.sensitivity*e.typical[n]
			t.ownDeviation[n] = y * v.ownDeviation / (v.ownDeviation + t.variance/c.weight)
		}
	}
}

// fitTypical fits the effects of the node types on a typical task. Their mean is 0.
func (e *Effects) fitTypical(tasks []*taskEffect, v variances) {
	if len(e.nodes) == 0 {
		return
	}
	sum, weight := make([]float64, len(e.nodes)), make([]float64, len(e.nodes))
	for _, t := range tasks {
		for n, c := range t.cells(len(e.nodes)) {
			if c.weight > 0 {
				w := 1 / (t.variance/c.weight + v.ownDeviation)
				sum[n] += w * t.sensitivity * c.sum / c.weight
				weight[n] += w * t.sensitivity * t.sensitivity
			}
		}
	}
	mean := 0.0
	for n := range e.typical {
		e.typical[n] = sum[n] / (weight[n] + 1/nodeVariance)
		mean += e.typical[n] / float64(len(e.typical))
	}
	for n := range e.typical {
		e.typical[n] -= mean
	}
}

// fitLoad fits the slope of the load of a typical task: the mean of the slopes of the tasks whose load varies,
// weighted by their precision, and shrunk towards 0.
func (e *Effects) fitLoad(tasks []*taskEffect) {
	sum, weight := 0.0, 1/typicalLoadVariance
	for _, t := range tasks {
		squares, rows := 0.0, 0.0
		mean := 0.0
		for i := range t.rows {
			mean, rows = mean+t.rows[i].load, rows+1
		}
		for i := range t.rows {
			d := t.rows[i].load - mean/rows
			squares += d * d
		}
		if squares == 0 {
			continue
		}
		// t.load is the own slope, shrunk towards that of a typical task. share is the weight of the own
		// slope in t.load.
		share := squares / (squares + t.variance/loadVariance)
		own := e.slope + (t.load-e.slope)/share
		w := 1 / (t.variance/squares + loadVariance)
		sum, weight = sum+w*own, weight+w
	}
	e.slope = sum / weight
}

// estimateVariances updates the variances from the tasks with at least three node types. The previous
// variances count as four observations.
func estimateVariances(tasks []*taskEffect, e *Effects, v variances) variances {
	const prior = 4.0
	sensitivitySum, tasksSeen := prior*v.sensitivity, prior
	ownSum, cellsSeen := prior*v.ownDeviation, prior
	for _, t := range tasks {
		cells := t.cells(len(e.nodes))
		seen, precision, uncertainty := 0, 0.0, 0.0
		for n, c := range cells {
			if c.weight > 0 {
				seen++
				precision += e.typical[n] * e.typical[n] / (t.variance/c.weight + v.ownDeviation)
				uncertainty += v.ownDeviation * (t.variance / c.weight) / (v.ownDeviation + t.variance/c.weight)
			}
		}
		if seen < 3 { // the level and the sensitivity fit two node types exactly
			continue
		}
		d := t.sensitivity - 1
		sensitivitySum, tasksSeen = sensitivitySum+d*d+1/(precision+1/v.sensitivity), tasksSeen+1
		for n, c := range cells {
			if c.weight > 0 {
				ownSum += t.ownDeviation[n] * t.ownDeviation[n]
			}
		}
		ownSum, cellsSeen = ownSum+uncertainty, cellsSeen+float64(seen-2)
	}
	return variances{max(minSensitivityVar, sensitivitySum/tasksSeen), max(minOwnVar, ownSum/cellsSeen)}
}

// solve solves the symmetric positive semidefinite system a·x = b by Gaussian elimination. A variable whose
// pivot is 0 is 0. solve changes its arguments and returns x in b.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		pivot := i
		for k := i + 1; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[pivot][i]) {
				pivot = k
			}
		}
		a[i], a[pivot], b[i], b[pivot] = a[pivot], a[i], b[pivot], b[i]
		if a[i][i] == 0 {
			continue
		}
		for k := i + 1; k < n; k++ {
			f := a[k][i] / a[i][i]
			for j := i; j < n; j++ {
				a[k][j] -= f * a[i][j]
			}
			b[k] -= f * b[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			b[i] -= a[i][j] * b[j]
		}
		if a[i][i] != 0 {
			b[i] /= a[i][i]
		} else {
			b[i] = 0
		}
	}
	return b
}
