package experiment

import (
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/resample"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The methods that balance bins of different sizes before training.
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
	f, isClassifier := familyOf(familyName)
	switch {
	case oversampling == None:
		return ""
	case !isClassifier:
		return "it is the model of the service, which learns the original rows without weights of bins"
	case f.levels && oversampling != Weights:
		return "it learns log peaks: a row and its duplicate could be in different folds, so its residuals would not be out-of-sample, and a synthetic row has no peak of its own"
	}
	return ""
}

type trainingData struct {
	enc      *taskmodel.Encoding
	dataset  *taskmodel.Dataset
	train    []int // numbers of the training rows in dataset
	logEdges []float64
	test     [][]float64 // encoded holdout rows
}

func newTrainingData(dataset *taskmodel.Dataset, s split, logEdges []float64) *trainingData {
	m := &trainingData{enc: dataset.Encode(s.train), dataset: dataset, train: s.train, logEdges: logEdges}
	raw, _ := dataset.Raw(s.test)
	for i := range s.test {
		m.test = append(m.test, m.enc.Row(raw.Row(i)))
	}
	return m
}

// table returns the encoded training rows after oversampling. The target of an original row is its log peak. The target of
// an added row is the logarithm of the upper edge of its bin.
func (m *trainingData) table(oversampling string, seed uint64) (*table.Table, error) {
	out := *m.enc.Train
	bins := len(m.logEdges)
	switch oversampling {
	case Weights:
		weights, err := resample.Balanced(classify.Cut(&out, m.logEdges), bins)
		out.W = weights
		return &out, err
	case Random:
		more, err := resample.Random(classify.Cut(&out, m.logEdges), bins, seed)
		if err != nil {
			return nil, err
		}
		return m.extended(more, func(row []float64) []float64 { return row }), nil
	case SMOTE:
		raw, kinds := m.dataset.Raw(m.train)
		more, err := resample.SMOTE(classify.Cut(raw, m.logEdges), kinds, bins, 0, seed)
		if err != nil {
			return nil, err
		}
		return m.extended(more, m.enc.Row), nil
	}
	return &out, nil
}

// extended returns the training table for the rows of the table `more`: first the original rows, then the added rows. It
// encodes all rows in the same way, because the model could otherwise recognise added rows.
func (m *trainingData) extended(more *table.Table, encode func(row []float64) []float64) *table.Table {
	own := m.enc.Train
	out := own.Select(nil)
	out.Y = append(out.Y, own.Y...)
	for i := range more.Rows() {
		out.X = append(out.X, encode(more.Row(i))...)
		if i >= own.Rows() {
			out.Y = append(out.Y, m.logEdges[int(more.Y[i])])
		}
	}
	return out
}
