package kmeans

import "math"

// Silhouette returns the weighted simplified silhouette of the partition (Hruschka et al. 2004),
// from −1 to 1: the mean of (b − a) / max(a, b), where a is a point's distance to its own centroid
// and b the distance to the nearest other centroid. `points` and `weights` are those of Fit. The result
// is 0 with fewer than two clusters. The time is proportional to the number of points times the number of clusters, not
// to the square of the number of points.
func (r *Result) Silhouette(points [][]float64, weights []float64) float64 {
	if len(r.Centroids) < 2 {
		return 0
	}
	sum, total := 0.0, 0.0
	for i, p := range points {
		a, b := 0.0, math.Inf(1)
		for c, centroid := range r.Centroids {
			d := math.Sqrt(squared(p, centroid, math.Inf(1)))
			if c == r.Labels[i] {
				a = d
			} else {
				b = min(b, d)
			}
		}
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		total += w
		if m := max(a, b); m > 0 {
			sum += w * (b - a) / m
		}
	}
	return sum / total
}
