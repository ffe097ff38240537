package gbt

import (
	"math"
	"math/rand/v2"
)

// booster adds trees to a forest in rounds.
type booster struct {
	cfg  Config
	loss loss
	data *BinnedTable
	rows []int32 // training rows, ascending
	rng  *rand.Rand

	labels *labels  // of all rows of data
	valid  *holdout // validation rows; nil: none

	grower    *grower
	forest    *forest
	drawn     []int32      // sampled rows of this round
	gradients [][]gradient // by output and row
	all       []int        // all columns
	columns   []int        // sampled columns of this tree
}

// run boosts for at most cfg.Rounds rounds. It stops early if no tree of a round has a
// split, because later rounds would hardly differ. With early stopping and validation rows, it also stops
// if their loss has not improved for cfg.EarlyStop rounds, and returns the forest of the round with
// the least loss.
func (b *booster) run() *forest {
	b.start()
	best, since := len(b.forest.roots), 0 // number of trees at the least validation loss, and rounds since then
	least := b.valid.mean(b.loss)
	for range b.cfg.Rounds {
		before := len(b.forest.roots)
		if !b.round() {
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

// start prepares the first round: it sets the intercepts and allocates the buffers.
func (b *booster) start() {
	b.rng = rand.New(rand.NewPCG(b.cfg.Seed, 0x9e3779b97f4a7c15))
	b.grower = newGrower(b.data, b.cfg)
	b.forest = &forest{cols: b.data.Cols(), intercept: b.loss.intercept(b.labels, b.rows)}
	b.labels.shift(b.forest.intercept)
	b.valid.shift(b.forest.intercept)
	b.gradients = make([][]gradient, b.loss.outputs())
	for c := range b.gradients {
		b.gradients[c] = make([]gradient, b.data.Rows())
	}
	b.all = make([]int, b.data.Cols())
	for j := range b.all {
		b.all[j] = j
	}
}

// round grows one tree per output from the scores before the round. It returns false if no
// tree has a split.
func (b *booster) round() bool {
	b.drawn = draw(b.rng, b.rows, b.cfg.Subsample, b.drawn)
	b.loss.gradients(b.labels, b.drawn, b.gradients)
	split := false
	for c, gradients := range b.gradients {
		b.columns = draw(b.rng, b.all, b.cfg.ColSample, b.columns)
		nodes := b.grower.grow(b.drawn, b.columns, gradients)
		split = split || len(nodes) > 1
		b.updateLeaves(nodes, c)
		b.forest.add(b.grower)
		b.updateUnsampled(c)
	}
	return split
}

// updateLeaves sets the values and covers of the leaves and updates the scores of their rows.
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

// updateUnsampled updates the scores of the training rows that were not sampled, which are
// in no leaf, by traversing the newest tree.
func (b *booster) updateUnsampled(output int) {
	if len(b.drawn) == len(b.rows) {
		return
	}
	k, newest, next := b.loss.outputs(), len(b.forest.roots)-1, 0
	for _, r := range b.rows {
		if next < len(b.drawn) && b.drawn[next] == r {
			next++
			continue
		}
		b.labels.score[int(r)*k+output] += b.forest.walk(newest, b.data.row(int(r)))
	}
}

// shift adds the intercepts to all scores.
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

// mean returns the weighted mean loss, and 0 for a nil holdout.
func (h *holdout) mean(l loss) float64 {
	if h == nil {
		return 0
	}
	return l.mean(&h.labels)
}

// advance adds the predictions of the trees first, first+1, … to the scores.
func (h *holdout) advance(f *forest, first int) {
	k := f.outputs()
	for t := first; t < len(f.roots); t++ {
		for i := range h.y {
			h.score[i*k+t%k] += f.walk(t, h.x[i*h.cols:(i+1)*h.cols])
		}
	}
}

// draw samples a share of the items without replacement, at least one, in their order
// (selection sampling, Knuth vol. 2, §3.4.2). A share of 1 uses no random numbers and returns
// items itself. Otherwise the result reuses the memory of out.
func draw[T any](rng *rand.Rand, items []T, share float64, out []T) []T {
	if share >= 1 {
		return items
	}
	want := max(1, int(math.Round(share*float64(len(items)))))
	out = out[:0]
	for i, item := range items {
		if rng.IntN(len(items)-i) < want-len(out) {
			out = append(out, item)
		}
	}
	return out
}
