package cohort

import (
	"fmt"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/shape"
)

type shapesBlob struct {
	classifierBlob
	Shapes []int             // Shapes.shapes
	Unseen [][]weightedError // by class: errors on tasks that the trees had not learned
	Own    [][]weightedError // by class: errors after 1 to MaxOwnRuns own runs
}

// MarshalBinary encodes s. Equal Shapes have equal bytes. The encoding of nil is empty.
func (s *Shapes) MarshalBinary() ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	c, err := s.classifier.encoded()
	if err != nil {
		return nil, err
	}
	b := shapesBlob{classifierBlob: c, Shapes: s.shapes}
	for class := range s.shapes {
		b.Unseen, b.Own = append(b.Unseen, s.unseen[class].errors), append(b.Own, s.own[class].errors)
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(b)
}

// OpenShapes decodes the output of MarshalBinary for a set of n shapes. It returns nil if data is empty,
// and an error if the result is not valid.
func OpenShapes(data []byte, n int) (*Shapes, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var b shapesBlob
	if err := cbor.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("decode the classifier of shapes: %w", err)
	}
	classes := len(b.Shapes)
	c, err := b.classifierBlob.open(classes)
	if err != nil {
		return nil, fmt.Errorf("decode the classifier of shapes: %w", err)
	}
	if distinct := slices.Compact(slices.Clone(b.Shapes)); !slices.IsSorted(b.Shapes) || len(distinct) != classes || b.Shapes[0] < 0 || b.Shapes[classes-1] >= min(n, shape.MaxShapes) || len(b.Unseen) != classes || len(b.Own) != classes {
		return nil, fmt.Errorf("decode the classifier of shapes: the shapes %v must be ascending and below %d, each with one distribution of errors without own runs and one with own runs (there are %d and %d)", b.Shapes, min(n, shape.MaxShapes), len(b.Unseen), len(b.Own))
	}
	s := &Shapes{classifier: *c, shapes: b.Shapes}
	for class := range classes {
		for _, errors := range [][]weightedError{b.Unseen[class], b.Own[class]} {
			for _, e := range errors {
				if math.IsNaN(e.Error) || math.IsInf(e.Error, 0) || !(e.Weight > 0) || math.IsInf(e.Weight, 0) {
					return nil, fmt.Errorf("decode the classifier of shapes: the error %v with the weight %v is out of range", e.Error, e.Weight)
				}
			}
		}
		s.unseen, s.own = append(s.unseen, newErrorsUpTo(b.Unseen[class], maxShapeErrors)), append(s.own, newErrorsUpTo(b.Own[class], maxShapeErrors))
	}
	return s, nil
}
