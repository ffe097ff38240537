package experts

import (
	"math"
	"slices"
)

// Window is a ring of the newest values, kept in order of size too.
type Window struct {
	Sorted []float64
	Ring   []float64 // in order of arrival, from At on
	At     int
}

// Add takes a value in, and the oldest out where size are held.
func (w *Window) Add(v float64, size int) {
	if len(w.Ring) < size {
		w.Ring = append(w.Ring, v)
	} else {
		i, _ := slices.BinarySearch(w.Sorted, w.Ring[w.At])
		w.Sorted = slices.Delete(w.Sorted, i, i+1)
		w.Ring[w.At] = v
		w.At = (w.At + 1) % size
	}
	i, _ := slices.BinarySearch(w.Sorted, v)
	w.Sorted = slices.Insert(w.Sorted, i, v)
}

// Keep forgets all but the newest n values.
func (w *Window) Keep(n int) {
	if n >= len(w.Ring) {
		return
	}
	newest := make([]float64, 0, n)
	for i := len(w.Ring) - n; i < len(w.Ring); i++ {
		newest = append(newest, w.Ring[(w.At+i)%len(w.Ring)])
	}
	w.Ring, w.At, w.Sorted = newest, 0, append(w.Sorted[:0], newest...)
	slices.Sort(w.Sorted)
}

// Median is the middle value; 0 of none.
func (w *Window) Median() float64 {
	if len(w.Sorted) == 0 {
		return 0
	}
	return w.Sorted[len(w.Sorted)/2]
}

// Upper is the value that the next draw exceeds with probability risk; see upper.
func (w *Window) Upper(risk float64) float64 { return upper(w.Sorted, risk, tailOf(w.Sorted)) }

// Exceed is P(next draw > v); the inverse of Upper.
func (w *Window) Exceed(v float64) float64 { return exceed(w.Sorted, v, tailOf(w.Sorted)) }

// upper is the value that the next draw exceeds with probability risk, given the
// sorted residuals so far: the conformal order statistic, interpolated. With 99
// residuals and risk 0.02 it is the second largest. Beyond the largest goes an
// exponential tail: tail is tailOf the same residuals.
func upper(sorted []float64, risk, tail float64) float64 {
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

// exceed is P(next > v), by the same residuals and tail: the inverse of upper. It is 1
// below the smallest residual, and where nothing is known.
func exceed(sorted []float64, v, tail float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 1
	}
	switch above := beyond(sorted, v); {
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
		return least / 2 // constant so far: nothing says how far the next may be
	}
	return least
}

// beyond counts the values above v. It looks from the top, in steps that double:
// most of what is asked about is above nearly all residuals.
func beyond(sorted []float64, v float64) int {
	n := len(sorted)
	low, high := 0, n // at least low are above v, at most high
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

// tailOf is the scale of the exponential tail: half the mean excess of the top
// tenth. The whole of it was measured to pay for kills that did not come.
func tailOf(sorted []float64) float64 { return tailShare * meanExcess(sorted) }

const tailShare = 0.5

// meanExcess is the mean distance of the top tenth (three at least) from the
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

// ordered are values in order of size.
type ordered []float64

func (o *ordered) insert(v float64) {
	i, _ := slices.BinarySearch(*o, v)
	*o = slices.Insert(*o, i, v)
}

// remove takes out a value that is there.
func (o *ordered) remove(v float64) {
	i, _ := slices.BinarySearch(*o, v)
	*o = slices.Delete(*o, i, i+1)
}

// sorted writes values to dst in order of size. Each goes near its place by its share
// of the range first, and an insertion does the rest: of a hundred residuals that takes
// a third of what slices.Sort does.
func sorted(values, dst []float64) []float64 {
	const places = 128
	dst = append(dst[:0], values...)
	if len(values) < 2 {
		return dst
	}
	low, high := slices.Min(values), slices.Max(values)
	share := (places - 1) / (high - low)
	if !(share > 0 && share < math.MaxFloat64) || len(values) > math.MaxUint8 {
		slices.Sort(dst) // they hardly differ, or too much, or are too many
		return dst
	}
	var before [places + 1]uint8
	for _, v := range values {
		before[int((v-low)*share)+1]++
	}
	for i := range places {
		before[i+1] += before[i]
	}
	for _, v := range values {
		place := &before[int((v-low)*share)]
		dst[*place] = v
		*place++
	}
	for i := 1; i < len(dst); i++ {
		v, j := dst[i], i
		for ; j > 0 && dst[j-1] > v; j-- {
			dst[j] = dst[j-1]
		}
		dst[j] = v
	}
	return dst
}
