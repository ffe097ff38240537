package taskmodel

// meanMixture averages the point prediction of the log run time with the mean of the task's own runs,
// weighted by how well each predicted the earlier runs (Bayesian model averaging of two Gaussian
// predictions). A ridge regression that was fitted on few values of the inputs diverges for new values, and then the
// mean of the runs predicts better. With fewer than two runs it returns the point prediction.
type meanMixture struct {
	Runs       float64 // number of learned runs, but at most mixtureMemory
	Mean       float64 // mean log run time
	MeanError  float64 // mean squared error of Mean from before each run
	PointError float64 // mean squared error of the point prediction from before each run
}

const (
	mixtureMemory = 100  // after more runs than this, newer runs weigh more in the means, so that the weights follow changes
	pointLogOdds  = 1.5  // prior log odds of the point prediction; positive, because most run times depend on inputs
	priorVariance = 0.09 // prior squared error of the point prediction, with the weight of one run; twice as large for the mean
)

// learn adds a run time and the point prediction that was made before the run, both as log1p of seconds.
func (m *meanMixture) learn(log, predicted float64) {
	if m.Runs > 0 {
		m.MeanError += ((log-m.Mean)*(log-m.Mean) - m.MeanError) / m.Runs
		m.PointError += ((log-predicted)*(log-predicted) - m.PointError) / m.Runs
	}
	m.Runs = min(m.Runs+1, mixtureMemory)
	m.Mean += (log - m.Mean) / m.Runs
}

func (m *meanMixture) predict(predicted float64) float64 {
	n := m.Runs - 1 // the first run has no mean before it
	if n <= 0 {
		return predicted
	}
	return m.Mean + firstWeight(n, m.PointError, m.MeanError, pointLogOdds)*(predicted-m.Mean)
}
