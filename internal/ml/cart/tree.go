package cart

import (
	"github.com/sjwhitworth/golearn/trees"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Tree is a fitted tree. It is safe for concurrent use.
type Tree struct {
	bins   int
	nodes  []node    // nodes[0] is the root; empty: a single leaf
	leaves []float64 // P(bin) in each leaf, leaf by leaf
}

// node is a split: rows with x[feature] < cut go to the left child.
type node struct {
	feature     int
	cut         float64
	left, right int // index of a node if ≥ 0, else the complement ^i of the index of a leaf
}

// flatten copies the library's nodes in breadth-first order. The library does not export its
// node type, so the type of the queue is inferred.
func (t *Tree) flatten(grown *trees.CARTDecisionTreeClassifier) {
	queue, leaves := queueOf(grown.RootNode), 0
	for at := 0; at < len(queue); at++ {
		from := queue[at]
		to := node{feature: int(from.Feature), cut: from.Threshold}
		if from.Left != nil {
			queue, to.left = append(queue, from.Left), len(queue)
		} else {
			to.left, leaves = ^leaves, leaves+1
		}
		if from.Right != nil {
			queue, to.right = append(queue, from.Right), len(queue)
		} else {
			to.right, leaves = ^leaves, leaves+1
		}
		t.nodes = append(t.nodes, to)
	}
}

func queueOf[N any](root N) []N { return []N{root} }

// setFrequencies sets the weighted frequencies of every leaf. The frequencies of all rows are
// the prior, which counts as one row. So every observed bin is possible in every leaf, and an
// empty leaf has the prior frequencies.
func (t *Tree) setFrequencies(rows *table.Table) {
	t.leaves = make([]float64, (len(t.nodes)+1)*t.bins)
	all, prior := 0.0, make([]float64, t.bins)
	for i := range rows.Rows() {
		w := rows.Weight(i)
		t.leaf(rows.Row(i))[int(rows.Y[i])] += w
		prior[int(rows.Y[i])] += w
		all += w
	}
	for at := 0; at < len(t.leaves); at += t.bins {
		leaf, total := t.leaves[at:at+t.bins], 1.0
		for _, w := range leaf {
			total += w
		}
		for bin := range leaf {
			leaf[bin] = (leaf[bin] + prior[bin]/all) / total
		}
	}
}

func (t *Tree) leaf(x []float64) []float64 {
	at := 0
	if len(t.nodes) == 0 {
		at = ^0
	}
	for at >= 0 {
		n := &t.nodes[at]
		if clamp(x[n.feature]) < n.cut {
			at = n.left
		} else {
			at = n.right
		}
	}
	return t.leaves[^at*t.bins : (^at+1)*t.bins]
}

// Bins returns the number of bins.
func (t *Tree) Bins() int { return t.bins }

// Probabilities writes P(bin | x), the frequencies of the leaf of x, to p; len(p) = Bins().
// NaN is a missing value. Probabilities does not allocate.
func (t *Tree) Probabilities(x, p []float64) { copy(p, t.leaf(x)) }
