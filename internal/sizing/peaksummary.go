package sizing

// Usage summarises the measured peaks of a task.
type Usage struct {
	Task     TaskKey
	Runs     int     // successes with a measured peak
	MeanPeak float64 // bytes
	Spread   float64 // standard deviation of the peaks, in bytes
	GBHours  float64 // sum of peak × duration in GB (1e9 bytes) × hours; 0 if no duration is known
}
