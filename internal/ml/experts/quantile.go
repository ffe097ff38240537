package experts

import "math"

// quantileTable holds the quantiles of a residual distribution that are the same for every
// row. It is computed when the residuals change, so that answers need not compute it.
type quantileTable struct {
	tail     float64             // tailScale of the residuals
	quantile [len(risks)]float64 // upperQuantile at each of risks
}

func (t *quantileTable) compute(sorted []float64) {
	t.tail = tailScale(sorted)
	for i, risk := range risks {
		t.quantile[i] = upperQuantile(sorted, risk, t.tail)
	}
}

// upperQuantile returns the value that the next draw exceeds with probability risk, given
// the sorted residuals: the interpolated conformal order statistic. With 99 residuals and
// risk 0.02 it is the second largest. Above the largest residual it extrapolates with an
// exponential tail; tail is tailScale of the same residuals.
func upperQuantile(sorted []float64, risk, tail float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	rank := risk * float64(n+1)
	if rank >= 1 {
		i := min(int(rank), n)
		v := sorted[n-i]
		if i < n {
			v += (rank - float64(i)) * (sorted[n-i-1] - v)
		}
		return v
	}
	return sorted[n-1] + tail*math.Log(1/rank)
}

// exceedanceProb returns P(next draw > v), the inverse of upperQuantile with the same
// residuals and tail. It is 1 below the smallest residual, and 1 without residuals.
func exceedanceProb(sorted []float64, v, tail float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 1
	}
	switch above := countAbove(sorted, v); {
	case above == n:
		return 1
	case above > 0:
		low, high := sorted[n-above-1], sorted[n-above]
		return (float64(above) + (high-v)/(high-low)) / float64(n+1)
	}
	least := 1 / float64(n+1)
	switch {
	case tail > 0:
		return least * math.Exp(-(v-sorted[n-1])/tail)
	case v > sorted[n-1]:
		return least / 2 // all residuals are equal, so the scale of the tail is unknown
	}
	return least
}

// countAbove counts the values above v. It searches from the top in steps that double
// (exponential search), because most queries are above nearly all residuals.
func countAbove(sorted []float64, v float64) int {
	n := len(sorted)
	low, high := 0, n // bounds of the count
	for step := 1; low+step <= n; step *= 2 {
		if sorted[n-low-step] <= v {
			high = low + step - 1
			break
		}
		low += step
	}
	for low < high {
		if middle := (low + high + 1) / 2; sorted[n-middle] <= v {
			high = middle - 1
		} else {
			low = middle
		}
	}
	return low
}

// tailScale returns the scale of the exponential tail: half the mean excess of the top
// tenth. On the measured traces, the full mean excess cost more than the kills it avoided.
func tailScale(sorted []float64) float64 { return tailShare * meanExcess(sorted) }

const tailShare = 0.5

// meanExcess returns the mean distance of the top tenth (at least three values) from the
// value below it.
func meanExcess(sorted []float64) float64 {
	n := len(sorted)
	t := min(n-1, max(3, n/10))
	if t < 1 {
		return 0
	}
	sum := 0.0
	for _, v := range sorted[n-t:] {
		sum += v - sorted[n-1-t]
	}
	return sum / float64(t)
}
