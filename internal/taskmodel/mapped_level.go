package taskmodel

import (
	"math"
	"slices"
)

// A fit learns the effects of the features from every instance of a DAG run, because the peaks of the instances differ by their
// features. But the errors of these instances have causes in common. So they say as little about the level of the peaks as the
// errors of a few runs: one DAG run of a thousand instances must not outweigh a month of DAG runs of five. Therefore shiftLevel
// moves the fitted models by the difference of two means of their errors: in the first mean, the instances of a DAG run count as
// their effective number; in the second, every instance counts.

// setRepeated sets row.Repeated. dagRuns has the TrainingRow.DAGRun of each row; it is 0 for a row of a task that is not
// mapped.
func (m *Model) setRepeated(rows []row, dagRuns []uint64) {
	if m.ablated.NoDAGRuns || !slices.ContainsFunc(dagRuns, func(run uint64) bool { return run != 0 }) {
		return
	}
	within := m.WithinFeatures.correlation(m.Experts.PriorDeviation, &featureClusters)
	between := m.WithinRuns.correlation(m.Experts.PriorDeviation, &runClusters)
	type launchKey struct{ run, features uint64 }
	keys, instances, launches := make([]launchKey, len(rows)), map[launchKey]float64{}, map[uint64]float64{}
	for i, run := range dagRuns {
		if run == 0 {
			continue
		}
		keys[i] = launchKey{run, featureKey(&m.Schema, rows[i].Cells)}
		if instances[keys[i]]++; instances[keys[i]] == 1 {
			launches[run]++
		}
	}
	for i, run := range dagRuns {
		if run != 0 {
			rows[i].Repeated = 1 - effectiveShare(instances[keys[i]], within)*effectiveShare(launches[run], between)
		}
	}
}

// shiftLevel moves the levels of the line, of the regression of the peak itself (experts.Plain) and of the trees, after a fit
// on rows. The errors are those of LineTrees, clipped at maxClusterError. base holds the predictions of the line,
// plus the effects that fitCombinations added to them, and trees(i) returns the prediction of Resid for row i.
func (m *models) shiftLevel(rows []row, y, base []float64, trees func(i int) float64) error {
	if len(rows) < minOffsetRows || !slices.ContainsFunc(rows, func(r row) bool { return r.Repeated > 0 }) {
		return nil
	}
	sum, weight, effectiveSum, effectiveWeight := 0.0, 0.0, 0.0, 0.0
	for i := range rows {
		err := max(-maxClusterError, min(maxClusterError, y[i]-base[i]-trees(i)))
		w := rows[i].Weight
		sum, weight = sum+w*err, weight+w
		w *= 1 - rows[i].Repeated
		effectiveSum, effectiveWeight = effectiveSum+w*err, effectiveWeight+w
	}
	shift := effectiveSum/effectiveWeight - sum/weight
	factor := math.Exp(shift)
	m.Unit *= factor
	m.line.Shift(logPeak, shift)
	if m.Above != nil { // log(peak − offset) shifts as the log peak if the offset is multiplied, too
		m.Offset, m.Above = m.Offset*factor, m.Above.Shifted(shift)
	}
	if m.Trees != nil {
		m.Trees = m.Trees.Shifted(shift)
	}
	ridges, err := m.line.Solve()
	m.ridges = ridges
	return err
}
