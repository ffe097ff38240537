package gbt

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

type booster struct {
	cfg  Config
	loss loss
	data *BinnedTable
	rows []int32 // training rows, ascending
	rng  *rand.PCG

	labels *labels  // of all rows of data
	valid  *holdout // validation rows; nil: none

	grower    *grower
	forest    *forest
	drawn     []int32      // training rows that this round samples
	left      []int32      // training rows that this round does not sample, in any order
	gradients [][]gradient // by output and row
	all       []int        // all columns that are not constant
	columns   []int        // columns of `all` that the newest tree samples
	unused    []int        // columns of `all` that the newest tree does not sample
}

// run boosts for at most cfg.Rounds rounds. It stops early if no tree of a round that may use all columns has a
// split, because splits in later rounds are unlikely, too. With early stopping and validation rows, it also stops
// if their loss has not improved for cfg.EarlyStop rounds, and returns the forest of the round with
// the least loss.
func (b *booster) run() *forest {
	b.start()
	best, since := len(b.forest.roots), 0 // number of trees at the least validation loss, and rounds since then
	least := b.valid.mean(b.loss)
	for range b.cfg.Rounds {
		before := len(b.forest.roots)
		if !b.round() && len(b.columns) == len(b.all) {
			b.forest.truncate(before)
			break
		}
		if b.cfg.EarlyStop == 0 || b.valid == nil {
			continue
		}
		b.valid.advance(b.forest, before)
		if loss := b.valid.mean(b.loss); loss < least {
			least, best, since = loss, len(b.forest.roots), 0
		} else if since++; since == b.cfg.EarlyStop {
			break
		}
	}
	if b.cfg.EarlyStop > 0 && b.valid != nil {
		b.forest.truncate(best)
	}
	return b.forest
}

func (b *booster) start() {
	b.rng = rand.NewPCG(b.cfg.Seed, 0x9e3779b97f4a7c15)
	b.grower = newGrower(b.data, b.cfg)
	b.forest = &forest{cols: b.data.Cols(), intercept: b.loss.intercept(b.labels, b.rows)}
	b.labels.shift(b.forest.intercept)
	b.valid.shift(b.forest.intercept)
	b.gradients = make([][]gradient, b.loss.outputs())
	for c := range b.gradients {
		b.gradients[c] = make([]gradient, b.data.Rows())
	}
	for j := range b.data.columns {
		if !b.data.columns[j].isConstant() {
			b.all = append(b.all, j)
		}
	}
}

// round grows one tree per output from the scores before the round. It returns false if no
// tree has a split.
func (b *booster) round() bool {
	b.drawn, b.left = draw(b.rng, b.rows, b.cfg.Subsample, b.drawn, b.left)
	b.loss.gradients(b.labels, b.drawn, b.gradients)
	split := false
	for c, gradients := range b.gradients {
		b.columns, b.unused = draw(b.rng, b.all, b.cfg.ColSample, b.columns, b.unused)
		nodes := b.grower.grow(b.drawn, b.columns, gradients)
		split = split || len(nodes) > 1
		b.updateLeaves(nodes, c)
		b.forest.add(b.grower)
		b.updateUnsampled(nodes, 0, b.left, c)
	}
	return split
}

func (b *booster) updateLeaves(nodes []growingNode, output int) {
	k := b.loss.outputs()
	for i := range nodes {
		n := &nodes[i]
		if n.left != 0 {
			continue
		}
		n.value = b.cfg.LearningRate * b.loss.leaf(b.labels, n, b.cfg.Lambda)
		for _, r := range n.rows {
			n.cover += b.labels.w[r]
			b.labels.score[int(r)*k+output] += n.value
		}
	}
}

// updateUnsampled updates the scores of the training rows that reach node i and were not sampled. The leaves do not list
// these rows, so it partitions them from node to node, which takes less time than a traversal for each row.
func (b *booster) updateUnsampled(nodes []growingNode, i int, rows []int32, output int) {
	n := &nodes[i]
	if n.left == 0 {
		k := b.loss.outputs()
		for _, r := range rows {
			b.labels.score[int(r)*k+output] += n.value
		}
		return
	}
	left, right := b.grower.partition(rows, n.split)
	b.updateUnsampled(nodes, n.left, left, output)
	b.updateUnsampled(nodes, n.right, right, output)
}

func (l *labels) shift(intercept []float64) {
	for i := range l.score {
		l.score[i] += intercept[i%len(intercept)]
	}
}

// holdout holds the validation rows for early stopping. Its methods except advance accept a nil holdout.
type holdout struct {
	labels
	x    []float64 // raw values, row by row
	cols int
}

func (h *holdout) shift(intercept []float64) {
	if h != nil {
		h.labels.shift(intercept)
	}
}

func (h *holdout) mean(l loss) float64 {
	if h == nil {
		return 0
	}
	return l.mean(&h.labels)
}

func (h *holdout) advance(f *forest, first int) {
	k := f.outputs()
	for t := first; t < len(f.roots); t++ {
		for i := range h.y {
			h.score[i*k+t%k] += f.walk(t, h.x[i*h.cols:(i+1)*h.cols])
		}
	}
}

// draw samples a share of the items without replacement, at least one (selection sampling, Knuth
// vol. 2, §3.4.2). It returns the sample and the other items, both in the order of the items. A share of 1 uses no random
// numbers and returns items itself. Otherwise the results reuse the memory of sample and rest. The loop
// writes every item to both results and advances only one counter, so that the compiled code has no branch.
func draw[T any](rng *rand.PCG, items []T, share float64, sample, rest []T) (drawn, left []T) {
	if share >= 1 {
		return items, nil
	}
	want := max(1, int(math.Round(share*float64(len(items)))))
	sample, rest = slices.Grow(sample[:0], len(items))[:len(items)], slices.Grow(rest[:0], len(items))[:len(items)]
	n := 0
	for i, item := range items {
		sample[n], rest[i-n] = item, item
		below := 0
		if intN(rng, uint64(len(items)-i)) < uint64(want-n) {
			below = 1
		}
		n += below
	}
	return sample[:n], rest[:len(items)-n]
}

// intN returns the same number below n as rand.Rand.Uint64N (Lemire 2019). It is faster than rand.Rand, because it calls
// PCG without an interface. Speed matters here: each round draws a number for each row.
func intN(rng *rand.PCG, n uint64) uint64 {
	if n&(n-1) == 0 {
		return rng.Uint64() & (n - 1)
	}
	high, low := bits.Mul64(rng.Uint64(), n)
	if low < n {
		for least := -n % n; low < least; {
			high, low = bits.Mul64(rng.Uint64(), n)
		}
	}
	return high
}
