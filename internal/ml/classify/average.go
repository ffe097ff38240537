package classify

import (
	"fmt"
	"strings"
	"sync"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Average averages the probabilities of the classifiers of several families. A family fits classifiers of one kind.
// Families with different errors, such as Regression and SoftmaxTrees, predict better together.
type Average []LevelFamily

// Name returns the names of the families, joined by +, such as "regression+softmax-trees".
func (a Average) Name() string {
	names := make([]string, len(a))
	for i, f := range a {
		names[i] = f.Name()
	}
	return strings.Join(names, "+")
}

// FitLevels fits all families on the same table and seed. It returns the first error with
// the name of its family.
func (a Average) FitLevels(t *table.Table, edges []float64, seed uint64) (Classifier, error) {
	if len(a) == 0 {
		return nil, fmt.Errorf("%w: an average needs at least one family", ErrTraining)
	}
	members := make([]Classifier, len(a))
	for i, f := range a {
		c, err := f.FitLevels(t, edges, seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		members[i] = c
	}
	return Mean(members...), nil
}

// Mean returns a classifier that averages the probabilities of its members. It needs at
// least one member, and all members must have the same bins.
func Mean(members ...Classifier) Classifier {
	bins := members[0].Bins()
	return &mean{members: members, scratch: sync.Pool{New: func() any { p := make([]float64, bins); return &p }}}
}

type mean struct {
	members []Classifier
	scratch sync.Pool // *[]float64 of Bins() values, for concurrent calls
}

func (m *mean) Bins() int { return m.members[0].Bins() }

func (m *mean) Probabilities(x, p []float64) {
	clear(p)
	buffer := m.scratch.Get().(*[]float64)
	defer m.scratch.Put(buffer)
	for _, c := range m.members {
		c.Probabilities(x, *buffer)
		for bin, v := range *buffer {
			p[bin] += v / float64(len(m.members))
		}
	}
}
