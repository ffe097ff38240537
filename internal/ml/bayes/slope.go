package bayes

import "math"

// SlopeEvidence is the evidence of one task about the slope of similar tasks in one input.
type SlopeEvidence struct {
	Tasks float64 // weight of Slope, in tasks: from 0 (unknown) to 1 (known without error)
	Slope float64 // change of the log peak per unit of the logarithm of the input (see Average.Log)
}

// Bounds of an estimated slope: a peak that grows faster than the square of an input, or falls
// faster than its inverse, is no guide for other tasks.
const (
	minSlope = -1.0
	maxSlope = 2.0
)

// SlopeEvidence appends the evidence of every line to dst. The weight of a least-squares slope
// is the posterior probability of its line times the reliability of the slope. This probability compares only the
// lines, the constant and the narrow constant, and ignores the modes and the point models. The reliability treats the
// slope as a random effect with the standard deviation Prior.Spread.
func (a *Average) SlopeEvidence(prior *Prior, dst []SlopeEvidence) []SlopeEvidence {
	if len(a.Lines) == 0 {
		return dst
	}
	share := math.Log((lineShare + affineShare) / float64(len(a.Lines)))
	constant, exact := math.Log(1-lineShare-affineShare-exactShare)+a.Constant, math.Log(exactShare)+a.Exact
	top := max(constant, exact)
	for i := range a.Lines {
		top = max(top, share+a.Lines[i].LogEvidence)
	}
	total := math.Exp(constant-top) + math.Exp(exact-top)
	for i := range a.Lines {
		total += math.Exp(share + a.Lines[i].LogEvidence - top)
	}
	for i := range a.Lines {
		slope, precision := a.Lines[i].estimate(prior)
		weight := math.Exp(share+a.Lines[i].LogEvidence-top) / total
		e := SlopeEvidence{Tasks: weight * precision, Slope: slope}
		if !(e.Tasks > 0) { // this condition is also true for NaN
			e = SlopeEvidence{}
		}
		dst = append(dst, e)
	}
	return dst
}

// estimate returns the least-squares slope, within minSlope and maxSlope, and its reliability from 0 to 1: the share of the
// variance Prior.Spread² in the sum of this variance and the squared standard error of the slope. Both are 0 if the line has
// fewer than three rows or its input hardly varies.
func (l *Line) estimate(prior *Prior) (slope, reliability float64) {
	const minSquares = 1e-9 // squared deviations of an almost constant input
	if l.Rows < 3 || !(l.XX >= minSquares) {
		return 0, 0
	}
	slope = l.XY / l.XX
	squares := max(0, l.YY-slope*l.XY)
	variance := (prior.Rows*prior.Deviation*prior.Deviation + squares) / (prior.Rows + l.Rows - 2)
	known := prior.Spread * prior.Spread * l.XX
	return max(minSlope, min(maxSlope, slope)), known / (known + variance)
}
