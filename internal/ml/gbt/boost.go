package gbt

import "math/rand/v2"

// booster adds trees to a forest, round by round.
type booster struct {
	cfg  Config
	loss loss
	data *Binned
	rows []int32 // that are learned from, ascending
	in   *labels // of all rows of data
	out  *holdout
	rng  *rand.Rand

	grower    *grower
	forest    *forest
	drawn     []int32 // of this round
	gradients [][]gradient
	all       []int // columns
	columns   []int // of this tree
}

// run boosts for at most cfg.Rounds rounds. It ends early when no tree of a round
// could be split, since the next round would see the same, and when the holdout
// has not improved for cfg.EarlyStop rounds; then the best round's forest stays.
func (b *booster) run() *forest {
	b.start()
	best, since := len(b.forest.roots), 0
	least := b.out.mean(b.loss)
	for range b.cfg.Rounds {
		before := len(b.forest.roots)
		if !b.round() {
			b.forest.truncate(before)
			break
		}
		if b.cfg.EarlyStop == 0 || b.out == nil {
			continue
		}
		b.out.advance(b.forest, before)
		if now := b.out.mean(b.loss); now < least {
			least, best, since = now, len(b.forest.roots), 0
		} else if since++; since == b.cfg.EarlyStop {
			break
		}
	}
	if b.cfg.EarlyStop > 0 && b.out != nil {
		b.forest.truncate(best)
	}
	return b.forest
}

func (b *booster) start() {
	b.rng = rand.New(rand.NewPCG(b.cfg.Seed, 0x9e3779b97f4a7c15))
	b.grower = newGrower(b.data, b.cfg)
	b.forest = &forest{cols: b.data.Cols(), intercept: b.loss.intercept(b.in, b.rows)}
	b.in.shift(b.forest.intercept)
	b.out.shift(b.forest.intercept)
	b.gradients = make([][]gradient, b.loss.outputs())
	for c := range b.gradients {
		b.gradients[c] = make([]gradient, b.data.Rows())
	}
	b.all = make([]int, b.data.Cols())
	for j := range b.all {
		b.all[j] = j
	}
}

// round grows one tree per output, all from the scores before the round. It is
// false where none of them could be split.
func (b *booster) round() bool {
	b.drawn = draw(b.rng, b.rows, b.cfg.Subsample, b.drawn)
	b.loss.gradients(b.in, b.drawn, b.gradients)
	split := false
	for c, gradients := range b.gradients {
		b.columns = draw(b.rng, b.all, b.cfg.ColSample, b.columns)
		nodes := b.grower.grow(b.drawn, b.columns, gradients)
		split = split || len(nodes) > 1
		b.settle(nodes, c)
		b.forest.add(b.grower)
		b.others(c)
	}
	return split
}

// settle gives the leaves their values and moves the scores of their rows.
func (b *booster) settle(nodes []growing, output int) {
	k := b.loss.outputs()
	for i := range nodes {
		n := &nodes[i]
		if n.left != 0 {
			continue
		}
		n.value = b.cfg.LearningRate * b.loss.leaf(b.in, n, b.cfg.Lambda)
		for _, r := range n.rows {
			n.cover += b.in.w[r]
			b.in.score[int(r)*k+output] += n.value
		}
	}
}

// others moves the scores of the training rows that were not drawn, which sit in
// no leaf, by walking the newest tree.
func (b *booster) others(output int) {
	if len(b.drawn) == len(b.rows) {
		return
	}
	k, newest, next := b.loss.outputs(), len(b.forest.roots)-1, 0
	for _, r := range b.rows {
		if next < len(b.drawn) && b.drawn[next] == r {
			next++
			continue
		}
		b.in.score[int(r)*k+output] += b.forest.walk(newest, b.data.row(int(r)))
	}
}

// shift adds the intercepts to all scores.
func (l *labels) shift(intercept []float64) {
	for i := range l.score {
		l.score[i] += intercept[i%len(intercept)]
	}
}

// holdout is the rows that judge when to stop. A nil holdout judges nothing.
type holdout struct {
	labels
	x    []float64
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

// advance adds the trees from number first on to the scores.
func (h *holdout) advance(f *forest, first int) {
	k := f.outputs()
	for t := first; t < len(f.roots); t++ {
		for i := range h.y {
			h.score[i*k+t%k] += f.walk(t, h.x[i*h.cols:(i+1)*h.cols])
		}
	}
}
