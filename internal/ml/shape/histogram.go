// Package shape learns the few distribution shapes that the run times of many tasks share, and
// finds the shape of a task with few runs. It follows "Runtime variation in big data analytics"
// (PACMMOD 2023). A run time is normalised by the median that was predicted before the run, so that
// short and long tasks are comparable. A group is the runs of one task.
//
//	runs ─▶ Counts (200 bins) ─▶ Learn: k-means, k by held-out likelihood ─▶ Set
//	few runs of a task ─▶ Counts ─▶ Set.Member: posterior over the shapes and "none of these"
//	                                  └─▶ Predictive: quantiles and probabilities
//
// The package handles numbers only. The same input gives the same result.
package shape

import (
	"math"
	"slices"
)

// Bins is the number of bins of a histogram. The first and the last bin also count the values outside the range.
const Bins = 200

// Norm is a normalisation of run times.
type Norm uint8

// The normalisations.
const (
	Ratio Norm = iota // duration / median, 0 to 10
	Delta             // duration − median, −900 to 900 seconds
)

// Ends of the ranges of the histograms.
const (
	MaxRatio = 10.0  // of Ratio
	maxDelta = 900.0 // of Delta, in seconds
)

// String returns the name of the normalisation.
func (n Norm) String() string {
	if n == Delta {
		return "delta"
	}
	return "ratio"
}

// Normalise normalises a duration in seconds by the predicted median.
func (n Norm) Normalise(seconds, median float64) float64 {
	if n == Delta {
		return seconds - median
	}
	return seconds / max(median, math.SmallestNonzeroFloat64)
}

// scale returns the lower end of the range and the width of a bin.
func (n Norm) scale() (low, width float64) {
	if n == Delta {
		return -maxDelta, 2 * maxDelta / Bins
	}
	return 0, MaxRatio / Bins
}

// Bin returns the bin of a normalised run.
func (n Norm) Bin(x float64) int {
	low, width := n.scale()
	return int(max(0, min(Bins-1, math.Floor((x-low)/width))))
}

// Edge returns the lower edge of a bin. Edge(Bins) is the upper edge of the last bin.
func (n Norm) Edge(bin int) float64 {
	low, width := n.scale()
	return low + width*float64(bin)
}

// Counts is the histogram of a task's normalised runs.
type Counts [Bins]uint32

// Count returns the histogram of normalised runs.
func Count(n Norm, runs []float64) *Counts {
	c := new(Counts)
	for _, x := range runs {
		c[n.Bin(x)]++
	}
	return c
}

// Total returns the number of runs.
func (c *Counts) Total() int {
	n := 0
	for _, v := range c {
		n += int(v)
	}
	return n
}

// Density holds the probability of each bin. The probabilities sum to 1.
type Density [Bins]float64

// smoothed returns the histogram as a density, smoothed by the kernel ¼ ½ ¼: a quarter of each
// bin moves to each of its two neighbours. The first and the last bin keep their whole share.
func (c *Counts) smoothed() *Density {
	d := new(Density)
	n := float64(max(1, c.Total()))
	for h, v := range c {
		p := float64(v) / n
		if h == 0 || h == Bins-1 {
			d[h] += p
			continue
		}
		d[h] += p / 2
		d[h-1] += p / 4
		d[h+1] += p / 4
	}
	return d
}

// floorShare is the weight of the uniform density in a shape. It gives every bin a positive probability, also a bin without
// runs. With a smaller weight, one run in such a bin is stronger evidence against the shape.
const floorShare = 0.002

func (d *Density) floored() *Density {
	out := new(Density)
	for h, p := range d {
		out[h] = (1-floorShare)*p + floorShare/Bins
	}
	return out
}

// Quantile returns the normalised run time at probability q, interpolated linearly within a
// bin. The result is always within the range of the normalisation n, so a run may exceed Quantile(n, 1).
func (d *Density) Quantile(n Norm, q float64) float64 {
	below := 0.0
	for h, p := range d {
		if below+p >= q && p > 0 {
			return n.Edge(h) + (n.Edge(h+1)-n.Edge(h))*(q-below)/p
		}
		below += p
	}
	return n.Edge(Bins)
}

// Above returns P(run > x), interpolated linearly within a bin.
func (d *Density) Above(n Norm, x float64) float64 {
	at := n.Bin(x)
	sum := 0.0
	for _, p := range d[at+1:] {
		sum += p
	}
	share := (n.Edge(at+1) - x) / (n.Edge(at+1) - n.Edge(at))
	return min(1, sum+d[at]*max(0, min(1, share)))
}

// Distance returns the Kolmogorov–Smirnov distance between two densities over the same bins.
func (d *Density) Distance(other *Density) float64 {
	most, a, b := 0.0, 0.0, 0.0
	for h := range d {
		a, b = a+d[h], b+other[h]
		most = max(most, math.Abs(a-b))
	}
	return most
}

func mean(list []*Density) *Density {
	out := new(Density)
	for _, d := range list {
		for h, p := range d {
			out[h] += p / float64(len(list))
		}
	}
	return out
}

// root returns the square roots of a density. The Euclidean distance of two such vectors is
// proportional to the Hellinger distance, which treats narrow and wide shapes alike.
func (d *Density) root() []float64 {
	out := slices.Clone(d[:])
	for h, p := range out {
		out[h] = math.Sqrt(p)
	}
	return out
}
