package experiment

import (
	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/resample"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// The ways to even out bins of different sizes before a family learns.
const (
	None    = "none"
	Weights = "weights" // rows of small bins weigh more
	Random  = "random"  // rows of small bins are drawn again
	SMOTE   = "smote"   // rows between rows of small bins are made up
)

// Oversamplings are the ways to even out bins.
func Oversamplings() []string { return []string{None, Weights, Random, SMOTE} }

// unfit says why a family cannot learn from oversampled rows; "" where it can.
func unfit(familyName, oversampling string) string {
	f, classifier := familyOf(familyName)
	switch {
	case oversampling == None:
		return ""
	case !classifier:
		return "it is serving's own model, which learns from the rows as they are"
	case f.levels && oversampling != Weights:
		return "it learns levels, of which a row that was drawn again would be in the fold that it is held out of, and a synthetic row has none"
	}
	return ""
}

// material is what a family learns from, and what it is asked then.
type material struct {
	enc    *fitting.Encoding
	lesson *fitting.Dataset
	train  []int
	levels []float64 // of the edges
	test   [][]float64
}

// materialOf freezes an encoding on the rows of a split.
func materialOf(l *fitting.Dataset, s split, levels []float64) *material {
	m := &material{enc: l.Encode(s.train), lesson: l, train: s.train, levels: levels}
	raw, _ := l.Raw(s.test)
	for i := range s.test {
		m.test = append(m.test, m.enc.Row(raw.Row(i)))
	}
	return m
}

// table is the encoded rows to learn from, oversampled; targets are levels. A row
// that was added has the level of its bin's upper edge, which is in the bin.
func (m *material) table(oversampling string, seed uint64) (*table.Table, error) {
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
		raw, kinds := m.lesson.Raw(m.train)
		more, err := resample.SMOTE(classify.Cut(raw, m.levels), kinds, bins, 0, seed)
		if err != nil {
			return nil, err
		}
		return m.extended(more, m.enc.Row), nil
	}
	return &out, nil
}

// extended is all rows of more, encoded: the task's own first, then those that were
// added. All are encoded alike, since a statistic that only the added rows knew in
// full would tell them from the others.
func (m *material) extended(more *table.Table, encode func(row []float64) []float64) *table.Table {
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
