package classify

import (
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Prior predicts the weighted frequencies of the bins for every row. It uses no features
// and is the baseline that every family must beat.
type Prior struct{}

// Name returns "prior".
func (Prior) Name() string { return "prior" }

// Fit counts the rows of each bin. All bins share the weight of one extra row (Laplace
// 1814), so that an empty bin is unlikely, not impossible. Fit returns the errors of Check.
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

// frequencies holds P(bin), the same for every row.
type frequencies []float64

func (f frequencies) Bins() int                    { return len(f) }
func (f frequencies) Probabilities(_, p []float64) { copy(p, f) }
