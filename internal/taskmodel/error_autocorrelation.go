package taskmodel

import "math"

// errorSeries models the errors of the log peak of a task, in the order in which they were learned. After a release that
// raises the peaks, the errors of successive runs are alike until the predictions are at the new level, but the margins cover
// this level from the second run on. So the part of an error that the previous run had, too, is no evidence about a common
// cause in this run. Only the innovation is: the part that the previous error does not predict (prewhitening, Box & Jenkins 1970).
//
// A negative previous error predicts nothing here: after a fall of the peaks, the margins follow slowly. So negative errors keep
// their full effect, and the run score lowers grants that are too large.
type errorSeries struct {
	Before   float64 // mean error of the DAG run before the newest one: the previous error
	Mean     float64 // mean error of the newest DAG run so far; each run of a task that is not mapped is a DAG run here
	Rows     float64 // number of errors in Mean
	DAGRun   uint64  // TrainingRow.DAGRun of the newest DAG run; 0 if the task is not mapped
	Products float64 // decayed sum of error · Before
	Squares  float64 // decayed sum of Before²
}

const (
	seriesDecay = 1 - 1.0/64 // per row, like that of the run scores in experts.Pool
	seriesPrior = 0.2 * 0.2  // added to Squares, so that the autocorrelation starts from 0: the square of one error of 0.2, as in Pool.Deviation
	changeOdds  = 1.0 / 20   // prior odds that a run is the first one after a change
)

// innovation adds an error and returns its innovation. deviation is the standard deviation of the innovations. Errors of other
// instances in the same DAG run do not count as previous errors, because they may have a common cause in this run.
func (s *errorSeries) innovation(e, deviation float64, dagRun uint64) float64 {
	if s.Rows == 0 || dagRun == 0 || dagRun != s.DAGRun {
		s.Before, s.Mean, s.Rows, s.DAGRun = s.Mean, 0, 0, dagRun
	}
	s.Rows++
	s.Mean += (e - s.Mean) / s.Rows
	share := max(s.autocorrelation(), changeProbability(e, s.Before, deviation))
	s.Products, s.Squares = s.Products*seriesDecay+e*s.Before, s.Squares*seriesDecay+s.Before*s.Before
	return e - share*max(0, s.Before)
}

// autocorrelation returns the estimated coefficient of an AR(1) process. The estimate excludes the newest error, because otherwise it
// would explain a part of each error by chance.
func (s *errorSeries) autocorrelation() float64 {
	return max(0, min(1, s.Products/(s.Squares+seriesPrior)))
}

// changeProbability returns the probability that the previous run was the first one after a change, given the newest error e and
// the previous error. It compares two hypotheses: e is normally distributed around the previous error, or around 0. This is the
// first step of a change-point detection (Adams & MacKay 2007). The autocorrelation shows the change only one run later.
func changeProbability(e, before, deviation float64) float64 {
	logOdds := math.Log(changeOdds) + (e*e-(e-before)*(e-before))/(2*deviation*deviation)
	return 1 / (1 + math.Exp(-logOdds))
}
