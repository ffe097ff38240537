package taskmodel

import "math"

// runTimeDrift corrects the predictions of the log run time by their recent errors (exponential smoothing), weighted by
// how well the corrected and the plain predictions predicted the earlier runs, as meanMixture does. After a release that
// changes the run times, the models and their ratios need dozens of runs to adapt; a few runs show the error. While the
// errors are independent, smoothing only adds noise, and the correction has hardly any weight.
type runTimeDrift struct {
	Runs           float64 // number of learned runs, at most mixtureMemory
	Error          float64 // smoothed error at driftRate
	PlainError     float64 // mean squared error of the predictions, before each run was learned
	CorrectedError float64 // the same after the correction by Error
	DAGRun         uint64  // of the newest mapped instance; 0: none
}

const plainLogOdds = 1.5 // prior log odds of the plain prediction, because most tasks do not drift

// learn adds the error of a prediction. Of the mapped instances of a DAG run, only the first one counts: the others started
// before its error was known. dagRun is zero for a run that is no mapped instance.
func (d *runTimeDrift) learn(err float64, dagRun uint64) {
	if dagRun != 0 && dagRun == d.DAGRun {
		return
	}
	d.DAGRun = dagRun
	d.Runs = min(d.Runs+1, mixtureMemory)
	corrected := err - d.Error
	d.PlainError += (err*err - d.PlainError) / d.Runs
	d.CorrectedError += (corrected*corrected - d.CorrectedError) / d.Runs
	d.Error += driftRate * corrected
}

// correction returns what to add to a prediction.
func (d *runTimeDrift) correction() float64 {
	return d.Error * (1 - betterWeight(d.Runs, d.PlainError, d.CorrectedError, plainLogOdds))
}

// betterWeight returns the posterior weight of the first of two Gaussian predictions with the given mean squared errors over
// n runs, whose prior log odds are given. The second one starts with twice the prior error.
func betterWeight(n, first, second, logOdds float64) float64 {
	ratio := (first*n + priorVariance) / (second*n + 2*priorVariance)
	return 1 / (1 + math.Exp((n+1)/2*math.Log(ratio)-logOdds))
}
