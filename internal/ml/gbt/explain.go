package gbt

// Explain writes the contribution of every column to the prediction into phi and returns the
// expected prediction: Predict(x) = expected + Σ phi, up to rounding. len(phi) = Cols(). The
// contributions are the exact Shapley values of path-dependent TreeSHAP (Lundberg et al.
// 2018, algorithm 2): a column outside the coalition is averaged by the training weight on
// either side of its cuts.
func (r *Regressor) Explain(x, phi []float64) (expected float64) { return r.explain(x, 0, phi) }

// Explain writes the contribution of every column to the raw score of one class into phi and
// returns the expected score: Scores(x)[class] = expected + Σ phi, up to rounding. len(phi) =
// Cols(). The method is that of Regressor.Explain.
func (c *Classifier) Explain(x []float64, class int, phi []float64) (expected float64) {
	return c.explain(x, class, phi)
}

func (f *forest) explain(x []float64, output int, phi []float64) (expected float64) {
	clear(phi)
	deep := 0
	for _, d := range f.depth {
		deep = max(deep, int(d))
	}
	e := explainer{f, f.covers(), x, phi}
	buffer := make([]step, (deep+1)*(deep+2)/2) // paths of every length up to deep + 1
	expected = f.intercept[output]
	for t := output; t < len(f.roots); t += f.outputs() {
		expected += e.expected(t)
		e.descend(f.roots[t], buffer[:0], step{feature: -1, with: 1, without: 1})
	}
	return expected
}

// expected returns the mean value of tree t, weighted by its training rows.
func (e *explainer) expected(t int) float64 {
	root, end := e.roots[t], int32(len(e.nodes))
	if t+1 < len(e.roots) {
		end = e.roots[t+1]
	}
	sum := 0.0
	for at := root; at < end; at++ {
		if e.isLeaf(at) {
			sum += e.nodes[at].cut * e.cover[at]
		}
	}
	return sum / e.cover[root]
}

// covers returns Σ weight of the training rows that pass each node.
func (f *forest) covers() []float64 {
	cover, next := make([]float64, len(f.nodes)), 0
	var below func(at int32) float64
	below = func(at int32) float64 {
		if f.isLeaf(at) {
			cover[at] = f.cover[next]
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

// step is one column on the path from the root: the share of paths that continue with the
// column known (0 or 1) and unknown (by cover), and the total weight of the coalitions whose
// size is the position of the step.
type step struct {
	feature       int32
	with, without float64
	weight        float64
}

type explainer struct {
	*forest
	cover  []float64 // by node
	x, phi []float64
}

// descend adds the contributions of the leaves below a node, which was reached by path and
// then last. The paths of all levels are consecutive in one buffer.
func (e *explainer) descend(at int32, path []step, last step) {
	n := len(path)
	path = append(path[n:n], path...)
	path = extend(path, last)
	node := &e.nodes[at]
	if e.isLeaf(at) {
		e.credit(path, node.cut)
		return
	}
	feature := int32(node.feature)
	known := step{with: 1, without: 1}
	for i := 1; i < len(path); i++ {
		if path[i].feature == feature { // the column occurs again: merge its two steps
			known = path[i]
			path = unwind(path, i)
			break
		}
	}
	hot := node.next(e.x[feature])
	for child := node.child; child <= node.child+1; child++ {
		s := step{feature: feature, without: known.without * e.cover[child] / e.cover[at]}
		if child == hot {
			s.with = known.with
		}
		e.descend(child, path, s)
	}
}

// credit distributes the value of a leaf among the columns of its path.
func (e *explainer) credit(path []step, value float64) {
	for i := 1; i < len(path); i++ {
		s := &path[i]
		e.phi[s.feature] += unwoundSum(path, i) * (s.with - s.without) * value
	}
}

// extend adds a step to the path and updates the weights of its coalitions.
func extend(path []step, s step) []step {
	d := len(path)
	if d == 0 {
		s.weight = 1
	}
	path = append(path, s)
	share := 1 / float64(d+1)
	for i := d - 1; i >= 0; i-- {
		w := path[i].weight * share
		path[i+1].weight += s.with * w * float64(i+1)
		path[i].weight = s.without * w * float64(d-i)
	}
	return path
}

// unwind reverses the extend of step i at any position of the path.
func unwind(path []step, i int) []step {
	d := len(path) - 1
	s, next := path[i], path[d].weight
	for j := d - 1; j >= 0; j-- {
		if s.with == 0 {
			path[j].weight *= float64(d+1) / (s.without * float64(d-j))
			continue
		}
		was := path[j].weight
		path[j].weight = next * float64(d+1) / (float64(j+1) * s.with)
		next = was - path[j].weight*s.without*float64(d-j)/float64(d+1)
	}
	for j := i; j < d; j++ { // shift the columns but not the weights
		path[j].feature, path[j].with, path[j].without = path[j+1].feature, path[j+1].with, path[j+1].without
	}
	return path[:d]
}

// unwoundSum returns the sum of the weights after unwind(path, i).
func unwoundSum(path []step, i int) float64 {
	d := len(path) - 1
	s, next, sum := &path[i], path[d].weight, 0.0
	if s.with == 0 {
		for j := d - 1; j >= 0; j-- {
			sum += path[j].weight / float64(d-j)
		}
		return sum * float64(d+1) / s.without
	}
	for j := d - 1; j >= 0; j-- { // with is 1
		w := next / float64(j+1)
		sum += w
		next = path[j].weight - w*s.without*float64(d-j)
	}
	return sum * float64(d+1)
}
