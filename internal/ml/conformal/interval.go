package conformal

import "gonum.org/v1/gonum/stat/distuv"

// ClopperPearson returns the exact confidence interval (1934) for a probability, given k
// hits in n independent rows. It contains the true value with probability ≥ level, so it is
// conservative. 0 kills in 30 rows at 0.95 give (0, 0.116). It returns (0, 1) if n is 0.
func ClopperPearson(k, n int, level float64) (low, high float64) {
	tail := (1 - level) / 2
	low, high = 0, 1
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		high = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return low, high
}
