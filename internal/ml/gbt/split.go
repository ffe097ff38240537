package gbt

// split is the best cut found at a node.
type split struct {
	gain        float64 // what the penalised loss falls by, doubled; 0: none found
	column      int
	bin         int  // the last code that goes left
	missingLeft bool // where NaN goes
	left        sums
}

// finder looks for the split of highest second-order gain (Chen & Guestrin 2016,
// eq. 7, without its ½ and its constant γ):
//
//	gain = GL²/(HL+λ) + GR²/(HR+λ) − G²/(H+λ)
type finder struct {
	lambda    float64
	minRows   int
	minWeight float64
	minGain   float64
}

// score is what a leaf of these rows takes off the loss, doubled.
func (f *finder) score(s sums) float64 { return s.g * s.g / (s.h + f.lambda) }

// search tries every cut of one column and returns the better of best and its own.
// bins are the column's sums, the missing bin last. Missing values are tried on
// both sides; where a node has none, later ones go with the larger child.
func (f *finder) search(column int, bins []sums, total sums, best split) split {
	last := len(bins) - 1
	missing := bins[last]
	if missing.n == 0 {
		bin, left, gain := f.scan(bins[:last], sums{}, total, best.gain)
		if gain > best.gain {
			best = split{gain, column, bin, 2*left.n >= total.n, left}
		}
		return best
	}
	// All values left, missing right, is itself a cut: hence the whole of bins.
	if bin, left, gain := f.scan(bins, sums{}, total, best.gain); gain > best.gain {
		best = split{gain, column, bin, false, left}
	}
	if bin, left, gain := f.scan(bins[:last], missing, total, best.gain); gain > best.gain {
		best = split{gain, column, bin, true, left}
	}
	return best
}

// scan moves the cut from left to right, starting with the rows in left, and
// returns the best cut whose gain exceeds least, or a gain of least.
func (f *finder) scan(bins []sums, left, total sums, least float64) (bin int, at sums, gain float64) {
	parent := f.score(total)
	bar := max(least, f.minGain) + parent // what the two children must score together
	found := false
	for b := range bins[:len(bins)-1] {
		s := &bins[b]
		if s.n == 0 {
			continue
		}
		left.g += s.g
		left.h += s.h
		left.n += s.n
		n, rightH := total.n-left.n, total.h-left.h
		if n < f.minRows {
			break
		}
		if left.n < f.minRows || left.h < f.minWeight || rightH < f.minWeight {
			continue
		}
		// One division, and only for a new best, instead of two at every cut.
		rightG := total.g - left.g
		hl, hr := left.h+f.lambda, rightH+f.lambda
		if both := left.g*left.g*hr + rightG*rightG*hl; both > bar*hl*hr {
			bar, bin, at, found = both/(hl*hr), b, left, true
		}
	}
	if !found {
		return 0, sums{}, least
	}
	return bin, at, bar - parent
}
