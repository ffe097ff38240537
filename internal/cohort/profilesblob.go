package cohort

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/gbt"
)

// profilesBlob is the encoding of Profiles.
type profilesBlob struct {
	Numbers     []string
	Categories  []string
	Mean        float64
	Values      map[uint64]statistic
	Bayes       bayes
	Trees       []byte
	Temperature float64
	Classes     []class
}

// WithProfiles returns a copy of m that predicts usage profiles; p may be nil.
func (m *Model) WithProfiles(p *Profiles) *Model {
	updated := *m
	updated.profiles = p
	return &updated
}

// Place predicts the usage profile of a task without history; ok is false if the namespace has too
// few tasks with a profile. It is valid for a nil model.
func (m *Model) Place(f *Facts) (place Place, ok bool) {
	if m == nil {
		return Place{}, false
	}
	return m.profiles.Place(f)
}

// encoded returns the encoding of p; nil for nil.
func (p *Profiles) encoded() (*profilesBlob, error) {
	if p == nil {
		return nil, nil
	}
	trees, err := p.trees.MarshalBinary()
	return &profilesBlob{p.facts.Numbers, p.facts.Categories, p.facts.Mean, p.facts.Values, p.bayes, trees, p.temperature, p.classes}, err
}

// open decodes the output of encoded.
func (b *profilesBlob) open() (*Profiles, error) {
	if b == nil {
		return nil, nil
	}
	p := &Profiles{
		facts: encoder{Numbers: b.Numbers, Categories: b.Categories, Mean: b.Mean, Values: b.Values},
		bayes: b.Bayes, trees: new(gbt.Classifier), temperature: b.Temperature, classes: b.Classes,
	}
	n := len(b.Classes)
	if len(b.Numbers) > maxNumbers || len(b.Categories) > maxCategories || n < 2 || n > maxClasses || !(b.Temperature > 0) {
		return nil, fmt.Errorf("decode usage profiles of a cohort: %d numbers, %d categories, %d profiles or the temperature %g are out of range", len(b.Numbers), len(b.Categories), n, b.Temperature)
	}
	if err := p.trees.UnmarshalBinary(b.Trees); err != nil {
		return nil, fmt.Errorf("decode usage profiles of a cohort: %w", err)
	}
	if b.Bayes.Classes != n || len(b.Bayes.Prior) != n || p.trees.Bins() != n || p.trees.Cols() != p.columns() {
		return nil, fmt.Errorf("decode usage profiles of a cohort: the classifier has %d profiles and %d columns, not %d and %d", p.trees.Bins(), p.trees.Cols(), n, p.columns())
	}
	for _, counts := range b.Bayes.Values {
		if len(counts) != n {
			return nil, fmt.Errorf("decode usage profiles of a cohort: a value has %d counts, not %d", len(counts), n)
		}
	}
	for _, c := range b.Classes {
		for _, d := range c.Spreads {
			if len(d) != 0 && (len(d) != gridSteps+1 || !slices.IsSorted(d) || math.IsNaN(float64(d[0]))) {
				return nil, fmt.Errorf("decode usage profiles of a cohort: a distribution of profile %d is not %d numbers in ascending order", c.ID, gridSteps+1)
			}
		}
	}
	return p, nil
}
