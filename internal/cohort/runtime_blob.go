package cohort

import (
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/gbt"
)

type runTimesBlob struct {
	Numbers    []string
	Categories []string
	Mean       float64
	Values     map[uint64]statistic
	Trees      []byte
	Unseen     []weightedError
	Own        []weightedError
	Between    float64
	Within     float64
}

func (m *RunTimes) encoded() (*runTimesBlob, error) {
	if m == nil {
		return nil, nil
	}
	trees, err := m.trees.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return &runTimesBlob{m.Numbers, m.Categories, m.Mean, m.Values, trees, m.unseen.errors, m.own.errors, m.between, m.within}, nil
}

func (b *runTimesBlob) open() (*RunTimes, error) {
	if b == nil {
		return nil, nil
	}
	m := &RunTimes{
		encoder: encoder{b.Numbers, b.Categories, b.Mean, b.Values, nil, false}, trees: new(gbt.Regressor),
		unseen: newErrors(b.Unseen), own: newErrors(b.Own), between: b.Between, within: b.Within,
	}
	if err := m.trees.UnmarshalBinary(b.Trees); err != nil {
		return nil, fmt.Errorf("decode the run times of a cohort: %w", err)
	}
	if !m.isValid() {
		return nil, fmt.Errorf("decode the run times of a cohort: %d columns of the encoder, %d columns of the trees, %d errors on unseen tasks and the variances %v between and %v within tasks are not valid",
			m.columns(), m.trees.Cols(), len(b.Unseen), b.Between, b.Within)
	}
	return m, nil
}

func (m *RunTimes) isValid() bool {
	return len(m.Numbers) <= maxNumbers && len(m.Categories) <= maxCategories && m.trees.Cols() == m.columns() && len(m.unseen.errors) > 0 &&
		m.between > 0 && m.within > 0 && !math.IsInf(m.between+m.within, 0) && m.unseen.weight() > 0 && !math.IsInf(m.unseen.weight(), 0)
}
