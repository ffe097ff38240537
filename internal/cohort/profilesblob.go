package cohort

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/gbt"
)

type profilesBlob struct {
	classifierBlob
	Classes []class
}

// WithProfiles returns a copy of m that predicts usage profiles; p may be nil.
func (m *Model) WithProfiles(p *Profiles) *Model {
	updated := *m
	updated.profiles = p
	return &updated
}

// Place predicts the usage profile of a task without history; ok is false if m is nil or predicts no profiles,
// for example because the namespace has too few tasks with a profile.
func (m *Model) Place(f *Facts) (place Place, ok bool) {
	if m == nil {
		return Place{}, false
	}
	return m.profiles.Place(f)
}

func (p *Profiles) encoded() (*profilesBlob, error) {
	if p == nil {
		return nil, nil
	}
	c, err := p.classifier.encoded()
	return &profilesBlob{c, p.classes}, err
}

func (b *profilesBlob) open() (*Profiles, error) {
	if b == nil {
		return nil, nil
	}
	c, err := b.classifierBlob.open(len(b.Classes))
	if err != nil {
		return nil, fmt.Errorf("decode usage profiles of a cohort: %w", err)
	}
	for _, c := range b.Classes {
		for _, d := range c.Spreads { // quantiles at equidistant probabilities, for memory, CPU and so on
			if len(d) != 0 && (len(d) != gridSteps+1 || !slices.IsSorted(d) || math.IsNaN(float64(d[0]))) {
				return nil, fmt.Errorf("decode usage profiles of a cohort: a distribution of profile %d is not %d numbers in ascending order", c.ID, gridSteps+1)
			}
		}
	}
	return &Profiles{*c, b.Classes}, nil
}

type classifierBlob struct {
	Numbers     []string
	Categories  []string
	Mean        float64
	Values      map[uint64]statistic
	Bayes       bayes
	Trees       []byte
	Temperature float64
}

func (c *classifier) encoded() (classifierBlob, error) {
	trees, err := c.trees.MarshalBinary()
	return classifierBlob{c.facts.Numbers, c.facts.Categories, c.facts.Mean, c.facts.Values, c.bayes, trees, c.temperature}, err
}

// open decodes a classifier of n classes. It returns an error if the classifier is not valid.
func (b *classifierBlob) open(n int) (*classifier, error) {
	c := &classifier{
		facts: encoder{Numbers: b.Numbers, Categories: b.Categories, Mean: b.Mean, Values: b.Values},
		bayes: b.Bayes, trees: new(gbt.Classifier), temperature: b.Temperature,
	}
	if len(b.Numbers) > maxNumbers || len(b.Categories) > maxCategories || n < 2 || n > maxClasses || !(b.Temperature > 0) {
		return nil, fmt.Errorf("%d numbers, %d categories, %d classes or the temperature %g are out of range", len(b.Numbers), len(b.Categories), n, b.Temperature)
	}
	if err := c.trees.UnmarshalBinary(b.Trees); err != nil {
		return nil, err
	}
	if b.Bayes.Classes != n || len(b.Bayes.Prior) != n || c.trees.Bins() != n || c.trees.Cols() != c.columns() {
		return nil, fmt.Errorf("naive Bayes has %d classes and %d counts, and the trees have %d classes and %d columns, not %d classes and %d columns",
			b.Bayes.Classes, len(b.Bayes.Prior), c.trees.Bins(), c.trees.Cols(), n, c.columns())
	}
	for _, counts := range b.Bayes.Values {
		if len(counts) != n {
			return nil, fmt.Errorf("naive Bayes has %d counts for a value, not %d", len(counts), n)
		}
	}
	return c, nil
}
