package shape

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/kmeans"
)

const (
	// MinRuns is the least number of runs of a group that Learn uses. Histograms of fewer runs are noisier.
	MinRuns = 20
	// MaxShapes is the largest number of shapes. Learn tries each number up to it, so a larger value costs time.
	MaxShapes = 8
)

// Shape is one distribution shape.
type Shape struct {
	Density       Density
	Concentration float64 // concentration of the Dirichlet distribution of its groups around Density
	Prior         float64 // probability that a group without runs has this shape
	Groups        int     // number of groups that Learn assigned to the shape
}

// Set holds the shapes of many groups, ordered by their 95 % quantile. The zero Set knows no
// shape: every group is "none of these".
type Set struct {
	Norm    Norm
	Shapes  []Shape
	Pooled  Density // mean over all groups: the expected density of a group without a known shape
	None    float64 // prior probability of "none of these"
	Groups  int     // number of groups that Learn used
	HeldOut float64 // mean log likelihood of a held-out run with the chosen number of shapes
}

// Learn finds the shapes of groups of normalised runs. It uses the groups with MinRuns runs or
// more, and returns nil if there are fewer than two such groups.
//
// Learn chooses the number of shapes k up to MaxShapes by the held-out likelihood. For each k it
// clusters the histograms of one half of the runs of each group by k-means, and computes the likelihood
// of the other half under the shapes, weighted by the membership of the group according to the first
// half. It chooses the smallest k whose mean over the groups is within one standard error of the best
// (Breiman et al. 1984), and learns at most that number of shapes from both halves.
func Learn(norm Norm, groups [][]float64, seed uint64) (*Set, error) {
	var first, second, all []*Counts
	for _, runs := range groups {
		if len(runs) < MinRuns {
			continue
		}
		var halves [2][]float64
		for i, x := range runs {
			halves[i%2] = append(halves[i%2], x)
		}
		first, second, all = append(first, Count(norm, halves[0])), append(second, Count(norm, halves[1])), append(all, Count(norm, runs))
	}
	if len(all) < 2 {
		return nil, nil
	}
	k, score, err := choose(norm, first, second, seed)
	if err != nil {
		return nil, err
	}
	s, err := learn(norm, all, k, seed)
	if err != nil {
		return nil, err
	}
	s.HeldOut = score
	return s, nil
}

// choose returns the number of shapes, and its held-out log likelihood per run. It learns from `first`, the runs of one
// half of each group, and evaluates on `second`, the runs of the other half.
func choose(norm Norm, first, second []*Counts, seed uint64) (best int, score float64, err error) {
	var scores [][]float64 // by k − 1 and group
	top := 0
	for k := 1; k <= min(MaxShapes, len(first)); k++ {
		s, err := learn(norm, first, k, seed)
		if err != nil {
			return 0, 0, err
		}
		scores = append(scores, s.heldOut(first, second))
		if average(scores[k-1]) > average(scores[top]) {
			top = k - 1
		}
	}
	for k := range scores {
		loss := make([]float64, len(first))
		for g := range loss {
			loss[g] = scores[top][g] - scores[k][g]
		}
		if average(loss) <= standardError(loss) {
			return k + 1, average(scores[k]), nil
		}
	}
	return top + 1, average(scores[top]), nil
}

// heldOut returns for each group the mean log likelihood of its runs in `second`, given its runs in `first`. Both have one
// histogram for each group.
func (s *Set) heldOut(first, second []*Counts) []float64 {
	out := make([]float64, len(first))
	for g := range out {
		d := s.Member(first[g]).mixture(s)
		n := 0.0
		for h, v := range second[g] {
			if v > 0 {
				out[g] += float64(v) * math.Log(d[h])
				n += float64(v)
			}
		}
		out[g] /= max(1, n)
	}
	return out
}

func average(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

func standardError(list []float64) float64 {
	m, squares := average(list), 0.0
	for _, v := range list {
		squares += (v - m) * (v - m)
	}
	n := float64(len(list))
	return math.Sqrt(squares / max(1, n-1) / n)
}

// refinements is the largest number of reassignments by posterior after k-means (classification EM,
// Celeux & Govaert 1992).
const refinements = 5

// learn finds k shapes of groups, or fewer if groups coincide or a shape loses its groups.
func learn(norm Norm, groups []*Counts, k int, seed uint64) (*Set, error) {
	densities, points := make([]*Density, len(groups)), make([][]float64, len(groups))
	for g, c := range groups {
		densities[g] = c.smoothed()
		points[g] = densities[g].root()
	}
	partition, err := kmeans.Fit(points, nil, kmeans.Config{K: k, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("partition %d histograms: %w", len(groups), err)
	}
	s := &Set{Norm: norm, Pooled: *mean(densities).floored(), Groups: len(groups)}
	labels := partition.Labels
	s.describe(groups, densities, labels, len(partition.Centroids))
	for range refinements {
		next := make([]int, len(groups))
		for g, c := range groups {
			next[g] = s.Member(c).Best
		}
		if slices.Equal(next, labels) {
			break
		}
		labels = next
		s.describe(groups, densities, labels, len(s.Shapes))
	}
	slices.SortFunc(s.Shapes, func(a, b Shape) int {
		return cmp.Or(cmp.Compare(a.Density.Quantile(norm, .95), b.Density.Quantile(norm, .95)), slices.Compare(a.Density[:], b.Density[:]))
	})
	return s, nil
}

// describe sets the shapes and the priors from the labels of the groups. A label is a number from 0 to k − 1, or None. The
// prior of a label is the share of the groups with this label, with one additional group for each label (Laplace 1774).
func (s *Set) describe(groups []*Counts, densities []*Density, labels []int, k int) {
	s.Shapes = s.Shapes[:0]
	total := float64(len(groups) + k + 1)
	none := 1.0
	for label := range k {
		var members []*Density
		var counts []*Counts
		for g, l := range labels {
			if l == label {
				members, counts = append(members, densities[g]), append(counts, groups[g])
			}
		}
		if len(members) == 0 {
			continue
		}
		d := mean(members).floored()
		s.Shapes = append(s.Shapes, Shape{
			Density: *d, Concentration: concentration(d, counts), Groups: len(members), Prior: (1 + float64(len(members))) / total,
		})
	}
	for _, l := range labels {
		if l < 0 {
			none++
		}
	}
	s.None = none / total
	sum := s.None
	for _, c := range s.Shapes {
		sum += c.Prior
	}
	s.None /= sum
	for i := range s.Shapes {
		s.Shapes[i].Prior /= sum
	}
}

// maxConcentration is the largest concentration: groups of one shape are never assumed equal.
const maxConcentration = 1 << 14

// concentration returns the most likely concentration of groups around a density, a power of two.
func concentration(d *Density, groups []*Counts) float64 {
	best, most := 4.0, math.Inf(-1)
	for a := 4.0; a <= maxConcentration; a *= 2 {
		sum := 0.0
		for _, c := range groups {
			sum += logLikelihood(c, d, a)
		}
		if sum > most {
			best, most = a, sum
		}
	}
	return best
}

// logLikelihood returns the log probability of the runs c, in their order, under a Dirichlet-multinomial
// distribution (Pólya): the group has its own density, drawn around d with concentration a.
func logLikelihood(c *Counts, d *Density, a float64) float64 {
	n, sum := 0.0, 0.0
	for h, v := range c {
		if v > 0 {
			n += float64(v)
			sum += lgamma(a*d[h]+float64(v)) - lgamma(a*d[h])
		}
	}
	return sum + lgamma(a) - lgamma(a+n)
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
