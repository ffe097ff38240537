package sizing

import "math"

// WilsonInterval returns the 95 % score interval (Wilson 1927) of a proportion of k in n.
// It keeps its coverage near zero: 0 of 100 gives 0 to 3.7 %, 3 of 100 gives 1.0 to 8.5 %.
// n = 0 gives 0 to 1.
func WilsonInterval(k, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959964 // 97.5 % quantile of the normal distribution
	share, count := float64(k)/float64(n), float64(n)
	centre := share + z*z/(2*count)
	spread := z * math.Sqrt(share*(1-share)/count+z*z/(4*count*count))
	scale := 1 + z*z/count
	return max(0, (centre-spread)/scale), min(1, (centre+spread)/scale)
}
