package gbt

import (
	"gonum.org/v1/gonum/integrate/quad"
)

// Explain writes the contribution of every column to the prediction into phi and returns the
// expected prediction: Predict(x) = expected + Σ phi, up to rounding. len(phi) = Cols(). The
// contributions are the exact Shapley values of path-dependent TreeSHAP (Lundberg et al.
// 2018): a column outside the coalition is averaged by the training weight on either side of
// its cuts.
func (r *Regressor) Explain(x, phi []float64) (expected float64) {
	return r.Explainer().Explain(x, phi)
}

// Explainer returns an Explainer. For many rows it is faster than Regressor.Explain, because it prepares the covers and
// buffers once.
func (r *Regressor) Explainer() *Explainer {
	return r.full().explainer(0, identity(r.cols), r.cols)
}

// ExplainPlayers writes the contribution of every player to the prediction into phi and returns
// the expected prediction. A player is a group of columns that become known together, such as
// the one-hot columns of a category. players[j] is the player of column j, an index of phi. A column
// with a negative player stays unknown, so expected + Σ phi is the prediction without this column.
func (r *Regressor) ExplainPlayers(x []float64, players []int, phi []float64) (expected float64) {
	return r.full().explainer(0, players, len(phi)).Explain(x, phi)
}

// Explain writes the contribution of every column to the raw score of one class into phi and
// returns the expected score: Scores(x)[class] = expected + Σ phi, up to rounding. len(phi) =
// Cols(). The method is the same as in Regressor.Explain.
func (c *Classifier) Explain(x []float64, class int, phi []float64) (expected float64) {
	return c.explainer(class, identity(c.cols), c.cols).Explain(x, phi)
}

func identity(cols int) []int {
	players := make([]int, cols)
	for j := range players {
		players[j] = j
	}
	return players
}

// Explain does the same as Regressor.Explain. It must not be called concurrently.
//
// It integrates the multilinear extension of the game (Owen 1972) over the probability t
// that a player is in the coalition. For each leaf and the players i and j on its path:
//
//	φ_i = leaf · ∫₀¹ (with_i − without_i) · Π_{j≠i} f_j(t) dt
//	f_j(t) = without_j + t·(with_j − without_j)
//
// The degree of the integrand is below the depth of the tree, so the Gauss–Legendre rule with
// half as many points is exact. Sums over the leaves of a subtree share the factors above it
// (Linear TreeSHAP, Yu et al. 2022). f_j is positive at every point of the rule, and a product is
// divided only by one of its factors, so there is no cancellation.
func (e *Explainer) Explain(x, phi []float64) (expected float64) {
	clear(phi)
	e.x, e.phi = x, phi
	for t := e.output; t < len(e.roots); t += e.outputs() {
		e.descend(e.roots[t], 0)
	}
	return e.mean
}

func (f *forest) explainer(output int, players []int, n int) *Explainer {
	depth := 1
	for _, d := range f.depth {
		depth = max(depth, int(d))
	}
	points := (depth + 1) / 2
	e := &Explainer{
		forest: f, output: output, mean: f.intercept[output], cover: f.covers(), players: players,
		at: make([]float64, points), weight: make([]float64, points), steps: make([]step, n),
		product: make([]float64, (depth+1)*points), sum: make([]float64, (depth+1)*points),
	}
	quad.Legendre{}.FixedLocations(e.at, e.weight, 0, 1)
	for i := range e.steps {
		e.steps[i] = step{with: 1, without: 1}
	}
	for q := range points {
		e.product[q] = 1
	}
	for t := output; t < len(f.roots); t += f.outputs() {
		e.mean += e.expected(t)
	}
	return e
}

// expected returns the weighted mean value of tree t over the rows on which it was grown.
func (e *Explainer) expected(t int) float64 {
	root, end := e.roots[t], e.treeEnd(t)
	sum := 0.0
	for at := root; at < end; at++ {
		if e.isLeaf(at) {
			sum += e.nodes[at].cut * e.cover[at]
		}
	}
	return sum / e.cover[root]
}

// covers returns for each node Σ cover of the leaves in its subtree; see forest.cover.
func (f *forest) covers() []float64 {
	leaves, cover, next := f.leafCovers(), make([]float64, len(f.nodes)), 0
	var below func(at int32) float64
	below = func(at int32) float64 {
		if f.isLeaf(at) {
			cover[at] = leaves[next]
			next++
		} else {
			child := f.nodes[at].child
			cover[at] = below(child) // leaves are stored from left to right
			cover[at] += below(child + 1)
		}
		return cover[at]
	}
	for _, root := range f.roots {
		below(root)
	}
	return cover
}

// step is one player on the path from the root. The field `with` is 1 if the row follows the path at every
// split of the player, else 0. The field `without` is the share of the training weight that follows the path
// at these splits.
type step struct{ with, without float64 }

// factor returns f(t) of the player.
func (s step) factor(t float64) float64 { return s.without + t*(s.with-s.without) }

// Explainer computes the contributions of the columns to predictions.
type Explainer struct {
	*forest
	output  int
	mean    float64   // expected prediction
	cover   []float64 // by node
	x       []float64
	players []int // by column
	phi     []float64

	at, weight []float64 // points and weights of the Gauss–Legendre rule
	steps      []step    // by player: the step on the current path
	product    []float64 // by depth and point of the rule: product of the factors on the path
	sum        []float64 // by depth and point of the rule: sum of value · product over the leaves of the subtree
}

// descend computes the values of e.sum at the index `depth` for the leaves below a node. It adds the contributions of the
// splits in this subtree to e.phi.
func (e *Explainer) descend(at int32, depth int) {
	n, node := len(e.at), &e.nodes[at]
	product, sum := e.product[depth*n:(depth+1)*n], e.sum[depth*n:(depth+1)*n]
	if e.isLeaf(at) {
		for q, v := range product {
			sum[q] = v * node.cut
		}
		return
	}
	clear(sum)
	below, belowSum := e.product[(depth+1)*n:(depth+2)*n], e.sum[(depth+1)*n:(depth+2)*n]
	player, followed := e.players[node.feature], node.next(e.x[node.feature])
	var before step
	if player >= 0 {
		before = e.steps[player]
	}
	for child := node.child; child <= node.child+1; child++ {
		share := e.cover[child] / e.cover[at]
		if player < 0 {
			for q, v := range product {
				below[q] = v * share
			}
			e.descend(child, depth+1)
		} else {
			after := step{without: before.without * share}
			if child == followed {
				after.with = before.with
			}
			for q, t := range e.at {
				below[q] = product[q] / before.factor(t) * after.factor(t)
			}
			e.steps[player] = after
			e.descend(child, depth+1)
			e.steps[player] = before
			// The earlier step of this player on the path also counts these leaves: replace the contribution of that step.
			e.phi[player] += e.contribution(after, belowSum) - e.contribution(before, belowSum)
		}
		for q, v := range belowSum {
			sum[q] += v
		}
	}
}

// contribution returns the contribution of a step over the leaves of a subtree, whose sums (Explainer.sum) are in `sum`.
func (e *Explainer) contribution(s step, sum []float64) (phi float64) {
	if s.with == s.without {
		return 0
	}
	for q, t := range e.at {
		phi += e.weight[q] * sum[q] / s.factor(t)
	}
	return phi * (s.with - s.without)
}
