package density

import "fmt"

// Noise is the label of a point outside every cluster.
const Noise = -1

// Config says which clusters Tree.Cluster selects.
type Config struct {
	MinSize int     // smallest number of points of a cluster, 2 or more
	Epsilon float64 // Cluster replaces each cluster that split off below this distance by an ancestor, see join; 0: it replaces none
}

// Clustering is the result of Tree.Cluster.
type Clustering struct {
	Labels            []int     // of each point: its cluster, 0, 1, …, or Noise
	Outlier           []float64 // of each point: its GLOSH score, 0 (typical) to 1
	Clusters          []Cluster
	Exit              []float64 // of each point: the distance at which it leaves its branch of the condensed tree, see condensedTree
	MinBranchDistance []float64 // of each point: the smallest distance at which its branch of the condensed tree, or a branch below, still has a point
}

// Cluster is one cluster.
type Cluster struct {
	Size            int     // number of points with its label
	MaxReachability float64 // distance at which the cluster splits off from its parent; edges with at most this mutual reachability connect all its points
}

// Cluster selects the clusters with the largest total excess of mass (see stability). It never selects the root of the tree,
// cluster 0. The error is ErrPoints if cfg.MinSize is below 2.
func (t *Tree) Cluster(cfg Config) (*Clustering, error) {
	if cfg.MinSize < 2 {
		return nil, fmt.Errorf("%w: the smallest size of a cluster is %d, but must be 2 or more", ErrPoints, cfg.MinSize)
	}
	c := newCondensedTree(t.linkage(), cfg.MinSize)
	isSelected := c.excessOfMass()
	if cfg.Epsilon > 0 {
		isSelected = c.join(isSelected, cfg.Epsilon)
	}
	n := len(c.last)
	out := &Clustering{Labels: make([]int, n), Outlier: make([]float64, n), Exit: make([]float64, n), MinBranchDistance: make([]float64, n)}
	label := make([]int, len(c.parent))
	label[0] = Noise
	for i := 1; i < len(c.parent); i++ {
		if label[i] = label[c.parent[i]]; isSelected[i] {
			label[i] = len(out.Clusters)
			out.Clusters = append(out.Clusters, Cluster{MaxReachability: 1 / c.birth[i]})
		}
	}
	densest := c.densest()
	for i, cluster := range c.last {
		if out.Labels[i] = label[cluster]; out.Labels[i] != Noise {
			out.Clusters[out.Labels[i]].Size++
		}
		out.Exit[i], out.MinBranchDistance[i] = 1/c.exit[i], 1/densest[cluster]
		out.Outlier[i] = 1 - c.exit[i]/densest[cluster]
	}
	return out, nil
}

func (c *condensedTree) excessOfMass() []bool {
	stability := c.stability()
	below := make([]float64, len(c.parent)) // total stability of the best selection among the descendants
	isSelected := make([]bool, len(c.parent))
	for i := len(c.parent) - 1; i > 0; i-- {
		isSelected[i] = !(below[i] > stability[i])
		below[c.parent[i]] += max(stability[i], below[i])
	}
	return c.outermost(isSelected)
}

func (c *condensedTree) outermost(isSelected []bool) []bool {
	isWithin := make([]bool, len(c.parent))
	for i := 1; i < len(c.parent); i++ {
		isWithin[i] = isWithin[c.parent[i]] || isSelected[c.parent[i]]
		isSelected[i] = isSelected[i] && !isWithin[i]
	}
	return isSelected
}

// join replaces each cluster that split off below the distance epsilon by its nearest ancestor that split off at epsilon or
// above. If there is no such ancestor, the ancestor just below the root replaces the cluster (Malzer & Baum 2020).
func (c *condensedTree) join(isSelected []bool, epsilon float64) []bool {
	joined := make([]bool, len(c.parent))
	for i, selected := range isSelected {
		if !selected {
			continue
		}
		at := int32(i)
		for 1/c.birth[at] < epsilon && c.parent[at] != 0 {
			at = c.parent[at]
		}
		joined[at] = true
	}
	return c.outermost(joined)
}
