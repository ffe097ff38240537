package experts

import "slices"

// Window is a ring buffer of the newest values, with a sorted copy.
type Window struct {
	Sorted []float64 // ascending
	Ring   []float64 // in order of arrival, from At on and then from the start
	At     int       // index of the oldest value in Ring
}

// Add inserts a value and removes the oldest one if the number of values is already `size`.
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

// Position returns a number that changes with each added value: it grows by one, but in a full window of n values it
// starts at n again after 2n − 1.
func (w *Window) Position() int { return len(w.Ring) + w.At }

// Newest appends the newest n values, or all if there are fewer, to dst, oldest first.
func (w *Window) Newest(dst []float64, n int) []float64 {
	for i := max(0, len(w.Ring)-n); i < len(w.Ring); i++ {
		dst = append(dst, w.Ring[(w.At+i)%len(w.Ring)])
	}
	return dst
}

// KeepNewest removes all values except the newest n.
func (w *Window) KeepNewest(n int) {
	if n >= len(w.Ring) {
		return
	}
	newest := w.Newest(make([]float64, 0, n), n)
	w.Ring, w.At, w.Sorted = newest, 0, append(w.Sorted[:0], newest...)
	slices.Sort(w.Sorted)
}

// DropNewest removes the newest n values, or all if there are fewer.
func (w *Window) DropNewest(n int) {
	kept := w.Newest(make([]float64, 0, len(w.Ring)), len(w.Ring))
	kept = kept[:max(0, len(kept)-n)]
	w.Ring, w.At, w.Sorted = kept, 0, append(w.Sorted[:0], kept...)
	slices.Sort(w.Sorted)
}

// Median returns the middle value, the larger one of two. It returns 0 for an empty window.
func (w *Window) Median() float64 {
	if len(w.Sorted) == 0 {
		return 0
	}
	return w.Sorted[len(w.Sorted)/2]
}

// Quantile returns Sorted[⌊share · n⌋] of n values, 0 ≤ share < 1. It returns 0 for an empty window.
func (w *Window) Quantile(share float64) float64 {
	if len(w.Sorted) == 0 {
		return 0
	}
	return w.Sorted[int(share*float64(len(w.Sorted)))]
}

// UpperQuantile returns the value that the next value of the distribution exceeds with the probability `risk`, and 0 for an
// empty window.
func (w *Window) UpperQuantile(risk float64) float64 {
	sorted := ascending{values: w.Sorted}
	return upperQuantile(&sorted, risk, tailOf(&sorted))
}

// ExceedanceProb returns P(next value > v), the inverse of UpperQuantile. It is 1 for an empty window.
func (w *Window) ExceedanceProb(v float64) float64 {
	sorted := ascending{values: w.Sorted}
	return exceedanceProb(&sorted, v, tailOf(&sorted))
}
