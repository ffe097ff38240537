package taskmodel

import "math"

// errorSeries models the errors of the log peak of a task, in the order in which they were learned. After a release that
// raises the peaks, the errors of successive runs are alike until the predictions have followed, but the margins cover the
// new level from the second run on. So the error that the run before had as well is no evidence about a run. Only the
// innovation is: the part that the error before does not predict (prewhitening, Box & Jenkins 1970).
//
// A negative error before predicts nothing here: after a fall of the peaks, the margins follow slowly, and the run score
// lowers grants that are too large.
type errorSeries struct {
	Before   float64 // mean error of the DAG run before the newest one
	Mean     float64 // mean error of the newest DAG run so far; each run of a task that is not mapped is a DAG run here
	Rows     float64 // number of errors in Mean
	DAGRun   uint64  // TrainingRow.DAGRun of the newest DAG run; 0 if the task is not mapped
	Products float64 // decayed sum of error · Before
	Squares  float64 // decayed sum of Before²
}

const (
	seriesDecay = 1 - 1.0/64 // per row, like that of the run scores in experts.Pool
	seriesPrior = 0.2 * 0.2  // squared error whose autocorrelation is 0, added to Squares: one error, as in Pool.Deviation
	changeOdds  = 1.0 / 20   // prior odds that a run is the first one after a change
)

// innovation adds an error and returns its innovation. deviation is the standard deviation of the innovations. The errors of
// other instances of the same DAG run predict nothing, because they may have a common cause in this run.
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

// autocorrelation returns the coefficient of an AR(1) process for the errors before the newest one. With the newest error, it
// would explain a part of each error by chance.
func (s *errorSeries) autocorrelation() float64 {
	return max(0, min(1, s.Products/(s.Squares+seriesPrior)))
}

// changeProbability returns the probability that the run before was the first one after a change, given the newest error e.
// The hypotheses are that the errors are normally distributed around 0, or around the error before. This is the first step of
// a change-point detection (Adams & MacKay 2007); the autocorrelation knows the change only one run later.
func changeProbability(e, before, deviation float64) float64 {
	logOdds := math.Log(changeOdds) + (e*e-(e-before)*(e-before))/(2*deviation*deviation)
	return 1 / (1 + math.Exp(-logOdds))
}
