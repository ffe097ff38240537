package experts

import "math"

// Answer is the allocation for a row.
type Answer struct {
	Amount   float64 // in the unit of the peak
	Promised float64 // P(killed), corrected by Factor: a mean over the learned rows or, after ForRow, for this row
	Factor   float64 // the factor by which the pool corrects the promise; 1: no correction
	Expert   int     // expert with the largest weight; −1 for the cold-start rule, below −1 for a margin of Repeats

	mean float64 // Promised, as Experts.Answer returned it
	row  float64 // the promise for this row instead of the mean
}

// ForRow returns the answer with the promise for its row; the amount does not change. If the caller has raised Promised above
// the mean, because of evidence that the experts do not have, the larger promise counts.
func (a Answer) ForRow() Answer {
	if a.Promised > a.mean {
		a.Promised = max(a.Promised, a.row)
	} else {
		a.Promised = Probability(a.row * (a.Promised / a.mean)) // exactly a.row if the caller has not changed Promised
	}
	return a
}

// WithoutRow undoes ForRow: it returns Promised before ForRow, given Promised after ForRow. If the caller raised Promised above
// the mean, but at most to the promise for the row, it returns the mean.
func (a Answer) WithoutRow(promised float64) float64 {
	if promised > a.row {
		return max(promised, a.mean)
	}
	return a.mean * (promised / a.row)
}

// promise returns the promise for a row whose risk is `risk` by the selected experts. Exceptions (Point.IsException: rows
// with a rare value or a rarely present feature) have their own kill rate.
func (x *Experts) promise(p *Point, risk float64) float64 {
	promise := Probability(min(0.5, risk))
	if p.IsException {
		promise = max(promise, min(0.5, x.Exceptions.killRate(promise)))
	}
	return promise
}

// candidate is an amount of the experts, of the cold-start rule, of both, or of a margin of Repeats. Its risks are without the
// corrections by the pool.
type candidate struct {
	amount   float64
	killRate float64 // expected kill rate, a mean over rows
	rowRisk  float64 // expected kill rate of this row
	expert   int     // see Answer.Expert
}

// relativeRisk returns the square root of the ratio of a risk that an expert chose for a row to the mean of the risks that it
// chose. It is the square root because after the inputs have become larger, the risks of most rows are above this mean; with
// the ratio itself, the promises were then more than twice the kills. Before the first charged row, the result is 1.
func (x *Experts) relativeRisk(e int, risk float64) float64 {
	if x.NominalRisk[e] == 0 {
		return 1
	}
	return math.Sqrt(risk / x.NominalRisk[e])
}
