package experiment

import (
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/resample"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// These are the methods that balance bins of different sizes before training.
const (
	None    = "none"
	Weights = "weights" // rows of small bins get larger weights
	Random  = "random"  // rows of small bins are duplicated at random
	SMOTE   = "smote"   // synthetic rows are interpolated between rows of small bins
)

// Oversamplings returns the methods that balance bins.
func Oversamplings() []string { return []string{None, Weights, Random, SMOTE} }

// incompatibility returns why a family cannot learn from oversampled rows, or "" if it can.
func incompatibility(familyName, oversampling string) string {
	f, classifier := familyOf(familyName)
	switch {
	case oversampling == None:
		return ""
	case !classifier:
		return "it is serving's own model, which learns from the original rows"
	case f.levels && oversampling != Weights:
		return "it learns levels: a duplicated row would leak into its own holdout fold, and a synthetic row has no level"
	}
	return ""
}

// trainingData holds the training rows of a family and the encoded holdout rows.
type trainingData struct {
	enc     *taskmodel.Encoding
	dataset *taskmodel.Dataset
	train   []int
	levels  []float64 // logarithms of the edges
	test    [][]float64
}

// newTrainingData fits an encoding on the training rows of a split.
func newTrainingData(l *taskmodel.Dataset, s split, levels []float64) *trainingData {
	m := &trainingData{enc: l.Encode(s.train), dataset: l, train: s.train, levels: levels}
	raw, _ := l.Raw(s.test)
	for i := range s.test {
		m.test = append(m.test, m.enc.Row(raw.Row(i)))
	}
	return m
}

// table returns the encoded, oversampled training rows with levels as targets. An added
// row gets the level of its bin's upper edge.
func (m *trainingData) table(oversampling string, seed uint64) (*table.Table, error) {
	out := *m.enc.Train
	bins := len(m.levels)
	switch oversampling {
	case Weights:
		weights, err := resample.Balanced(classify.Cut(&out, m.levels), bins)
		out.W = weights
		return &out, err
	case Random:
		more, err := resample.Random(classify.Cut(&out, m.levels), bins, seed)
		if err != nil {
			return nil, err
		}
		return m.extended(more, func(row []float64) []float64 { return row }), nil
	case SMOTE:
		raw, kinds := m.dataset.Raw(m.train)
		more, err := resample.SMOTE(classify.Cut(raw, m.levels), kinds, bins, 0, seed)
		if err != nil {
			return nil, err
		}
		return m.extended(more, m.enc.Row), nil
	}
	return &out, nil
}

// extended encodes all rows of more: first the task's own rows, then the added ones. It
// uses one encoding for all, because a difference would let the model recognise added rows.
func (m *trainingData) extended(more *table.Table, encode func(row []float64) []float64) *table.Table {
	own := m.enc.Train
	out := own.Select(nil)
	out.Y = append(out.Y, own.Y...)
	for i := range more.Rows() {
		out.X = append(out.X, encode(more.Row(i))...)
		if i >= own.Rows() {
			out.Y = append(out.Y, m.levels[int(more.Y[i])])
		}
	}
	return out
}
