package classify

import (
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Prior gives every row the weighted frequencies of the bins: what is known
// without features, and what a family must beat to be worth its keep.
type Prior struct{}

// Name is "prior".
func (Prior) Name() string { return "prior" }

// Fit counts. One row's worth is shared out evenly (Laplace 1814), so that a bin
// without a row is unlikely, not impossible. Errors as of Check.
func (Prior) Fit(t *table.Table, bins int, _ uint64) (Classifier, error) {
	if err := Check(t, bins); err != nil {
		return nil, err
	}
	p, total := make(frequencies, bins), 1.0
	for i, y := range t.Y {
		p[int(y)] += t.Weight(i)
		total += t.Weight(i)
	}
	for bin := range p {
		p[bin] = (p[bin] + 1/float64(bins)) / total
	}
	return p, nil
}

// frequencies are P(bin), whatever the row.
type frequencies []float64

func (f frequencies) Bins() int                    { return len(f) }
func (f frequencies) Probabilities(_, p []float64) { copy(p, f) }
