package gbt

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
}

// score returns twice the loss reduction of a leaf with these sums.
func (f *finder) score(g, h float64) float64 { return g * g / (h + f.lambda) }

// search evaluates every cut of one column. It returns the cut with the largest gain, or its argument `best` if no cut
// has a larger gain. `bins` holds the sums of the column, with the missing bin last. search tries both
// children for missing values. If no value is missing in the node, the grower chooses the child.
func (f *finder) search(column int, bins []sums, total sums, best split) split {
	last := len(bins) - 1
	missing := bins[last]
	if missing.n == 0 {
		if bin, gain := f.scan(bins[:last], sums{}, total, best.gain); bin >= 0 {
			best = split{gain: gain, column: column, bin: bin}
		}
		return best
	}
	// The last cut sends all values left and only missing values right, so scan all bins.
	if bin, gain := f.scan(bins, sums{}, total, best.gain); bin >= 0 {
		best = split{gain: gain, column: column, bin: bin}
	}
	if bin, gain := f.scan(bins[:last], missing, total, best.gain); bin >= 0 {
		best = split{gain: gain, column: column, bin: bin, missingLeft: true}
	}
	return best
}

// scan moves the cut from left to right and returns the best cut whose gain is above both `least` and f.minGain. `bin`
// is −1 if there is none. `left` holds the sums that are on the left from the start.
//
// Only the loop of the function fill takes more time than this loop, so scan compares cuts without a division. With
// a = HL + λ and s = H + 2λ, the score of the children is above the threshold `bar` if
//
//	GL²·s > a·(bar·(s − a) − G² + 2·G·GL)
//
// An empty bin repeats the previous cut and cannot exceed it.
func (f *finder) scan(bins []sums, left, total sums, least float64) (bin int, gain float64) {
	parent := f.score(total.g, total.h)
	bar := max(least, f.minGain) + parent
	s, g2, squared := total.h+2*f.lambda, 2*total.g, total.g*total.g
	rest := bar*s - squared
	g, h, n := left.g, left.h, left.n
	minN, maxN, minH, maxH := f.minRows, total.n-f.minRows, f.minWeight, total.h-f.minWeight
	lambda := f.lambda
	bin = -1
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
				bin, bar = b, both
				rest = bar*s - squared
			}
		}
	}
	return bin, bar - parent
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
