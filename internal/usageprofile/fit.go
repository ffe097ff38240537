package usageprofile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/density"
)

const (
	MinRuns = 100    // smallest number of runs with a peak
	MaxRuns = 10_000 // largest number of runs that a fit reads
	// RunsPerTask is the largest number of runs of a task. The caller of Fit must select the newest. Without this limit, a
	// frequent task could be a profile by itself.
	RunsPerTask = 50
	maxTasks    = 2000 // largest number of tasks; their names take at most 4 MB
	maxProfiles = 64
)

const (
	neighbours      = 5    // rank of the neighbour whose distance measures density
	resolution      = 0.05 // scaled distance below which runs count as equal
	minCoverage     = 0.4  // smallest share of the runs with a profile; below it most runs would be outliers
	minSilhouette   = 0.25 // smallest silhouette; below it there is no substantial structure (Kaufman & Rousseeuw 1990)
	validitySample  = 1000 // largest number of points of a silhouette or a Hopkins statistic
	hopkinsProbes   = 100
	seed            = 1     // of all random choices
	smallestProfile = 10    // smallest number of runs of a cluster; the function trim may leave fewer
	smallestShare   = 0.005 // share of the runs at which the search for the smallest size of a cluster starts
	largestShare    = 0.25  // share of the runs at which this search ends
	farOutside      = 3     // a distance is far outside if it is this number of interquartile ranges above the upper quartile (Tukey 1977)
	outlierID       = 0
)

// Fit finds the profiles of `runs`, which are of one namespace, oldest first. Profiles take their ids from `previous`, the
// set of the previous fit; nil: none. Fit returns nil if there are fewer than MinRuns runs, or if they are equal in every
// quantity that at least half of them report.
func Fit(runs []Run, previous *Set) (*Set, error) {
	runs = limitRuns(runs)
	if len(runs) < MinRuns {
		return nil, nil
	}
	s := &Set{Scaler: newScaler(runs), NextID: 1}
	if len(s.Quantities) == 0 {
		return nil, nil
	}
	points := make([][]float64, len(runs))
	for i := range runs {
		points[i] = s.point(&runs[i].Vector)
	}
	tree, err := density.NewTree(points, neighbours, resolution)
	if err != nil {
		return nil, fmt.Errorf("cluster %d runs: %w", len(runs), err)
	}
	best, err := choose(tree, points)
	if err != nil {
		return nil, fmt.Errorf("cluster %d runs: %w", len(runs), err)
	}
	s.Quality = best.Quality
	s.Hopkins = density.Hopkins(sample(points, validitySample), hopkinsProbes, seed)
	s.setClusters(runs, points, tree, best.clustering)
	s.describe(runs)
	s.assignIDs(runs, previous)
	s.predict(runs)
	return s, nil
}

// limitRuns returns the newest MaxRuns runs, without the runs of tasks beyond the newest maxTasks.
func limitRuns(runs []Run) []Run {
	runs = runs[max(0, len(runs)-MaxRuns):]
	tasks := map[Task]bool{}
	for i := len(runs) - 1; i >= 0; i-- {
		if len(tasks) == maxTasks && !tasks[runs[i].Task] {
			return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !tasks[r.Task] })
		}
		tasks[runs[i].Task] = true
	}
	return runs
}

// Quality says how well the profiles describe the runs. If all runs except outliers are one profile, MinSize,
// Silhouette and DaviesBouldin are 0.
type Quality struct {
	MinSize       int     // smallest number of runs of a cluster before the function trim removes outliers
	Coverage      float64 // share of the runs with a profile
	Silhouette    float64 // mean of a sample of the runs with a profile, −1 to 1; 1 is best
	DaviesBouldin float64 // Davies–Bouldin index; 0 is best
	Hopkins       float64 // Hopkins statistic, 0.5: no structure, 1: clusters; it decides nothing
}

type candidate struct {
	Quality
	clustering *density.Clustering
}

// score rates the profiles; higher is better. It prefers profiles that cover many runs, are dense and lie far from each
// other.
func (q *Quality) score() float64 {
	return q.Coverage * (q.Silhouette + 1/(1+q.DaviesBouldin)) / 2
}

// choose compares HDBSCAN clusterings with several minimum cluster sizes. The first size is a two-hundredth of the runs, but at
// least smallestProfile; each further size is twice the previous one, up to a quarter of the runs. choose returns the
// clustering with the best score among those that have two to maxProfiles clusters, a coverage of at least minCoverage and a
// silhouette of at least minSilhouette. If there is none, all runs except those far outside are one profile.
func choose(tree *density.Tree, points [][]float64) (best candidate, err error) {
	n := float64(len(points))
	best = oneProfile(tree)
	for size := max(smallestProfile, int(smallestShare*n)); float64(size) <= largestShare*n; size *= 2 {
		c, err := tree.Cluster(density.Config{MinSize: size})
		if err != nil {
			return best, err
		}
		if len(c.Clusters) < 2 || len(c.Clusters) > maxProfiles {
			continue
		}
		trim(c)
		next := candidate{Quality{MinSize: size}, c}
		next.rate(points)
		if next.Silhouette >= minSilhouette && next.Coverage >= minCoverage && (best.MinSize == 0 || next.score() > best.score()) {
			best = next
		}
	}
	return best, nil
}

// trim makes outliers of the runs that leave their cluster at a far larger distance than most. Without trim, the clusters of
// HDBSCAN (excess of mass) include their sparse surroundings.
func trim(c *density.Clustering) {
	for label := range c.Clusters {
		var exits []float64
		for i, runLabel := range c.Labels {
			if runLabel == label {
				exits = append(exits, c.Exit[i])
			}
		}
		cluster := &c.Clusters[label]
		cluster.MaxReachability = min(cluster.MaxReachability, fence(exits))
		for i, runLabel := range c.Labels {
			if runLabel == label && c.Exit[i] > cluster.MaxReachability {
				c.Labels[i] = density.Noise
				cluster.Size--
			}
		}
	}
}

// fence returns Tukey's outer fence of the values. It sorts the slice.
func fence(values []float64) float64 {
	slices.Sort(values)
	low, high := quantile(values, .25), quantile(values, .75)
	return high + farOutside*max(high-low, resolution)
}

func (c *candidate) rate(points [][]float64) {
	covered := 0
	var rated [][]float64
	var labels []int
	for i, label := range c.clustering.Labels {
		if label != density.Noise {
			covered++
			rated, labels = append(rated, points[i]), append(labels, label)
		}
	}
	c.Coverage = float64(covered) / float64(len(points))
	c.DaviesBouldin = density.DaviesBouldin(rated, labels)
	c.Silhouette = density.Silhouette(sample(rated, validitySample), sample(labels, validitySample))
}

// sample returns a random element of each block of consecutive elements, at most n. Evenly spaced elements would miss
// profiles if tasks run in a cycle.
func sample[T any](list []T, n int) []T {
	block := (len(list) + n - 1) / n
	if block <= 1 {
		return list
	}
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]T, 0, n)
	for from := 0; from < len(list); from += block {
		out = append(out, list[from+r.IntN(min(block, len(list)-from))])
	}
	return out
}

// oneProfile makes one profile of all runs whose core distance (to the neighbour of rank `neighbours`) is not far outside the
// usual range.
func oneProfile(tree *density.Tree) candidate {
	n := len(tree.Core)
	c := &density.Clustering{Labels: make([]int, n), Outlier: make([]float64, n), Exit: tree.Core, MinBranchDistance: make([]float64, n)}
	reach, densest, covered := fence(slices.Clone(tree.Core)), slices.Min(tree.Core), 0
	for i, core := range tree.Core {
		if c.Labels[i] = density.Noise; core <= reach {
			c.Labels[i] = 0
			covered++
		}
		c.MinBranchDistance[i], c.Outlier[i] = densest, 1-densest/core
	}
	c.Clusters = []density.Cluster{{Size: covered, MaxReachability: reach}}
	return candidate{Quality{Coverage: float64(covered) / float64(n)}, c}
}

func distance(p []float64, stored []float32) float64 {
	sum := 0.0
	for i, v := range p {
		d := v - float64(stored[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}
