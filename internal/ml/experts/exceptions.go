package experts

// exceptionWindow sets the decay of ExceptionCounts: each exception first multiplies both counts by 1 − 1/exceptionWindow. So
// Rows approaches exceptionWindow.
const exceptionWindow = 32

// ExceptionCounts counts the exceptions of a task, which are rows with a rare value or a rarely present feature
// (Point.IsException), and the kills among them. The residuals are mostly from other rows, and the errors for an exception may
// be larger, for example because an input has another effect. So the residuals say little about the probability that an
// exception is killed.
type ExceptionCounts struct {
	Rows  float64 // decayed number of exceptions learned after the cold start
	Kills float64 // decayed number of these rows whose peak exceeded the answer
}

func (c *ExceptionCounts) add(killed bool) {
	const kept = 1 - 1.0/exceptionWindow
	c.Rows, c.Kills = c.Rows*kept+1, c.Kills*kept
	if killed {
		c.Kills++
	}
}

// killRate returns the kill rate of the exceptions, shrunk to a promise, which has the weight of one row.
func (c *ExceptionCounts) killRate(promised float64) float64 {
	return (c.Kills + promised) / (c.Rows + 1)
}
