package sizing

// Usage summarises the peaks of the successes of a task. A success without a measured peak counts with its sampled peak.
type Usage struct {
	Task     TaskKey
	Runs     int     // successes with a measured or sampled peak
	MeanPeak float64 // bytes
	Spread   float64 // standard deviation of the peaks, in bytes
	GBHours  float64 // sum of peak × duration in GB (1e9 bytes) × hours; 0 if no duration is known
}
