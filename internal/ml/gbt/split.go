package gbt

import "math"

type split struct {
	gain        float64 // twice the reduction of the penalised loss; 0: no split
	column      int
	bin         int  // last code on the left
	missingLeft bool // NaN goes left
}

// finder searches for the split with the highest second-order gain (Chen & Guestrin 2016,
// eq. 7, without the factor ½ and the constant γ):
//
//	gain = GL²/(HL+λ) + GR²/(HR+λ) − G²/(H+λ)
type finder struct {
	lambda    float64 // L2 penalty on leaf values
	minRows   int     // least number of rows in a child
	minWeight float64 // least Σ h in a child
	minGain   float64 // a split must have a larger gain

	// countsRows: every h of the tree is 1, as in the squared loss without weights. Then Σ h is the number of rows, and
	// histograms leave it out.
	countsRows bool
}

// score returns twice the loss reduction of a leaf with these sums.
func (f *finder) score(g, h float64) float64 { return g * g / (h + f.lambda) }

// nodeFinder searches for the best split of one node. It holds what all columns have in common.
type nodeFinder struct {
	*finder
	total  sums
	parent float64 // score of the node
	best   split   // with the largest gain so far; gain 0: none
}

func (f *finder) start(total sums) nodeFinder {
	return nodeFinder{finder: f, total: total, parent: f.score(total.g, total.h)}
}

// search evaluates every cut of one column, and sets `best` to the cut with the largest gain if it is larger than that of
// `best`. `bins` holds the sums of the column, with the missing bin last. search tries both children for missing values. If
// no value is missing in the node, the grower chooses the child.
func (f *nodeFinder) search(column int, bins []sums) {
	last := len(bins) - 1
	missing := bins[last]
	if missing.n == 0 {
		f.scan(column, bins[:last], sums{})
		return
	}
	// The last cut sends all values left and only missing values right, so scan all bins.
	f.scan(column, bins, sums{})
	f.scan(column, bins[:last], missing)
}

// scan moves the cut from left to right. `left` holds the sums that are on the left from the start: those of the missing
// values or none. A cut replaces `best` if its gain is above both f.best.gain and f.minGain.
//
// Only the loop of the function fill takes more time than this loop, so scan compares cuts without a division. With
// a = HL + λ and s = H + 2λ, the score of the children is above the threshold `bar` if
//
//	GL²·s > a·(bar·(s − a) − G² + 2·G·GL)
//
// The cut after an empty bin gives the same children as the cut before the bin, so it cannot replace that cut.
func (f *nodeFinder) scan(column int, bins []sums, left sums) {
	if f.countsRows {
		f.scanCounts(column, bins, left)
		return
	}
	total, lambda := f.total, f.lambda
	bar := max(f.best.gain, f.minGain) + f.parent
	s, g2, squared := total.h+2*lambda, 2*total.g, total.g*total.g
	rest := bar*s - squared
	g, h, n := left.g, left.h, left.n
	minN, maxN, minH, maxH := f.minRows, total.n-f.minRows, f.minWeight, total.h-f.minWeight
	found := -1
	for b := range bins[:len(bins)-1] {
		d := &bins[b]
		g += d.g
		h += d.h
		n += d.n
		if n > maxN || h > maxH {
			break
		}
		if n < minN || h < minH {
			continue
		}
		a := h + lambda
		if g*g*s > a*(rest-bar*a+g2*g) {
			if both := f.score(g, h) + f.score(total.g-g, total.h-h); both > bar {
				found, bar = b, both
				rest = bar*s - squared
			}
		}
	}
	if found >= 0 {
		f.best = split{gain: bar - f.parent, column: column, bin: found, missingLeft: left.n > 0}
	}
}

// scanCounts does the same as scan if every h is 1. Then Σ h is the number of rows, and the bins do not contain it.
func (f *nodeFinder) scanCounts(column int, bins []sums, left sums) {
	totalG, totalH, lambda := f.total.g, f.total.h, f.lambda
	bar := max(f.best.gain, f.minGain) + f.parent
	s, g2, squared := totalH+2*lambda, 2*totalG, totalG*totalG
	rest := bar*s - squared
	g, n, found := left.g, left.n, -1
	least := max(f.minRows, int(math.Ceil(min(f.minWeight, totalH))))
	most := f.total.n - least
	for b := range bins[:len(bins)-1] {
		d := &bins[b]
		g += d.g
		n += d.n
		if n > most {
			break
		}
		if n < least {
			continue
		}
		h := float64(n)
		a := h + lambda
		if g*g*s > a*(rest-bar*a+g2*g) {
			if both := f.score(g, h) + f.score(totalG-g, totalH-h); both > bar {
				found, bar = b, both
				rest = bar*s - squared
			}
		}
	}
	if found >= 0 {
		f.best = split{gain: bar - f.parent, column: column, bin: found, missingLeft: left.n > 0}
	}
}

func (s split) left(bins []sums) sums {
	var left sums
	if s.missingLeft {
		left = bins[len(bins)-1]
	}
	for _, b := range bins[:s.bin+1] {
		left = left.plus(b)
	}
	return left
}
