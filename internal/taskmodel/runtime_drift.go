package taskmodel

import "math"

// runTimeDrift corrects the predictions of the log run time by their recent errors (exponential smoothing). The better the
// corrected predictions of the earlier runs were than the uncorrected ones, the more weight the correction has (firstWeight).
// If a release of the task's program changes the run times, the models and the ratios of run times to predictions adapt within
// dozens of runs, and the correction within a few. While the errors are independent, the correction has hardly any weight.
// runtime_level_change.go describes changes far outside the ratios.
//
// Runs that started together, such as the mapped instances of a DAG run, end in the order of their run times, and their
// errors may have a common cause. Only their mean error says something about later runs. So the errors are collected in a
// batch. The batch ends when a run is learned that started after the first run of the batch had ended.
type runTimeDrift struct {
	Batches         float64 `cbor:"Runs"` // number of learned batches, at most mixtureMemory
	Error           float64 // mean errors of the batches, smoothed exponentially at driftRate
	PlainSquare     float64 `cbor:"PlainError"`     // mean square of the mean errors of the batches
	CorrectedSquare float64 `cbor:"CorrectedError"` // mean square of the mean errors minus Error from before the batch
	Batch           errorBatch
}

// errorBatch is the newest batch. Its errors are not yet part of Error. An error is log1p of the seconds of a run minus the
// prediction without the correction of the drift.
type errorBatch struct {
	Errors float64 `cbor:",omitzero"` // sum of the errors
	Runs   float64 `cbor:",omitzero"`
	End    float64 `cbor:"Start,omitzero"` // the end of the first run in Unix seconds, stored under its earlier name; a run that starts then or later begins a new batch
}

const plainLogOdds = 1.5 // prior log odds of the uncorrected prediction; positive, because most tasks do not drift

// startBatch ends the batch if a run started after the first run of the batch had ended. start and end are the times of the
// run in Unix seconds. isNew reports that the run begins a new batch.
func (d *runTimeDrift) startBatch(start, end float64) (isNew bool) {
	if start < d.Batch.End {
		return false
	}
	*d = d.withBatch()
	d.Batch.End = end
	return true
}

func (b *errorBatch) learn(err float64) {
	b.Errors += err
	b.Runs++
}

// withBatch returns d after it has learned its batch, with an empty batch.
func (d runTimeDrift) withBatch() runTimeDrift {
	if d.Batch.Runs == 0 {
		return d
	}
	err := d.Batch.Errors / d.Batch.Runs
	corrected := err - d.Error
	d.Batches = min(d.Batches+1, mixtureMemory)
	d.PlainSquare += (err*err - d.PlainSquare) / d.Batches
	d.CorrectedSquare += (corrected*corrected - d.CorrectedSquare) / d.Batches
	d.Error += driftRate * corrected
	d.Batch = errorBatch{}
	return d
}

// correction returns the number of log units to add to the prediction for a run that starts now.
func (d runTimeDrift) correction() float64 {
	d = d.withBatch()
	return d.Error * (1 - firstWeight(d.Batches, d.PlainSquare, d.CorrectedSquare, plainLogOdds))
}

// firstWeight returns the posterior weight of the first of two Gaussian predictions. first and second are their mean squared
// errors over n runs, and logOdds are the prior log odds of the first prediction. The prior squared error is priorVariance for
// the first prediction and twice as large for the second.
func firstWeight(n, first, second, logOdds float64) float64 {
	ratio := (first*n + priorVariance) / (second*n + 2*priorVariance)
	return 1 / (1 + math.Exp((n+1)/2*math.Log(ratio)-logOdds))
}
