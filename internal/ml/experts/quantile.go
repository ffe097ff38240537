package experts

import "math"

// quantileTable holds the quantiles of a residual distribution at the probabilities in risks. It is
// computed when the residuals change, so that answers need not compute it.
type quantileTable struct {
	tail     tail                // of the residuals
	quantile [len(risks)]float64 // upperQuantile at each of risks
}

func (t *quantileTable) compute(sorted *ascending) {
	t.tail = tailOf(sorted)
	for i, risk := range risks {
		t.quantile[i] = upperQuantile(sorted, risk, t.tail)
	}
}

// upperQuantile returns the value that the next draw exceeds with probability risk, given
// the sorted residuals: the interpolated conformal order statistic. With 99 residuals and
// risk 0.02 it is the second largest. Above the largest residual it extrapolates with an
// exponential tail; t is the result of tailOf for the same residuals.
func upperQuantile(sorted *ascending, risk float64, t tail) float64 {
	n := sorted.len()
	if n == 0 {
		return 0
	}
	rank := risk * float64(n+1)
	if rank >= 1 {
		i := min(int(rank), n)
		v := sorted.at(n - i)
		if i < n {
			v += (rank - float64(i)) * (sorted.at(n-i-1) - v)
		}
		return v
	}
	return t.from + t.scale*math.Log(1/rank)
}

// exceedanceProb returns P(next draw > v), the inverse of upperQuantile with the same
// residuals and tail. It is 1 below the smallest residual, and 1 without residuals.
func exceedanceProb(sorted *ascending, v float64, t tail) float64 {
	n := sorted.len()
	if n == 0 {
		return 1
	}
	if !(v >= t.from) { // rare: most queries are above all residuals
		above := countAbove(sorted, v)
		if above == n {
			return 1
		}
		low, high := sorted.at(n-above-1), sorted.at(n-above)
		return (float64(above) + (high-v)/(high-low)) / float64(n+1)
	}
	least := 1 / float64(n+1)
	switch {
	case t.scale > 0:
		return least * math.Exp(-(v-t.from)/t.scale)
	case v > t.from:
		return least / 2 // the scale of the tail is unknown: there is one residual, or the largest ones are equal
	}
	return least
}

// countAbove counts the values above v. It searches in steps that double (exponential search): from the
// top, because most queries are above nearly all residuals, or from the previous count, because queries
// for several amounts descend.
func countAbove(sorted *ascending, v float64) int {
	n := sorted.len()
	low, high := sorted.above, n // bounds of the count
	if low > 0 && sorted.at(n-low) <= v {
		low = 0
	}
	for step := 1; low+step <= n; step *= 2 {
		if sorted.at(n-low-step) <= v {
			high = low + step - 1
			break
		}
		low += step
	}
	for low < high {
		if middle := (low + high + 1) / 2; sorted.at(n-middle) <= v {
			high = middle - 1
		} else {
			low = middle
		}
	}
	sorted.above = low
	return low
}

type tail struct {
	from  float64 // the largest residual, above which the tail starts
	scale float64 // mean of the exponential distribution; 0: unknown
}

// tailOf returns the tail above the largest residual. Its scale is tailShare of the mean excess of the top
// tenth. On the measured traces, the full mean excess cost more memory than the avoided kills would have cost.
func tailOf(sorted *ascending) (t tail) {
	if n := sorted.len(); n > 0 {
		t.from = sorted.at(n - 1)
	}
	t.scale = tailShare * meanExcess(sorted)
	return t
}

const tailShare = 0.5

// meanExcess returns the mean distance of the top tenth (at least three values, where possible) from the
// value below it. It returns 0 for fewer than two values.
func meanExcess(sorted *ascending) float64 {
	n := sorted.len()
	t := min(n-1, max(3, n/10))
	if t < 1 {
		return 0
	}
	sum, below := 0.0, sorted.at(n-1-t)
	for i := n - t; i < n; i++ {
		sum += sorted.at(i) - below
	}
	return sum / float64(t)
}
