package taskmodel

import "math"

// runTimeDrift corrects the predictions of the log run time by their recent errors (exponential smoothing), weighted by
// how well the corrected and the plain predictions predicted the earlier runs, as meanMixture does. After a release of the
// task's program that changes the run times, the models and their ratios need dozens of runs to adapt; a few runs show the
// error. While the errors are independent, smoothing only adds noise, and the correction has hardly any weight.
//
// Runs that started together, such as the mapped instances of a DAG run, end in the order of their run times, and their
// errors may have a common cause. Only their mean error says something about later runs. So the errors are collected in a
// batch. The batch ends when a run is learned that started after the first run of the batch had ended.
type runTimeDrift struct {
	Runs           float64 // number of learned batches, at most mixtureMemory
	Error          float64 // mean errors of the batches, smoothed exponentially at driftRate
	PlainError     float64 // mean over the batches of the squared mean error of the predictions, without a correction
	CorrectedError float64 // the same with the correction by Error from before each batch
	Batch          errorBatch
}

// errorBatch is the newest batch. Its runs are not yet part of Error.
type errorBatch struct {
	Errors float64 `cbor:",omitzero"` // sum of the errors
	Runs   float64 `cbor:",omitzero"`
	End    float64 `cbor:"Start,omitzero"` // the end of its first run in Unix seconds; a run that starts then or later begins a new batch
}

const plainLogOdds = 1.5 // prior log odds of the plain prediction; positive, because most tasks do not drift

// startBatch starts a new batch if a run started after the first run of the current batch had ended. start and end are the
// times of the run in Unix seconds.
func (d *runTimeDrift) startBatch(start, end float64) {
	if start >= d.Batch.End {
		*d = d.withBatch()
		d.Batch.End = end
	}
}

// learn adds the error of a prediction to the batch. The prediction must not contain the errors of the batch.
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
	d.Runs = min(d.Runs+1, mixtureMemory)
	d.PlainError += (err*err - d.PlainError) / d.Runs
	d.CorrectedError += (corrected*corrected - d.CorrectedError) / d.Runs
	d.Error += driftRate * corrected
	d.Batch = errorBatch{}
	return d
}

// correction returns what to add to a prediction for a run that starts now.
func (d runTimeDrift) correction() float64 {
	d = d.withBatch()
	return d.Error * (1 - betterWeight(d.Runs, d.PlainError, d.CorrectedError, plainLogOdds))
}

// betterWeight returns the posterior weight of the first of two Gaussian predictions with the given mean squared errors over
// n runs, whose prior log odds are given. The second one starts with twice the prior error.
func betterWeight(n, first, second, logOdds float64) float64 {
	ratio := (first*n + priorVariance) / (second*n + 2*priorVariance)
	return 1 / (1 + math.Exp((n+1)/2*math.Log(ratio)-logOdds))
}
