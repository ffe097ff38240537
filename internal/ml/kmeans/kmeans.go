// Package kmeans partitions weighted points by k-means: Lloyd's algorithm (1982) from seeded
// k-means++ starts (Arthur & Vassilvitskii 2007). It rates a partition by its simplified
// silhouette.
//
// The package handles numbers only: no tasks, clock or I/O. The same points and configuration give the same partition.
package kmeans

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ErrInput reports points, weights or a configuration that cannot be partitioned.
var ErrInput = errors.New("kmeans: unusable input")

// Config configures Fit.
type Config struct {
	K        int    // number of clusters, 1 or more
	Seed     uint64 // seed of the random starts
	Starts   int    // number of k-means++ starts; Fit returns the best result; 10 if zero
	MaxSteps int    // largest number of Lloyd steps per start; 100 if zero
}

const (
	defaultStarts   = 10
	defaultMaxSteps = 100
)

// Result is a partition.
type Result struct {
	Centroids [][]float64 // in lexicographic order; fewer than K if there are fewer distinct points or a cluster ends without points
	Labels    []int       // index of each point's centroid
	Weights   []float64   // total weight of the points of each centroid
	Inertia   float64     // weighted sum of the squared distances to the centroids
	Steps     int         // Lloyd steps of the best start
	Converged bool        // the last step of the best start changed no label
}

// Fit partitions points into at most c.K clusters. All points have the same length and finite
// values. Weights are positive and finite; nil weights are all 1. Fit returns ErrInput otherwise, and without points or if
// c.K is below 1.
func Fit(points [][]float64, weights []float64, c Config) (*Result, error) {
	if err := check(points, weights, c); err != nil {
		return nil, err
	}
	if weights == nil {
		weights = slices.Repeat([]float64{1}, len(points))
	}
	if c.Starts <= 0 {
		c.Starts = defaultStarts
	}
	if c.MaxSteps <= 0 {
		c.MaxSteps = defaultMaxSteps
	}
	rng := rand.New(rand.NewPCG(c.Seed, uint64(c.K)))
	var best *Result
	for range c.Starts {
		r := lloyd(points, weights, plusPlus(points, weights, c.K, rng), c.MaxSteps)
		if best == nil || r.Inertia < best.Inertia {
			best = r
		}
	}
	best.sort()
	return best, nil
}

func check(points [][]float64, weights []float64, c Config) error {
	if c.K < 1 {
		return fmt.Errorf("%w: %d clusters; set K to 1 or more", ErrInput, c.K)
	}
	if len(points) == 0 {
		return fmt.Errorf("%w: no points", ErrInput)
	}
	if weights != nil && len(weights) != len(points) {
		return fmt.Errorf("%w: %d weights for %d points", ErrInput, len(weights), len(points))
	}
	for i, p := range points {
		if len(p) != len(points[0]) {
			return fmt.Errorf("%w: point %d has %d values, the first has %d", ErrInput, i, len(p), len(points[0]))
		}
		for j, v := range p {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: point %d, value %d is %v", ErrInput, i, j, v)
			}
		}
		if weights != nil && !(weights[i] > 0 && !math.IsInf(weights[i], 0)) {
			return fmt.Errorf("%w: weight %d is %v", ErrInput, i, weights[i])
		}
	}
	return nil
}

// plusPlus draws at most k distinct points as centroids (k-means++). The probability of a point is proportional to its
// weight for the first centroid, and to its weight times its squared distance to the nearest centroid for each later one.
func plusPlus(points [][]float64, weights []float64, k int, rng *rand.Rand) [][]float64 {
	centroids := [][]float64{slices.Clone(points[draw(weights, rng)])}
	distance := make([]float64, len(points))
	for i := range distance {
		distance[i] = math.Inf(1)
	}
	share := make([]float64, len(points))
	for len(centroids) < k {
		newest := centroids[len(centroids)-1]
		for i, p := range points {
			distance[i] = min(distance[i], squared(p, newest, distance[i]))
			share[i] = weights[i] * distance[i]
		}
		next := draw(share, rng)
		if next < 0 { // every point coincides with a centroid
			break
		}
		centroids = append(centroids, slices.Clone(points[next]))
	}
	return centroids
}

// draw returns a random index, with a probability proportional to the share at this index; −1 if all shares
// are zero.
func draw(shares []float64, rng *rand.Rand) int {
	total := 0.0
	for _, s := range shares {
		total += s
	}
	at, last := rng.Float64()*total, -1
	for i, s := range shares {
		if s > 0 {
			last = i
			if at -= s; at < 0 {
				break
			}
		}
	}
	return last
}

func lloyd(points [][]float64, weights []float64, centroids [][]float64, maxSteps int) *Result {
	r := &Result{Centroids: centroids, Labels: slices.Repeat([]int{-1}, len(points)), Weights: make([]float64, len(centroids))}
	for r.Steps < maxSteps && !r.Converged {
		r.Steps++
		r.Converged = !r.assign(points, weights)
		if !r.Converged {
			r.move(points, weights)
		}
	}
	if !r.Converged {
		r.assign(points, weights)
	}
	return r
}

func (r *Result) assign(points [][]float64, weights []float64) (changed bool) {
	r.Inertia = 0
	clear(r.Weights)
	for i, p := range points {
		label, distance := r.Nearest(p)
		changed = changed || label != r.Labels[i]
		r.Labels[i] = label
		r.Weights[label] += weights[i]
		r.Inertia += weights[i] * distance
	}
	return changed
}

func (r *Result) move(points [][]float64, weights []float64) {
	sums := make([][]float64, len(r.Centroids))
	for c := range sums {
		sums[c] = make([]float64, len(points[0]))
	}
	for i, p := range points {
		sum := sums[r.Labels[i]]
		for j, v := range p {
			sum[j] += weights[i] * v
		}
	}
	taken := map[int]bool{}
	for c, sum := range sums {
		if r.Weights[c] == 0 {
			far := r.farthest(points, weights, taken)
			taken[far] = true
			copy(sum, points[far])
			continue
		}
		for j := range sum {
			sum[j] /= r.Weights[c]
		}
	}
	r.Centroids = sums
}

func (r *Result) farthest(points [][]float64, weights []float64, taken map[int]bool) int {
	far, most := 0, -1.0
	for i, p := range points {
		if d := weights[i] * squared(p, r.Centroids[r.Labels[i]], math.Inf(1)); d > most && !taken[i] {
			far, most = i, d
		}
	}
	return far
}

// Nearest returns the index of the centroid nearest to p and the squared distance to it. On a tie
// the lower index wins. Nearest does not allocate.
func (r *Result) Nearest(p []float64) (label int, distance float64) {
	distance = math.Inf(1)
	for c, centroid := range r.Centroids {
		if d := squared(p, centroid, distance); d < distance {
			label, distance = c, d
		}
	}
	return label, distance
}

// squared returns the squared Euclidean distance. As soon as a partial sum reaches `limit`, it returns that sum.
func squared(a, b []float64, limit float64) float64 {
	sum := 0.0
	for i, v := range a {
		d := v - b[i]
		if sum += d * d; sum >= limit {
			return sum
		}
	}
	return sum
}

// sort orders the centroids lexicographically, so that labels do not depend on the order in which the
// centroids were drawn. It drops centroids without points.
func (r *Result) sort() {
	order := make([]int, 0, len(r.Centroids))
	for c := range r.Centroids {
		if r.Weights[c] > 0 {
			order = append(order, c)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(r.Centroids[a], r.Centroids[b]) })
	label, centroids, weights := make([]int, len(r.Centroids)), make([][]float64, len(order)), make([]float64, len(order))
	for to, from := range order {
		label[from], centroids[to], weights[to] = to, r.Centroids[from], r.Weights[from]
	}
	for i := range r.Labels {
		r.Labels[i] = label[r.Labels[i]]
	}
	r.Centroids, r.Weights = centroids, weights
}
