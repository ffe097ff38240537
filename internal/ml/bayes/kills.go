package bayes

import (
	"math"
	"slices"
)

// Kill is a run that was killed and has no measured peak yet: a right-censored row.
type Kill struct {
	_      struct{}  `cbor:",toarray"`
	Run    uint64    // identifies the run
	Bound  float64   // log of the largest amount with which the run was killed: a lower bound of its log peak
	Inputs []float64 // inputs of Predict
	Levels []float64 // levels of Predict; empty before the first measured row
}

const (
	maxKills = 16 // largest number of kills: a further kill replaces the oldest
	killRows = 32 // number of rows from which on an average ignores kills: then a kill is due to chance or to a change of the task
)

// WithKills returns the average that also counts the kills as rows, or `a` itself if it has no kills or no rows. The retry
// of a killed run may take hours. Until the retry ends, the kill is evidence for the structures that
// predict more than its bound. The average with kills has no point model with predicted scales (Scaled).
func (a *Average) WithKills() *Average {
	if a.Imputed != nil {
		return a.Imputed
	}
	return a
}

// LearnKill adds a killed run, or raises the bound of an earlier kill of the same run. Resolve removes the kill. If the
// average has killRows rows or more, LearnKill has no effect. Killed runs with equal inputs and levels count once, with the
// highest bound, because this bound implies the lower ones.
func (a *Average) LearnKill(k Kill, prior *Prior) {
	if a.Rows >= killRows {
		return
	}
	if at := a.killIndex(k.Run); at >= 0 {
		k.Bound = max(k.Bound, a.Kills[at].Bound)
		a.Kills = slices.Delete(a.Kills, at, at+1)
	}
	for i := range a.Kills {
		if other := &a.Kills[i]; equal(other.Inputs, k.Inputs) && equal(other.Levels, k.Levels) {
			if other.Bound >= k.Bound {
				a.ImputeKills(prior) // without the earlier kill of the run
				return
			}
			a.Kills = slices.Delete(a.Kills, i, i+1)
			break
		}
	}
	a.Kills = append(a.Kills, k)
	a.Kills = a.Kills[max(0, len(a.Kills)-maxKills):]
	a.ImputeKills(prior)
}

// equal reports whether two slices are equal. NaN equals NaN.
func equal(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// Resolve removes the kill of a run, after its peak was measured or the report of the kill was voided.
func (a *Average) Resolve(run uint64, prior *Prior) {
	if at := a.killIndex(run); at >= 0 {
		a.Kills = slices.Delete(a.Kills, at, at+1)
		a.ImputeKills(prior)
	}
}

func (a *Average) killIndex(run uint64) int {
	return slices.IndexFunc(a.Kills, func(k Kill) bool { return k.Run == run })
}

// ImputeKills updates the result of WithKills after a change of the rows or kills. Each kill counts as a row. Its log
// peak is the need that exceedanceAndNeed returns for the bound of the kill (a single imputation similar to that of Buckley &
// James 1979).
func (a *Average) ImputeKills(prior *Prior) {
	a.Imputed = nil
	if a.Rows >= killRows {
		a.Kills = nil
	}
	if len(a.Kills) == 0 || a.Rows == 0 {
		return
	}
	imputed := &Average{
		Rows: a.Rows, Mean: a.Mean, Squares: a.Squares, Constant: a.Constant, Exact: a.Exact,
		Lines: slices.Clone(a.Lines), Affines: slices.Clone(a.Affines), Narrow: slices.Clone(a.Narrow), Ranges: slices.Clone(a.Ranges), Models: slices.Clone(a.Models),
		Modes: Modes{Modes: slices.Clone(a.Modes.Modes), LogEvidence: a.Modes.LogEvidence, Created: a.Modes.Created},
		Trend: a.Trend,
	}
	var mix Mixture
	for i := range a.Kills {
		k := &a.Kills[i]
		levels := k.Levels
		if len(levels) == 0 {
			levels = slices.Repeat([]float64{a.Mean}, len(a.Models))
		}
		imputed.Predict(k.Inputs, levels, 0, prior, &mix)
		_, need := mix.exceedanceAndNeed(k.Bound)
		if a.Trend.Learned > 0 {
			imputed.LearnTrend(need, Run{}, prior, &mix)
		}
		imputed.Learn(k.Inputs, levels, 0, need, &mix)
	}
	a.Imputed = imputed
}
