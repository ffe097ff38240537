package density

import (
	"math"
	"math/rand/v2"
)

// Silhouette returns the mean silhouette of the points in clusters (Rousseeuw 1987): 1 is best and −1 is worst.
// With fewer than two clusters it returns 0. The time grows with the square of the number of points,
// so pass only a sample if there are many.
func Silhouette(points [][]float64, labels []int) float64 {
	sizes := sizesOf(labels)
	if len(sizes) < 2 {
		return 0
	}
	sum, n := 0.0, 0
	distances := make([]float64, len(sizes))
	for i, p := range points {
		own := labels[i]
		if own == Noise {
			continue
		}
		n++
		if sizes[own] < 2 {
			continue // its silhouette is 0
		}
		clear(distances)
		for j, q := range points {
			if labels[j] != Noise {
				distances[labels[j]] += math.Sqrt(squared(p, q))
			}
		}
		within, nearest := distances[own]/float64(sizes[own]-1), math.Inf(1)
		for c, d := range distances {
			if c != own && sizes[c] > 0 {
				nearest = min(nearest, d/float64(sizes[c]))
			}
		}
		if most := max(within, nearest); most > 0 && !math.IsInf(most, 1) {
			sum += (nearest - within) / most
		}
	}
	return sum / float64(max(1, n))
}

func sizesOf(labels []int) (sizes []int) {
	for _, label := range labels {
		for label >= len(sizes) {
			sizes = append(sizes, 0)
		}
		if label != Noise {
			sizes[label]++
		}
	}
	return sizes
}

// DaviesBouldin returns the index of Davies & Bouldin (1979): 0 is best. The spread of a cluster is the mean distance of
// its points to its centroid. The ratio of two clusters is the sum of their spreads divided by the distance of their
// centroids. The index is the mean over the clusters of the largest ratio to another one; 0 with fewer than two clusters.
func DaviesBouldin(points [][]float64, labels []int) float64 {
	sizes := sizesOf(labels)
	if len(sizes) < 2 {
		return 0
	}
	centroids, spreads := make([][]float64, len(sizes)), make([]float64, len(sizes))
	for c := range centroids {
		centroids[c] = make([]float64, len(points[0]))
	}
	for i, p := range points {
		if c := labels[i]; c != Noise {
			for d, v := range p {
				centroids[c][d] += v / float64(sizes[c])
			}
		}
	}
	for i, p := range points {
		if c := labels[i]; c != Noise {
			spreads[c] += math.Sqrt(squared(p, centroids[c])) / float64(sizes[c])
		}
	}
	sum, used := 0.0, 0
	for a := range centroids {
		worst := 0.0
		for b := range centroids {
			if distance := math.Sqrt(squared(centroids[a], centroids[b])); a != b && sizes[a] > 0 && sizes[b] > 0 && distance > 0 {
				worst = max(worst, (spreads[a]+spreads[b])/distance)
			}
		}
		if sizes[a] > 0 {
			sum, used = sum+worst, used+1
		}
	}
	return sum / float64(max(1, used))
}

// Hopkins returns Hopkins' statistic (Hopkins & Skellam 1954): about 0.5 for points without structure,
// near 1 for clusters. It draws as many random positions within the bounding box as the parameter `probes` says, and the
// same number of points, and compares their distances to the nearest other point.
func Hopkins(points [][]float64, probes int, seed uint64) float64 {
	if len(points) < 2 {
		return 0.5
	}
	low, high := bounds(points)
	rng := rand.New(rand.NewPCG(seed, 0))
	uniform, real := 0.0, 0.0
	probe := make([]float64, len(low))
	for range probes {
		for d := range probe {
			probe[d] = low[d] + (high[d]-low[d])*rng.Float64()
		}
		uniform += nearestPower(points, probe, -1)
		i := rng.IntN(len(points))
		real += nearestPower(points, points[i], i)
	}
	if uniform+real == 0 {
		return 0.5
	}
	return uniform / (uniform + real)
}

func bounds(points [][]float64) (low, high []float64) {
	low, high = append([]float64(nil), points[0]...), append([]float64(nil), points[0]...)
	for _, p := range points {
		for d, v := range p {
			low[d], high[d] = min(low[d], v), max(high[d], v)
		}
	}
	return low, high
}

// nearestPower returns d to the power of the dimension, where d is the distance from the probe to the nearest point. The
// result is proportional to the empty volume around the probe. `skip` is the index of a point to ignore; −1: none.
func nearestPower(points [][]float64, probe []float64, skip int) float64 {
	least := math.Inf(1)
	for i, p := range points {
		if i != skip {
			least = min(least, squared(probe, p))
		}
	}
	return math.Pow(least, float64(len(probe))/2)
}
