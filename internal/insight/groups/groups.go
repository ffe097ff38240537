// Package groups clusters tasks into light, moderate and heavy by their usage.
//
// It applies k-means (Lloyd 1982, k = 3) to three quantities of each task: the mean peak, the used
// GB·h, and the standard deviation of the peaks. These quantities are skewed over orders of magnitude.
// Therefore the cube roots are used, which are nearly normal for gamma-distributed values (Wilson and
// Hilferty 1931), and standardised. The result is deterministic.
package groups

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// MinTasks is the smallest number of tasks with measured usage for which a namespace is clustered. With
// fewer tasks, three clusters are not meaningful; sizing.GroupOf groups such tasks by fixed thresholds.
const MinTasks = 6

// point is the position of a task: the standardised cube roots of its quantities.
type point [3]float64

// Groups maps the clustered tasks to their groups.
type Groups map[sizing.TaskKey]sizing.Group

// Cluster clusters the tasks of each namespace separately. It omits namespaces with fewer than
// MinTasks tasks or without three distinct clusters.
func Cluster(usage []sizing.Usage) Groups {
	namespaces := map[string][]sizing.Usage{}
	for _, u := range usage {
		namespaces[u.Task.Namespace] = append(namespaces[u.Task.Namespace], u)
	}
	groups := make(Groups, len(usage))
	for _, tasks := range namespaces {
		if len(tasks) < MinTasks {
			continue
		}
		label, distinct := cluster(positions(tasks))
		for i := range tasks {
			if distinct {
				groups[tasks[i].Task] = []sizing.Group{sizing.Light, sizing.Moderate, sizing.Heavy}[label[i]]
			}
		}
	}
	return groups
}

// Of returns the group of a task: its cluster or, if the task is not clustered, the group by
// thresholds for the quantiles of its peaks.
func (g Groups) Of(task sizing.TaskKey, memory sizing.Quantiles) sizing.Group {
	if group, ok := g[task]; ok {
		return group
	}
	return sizing.GroupOf(memory)
}

func positions(usage []sizing.Usage) []point {
	points := make([]point, len(usage))
	for i, u := range usage {
		points[i] = point{math.Cbrt(u.MeanPeak), math.Cbrt(u.GBHours), math.Cbrt(u.Spread)}
	}
	n := float64(len(points))
	for d := range points[0] {
		mean, squares := 0.0, 0.0
		for i := range points {
			mean += points[i][d] / n
		}
		for i := range points {
			squares += (points[i][d] - mean) * (points[i][d] - mean)
		}
		deviation := math.Sqrt(squares / n)
		if !(deviation > 1e-12*math.Abs(mean)) {
			deviation = math.Inf(1) // all tasks are equal in this quantity, so that it has no influence
		}
		for i := range points {
			points[i][d] = (points[i][d] - mean) / deviation
		}
	}
	return points
}

// cluster returns the cluster of each point, 0 to 2 by ascending usage. distinct reports whether no
// cluster is empty and the total usage of their centres differs. Lloyd's algorithm finds a local optimum,
// so it starts from several partitions of the points in the order of total usage. The heavy part has 1, 2, 4,
// … points, because often a few tasks use most of the memory; for each of these sizes the light part has all
// other points except one, then half as many, and so on. cluster returns the result with the smallest sum of
// squares, the first among equals.
func cluster(points []point) (label []int, distinct bool) {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(total(points[i]), total(points[j])) })
	best, least := make([]int, len(points)), math.Inf(1)
	for heavy := 1; heavy <= len(points)-2; heavy *= 2 {
		for light := len(points) - heavy - 1; light >= 1; light /= 2 {
			label := make([]int, len(points))
			for rank, i := range order {
				switch {
				case rank >= len(points)-heavy:
					label[i] = 2
				case rank >= light:
					label[i] = 1
				}
			}
			if squares := lloyd(points, label); squares < least-1e-9 {
				best, least = label, squares
			}
		}
	}
	return ascending(points, best)
}

// total returns the total usage, by which points are ordered: the sum of the standardised quantities.
func total(p point) float64 { return p[0] + p[1] + p[2] }

const maxRounds = 50 // largest number of rounds of Lloyd's algorithm, which needs far fewer for hundreds of tasks

// lloyd improves label until no point changes its cluster, for at most maxRounds rounds. It returns the
// sum of the squared distances of the points to their centres.
func lloyd(points []point, label []int) (squares float64) {
	for range maxRounds {
		centres := means(points, label)
		moved := false
		squares = 0
		for i, p := range points {
			nearest := label[i]
			for c := range centres {
				if distance(p, centres[c]) < distance(p, centres[nearest]) {
					nearest = c
				}
			}
			moved = moved || nearest != label[i]
			label[i] = nearest
			squares += distance(p, centres[nearest])
		}
		if !moved {
			break
		}
	}
	return squares
}

// means returns the centres of the clusters; the centre of an empty cluster is infinite.
func means(points []point, label []int) (centres [3]point) {
	var n [3]float64
	for i, p := range points {
		n[label[i]]++
		for d := range p {
			centres[label[i]][d] += p[d]
		}
	}
	for c := range centres {
		for d := range centres[c] {
			if centres[c][d] /= n[c]; n[c] == 0 {
				centres[c][d] = math.Inf(1)
			}
		}
	}
	return centres
}

// distance returns the squared Euclidean distance.
func distance(a, b point) float64 {
	return (a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2])
}

// ascending renumbers the clusters by the usage of their centres. See cluster for distinct.
func ascending(points []point, label []int) (renumbered []int, distinct bool) {
	centres := means(points, label)
	order := []int{0, 1, 2}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(total(centres[a]), total(centres[b])) })
	low, middle, high := total(centres[order[0]]), total(centres[order[1]]), total(centres[order[2]])
	distinct = low < middle && middle < high && !math.IsInf(high, 1) // the centre of an empty cluster is infinite
	rank := make([]int, len(order))
	for i, c := range order {
		rank[c] = i
	}
	renumbered = make([]int, len(label))
	for i, c := range label {
		renumbered[i] = rank[c]
	}
	return renumbered, distinct
}
