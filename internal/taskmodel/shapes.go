package taskmodel

import (
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/shape"
)

// Shapes are the distributions of the ratio of run time to prediction that the tasks of a namespace share.
type Shapes = shape.Set

// GivenShape holds prior probabilities of the shapes of one task; the zero value is none.
type GivenShape = shape.Given

// shapesSeed makes LearnShapes reproducible.
const shapesSeed = 1

// LearnShapes finds the shapes of the run-time ratios of many tasks; `ratios` holds one result of
// ReadRatios for each task. LearnShapes returns nil if fewer than two tasks have enough runs (shape.MinRuns).
func LearnShapes(ratios [][]float64) (*Shapes, error) {
	return shape.Learn(shape.Ratio, ratios, shapesSeed)
}

type storedShapes struct {
	shape.Set
	Classifier []byte `cbor:",omitempty"` // see EncodeShapes; earlier releases neither store nor read it
}

// EncodeShapes encodes shapes for the store, with the classifier that predicts the shape of a task with few runs. Package
// cohort encodes the classifier; nil: none.
func EncodeShapes(s *Shapes, classifier []byte) ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	b, err := mode.Marshal(storedShapes{*s, classifier})
	if err != nil {
		return nil, fmt.Errorf("encode shapes of run times: %w", err)
	}
	return b, nil
}

// ReadShapes decodes the output of EncodeShapes. The error wraps ErrFormat if b is damaged.
func ReadShapes(b []byte) (s *Shapes, classifier []byte, err error) {
	var stored storedShapes
	if err := decoding.Unmarshal(b, &stored); err != nil {
		return nil, nil, fmt.Errorf("%w: shapes of run times: %w", ErrFormat, err)
	}
	s = &stored.Set
	if n := len(s.Shapes); n > shape.MaxShapes {
		return nil, nil, fmt.Errorf("%w: %d shapes of run times are more than %d", ErrFormat, n, shape.MaxShapes)
	}
	sum := s.None
	for i := range s.Shapes {
		sum += s.Shapes[i].Prior
	}
	if !(math.Abs(sum-1) < 1e-6) {
		return nil, nil, fmt.Errorf("%w: shapes of run times: priors sum to %v", ErrFormat, sum)
	}
	return s, stored.Classifier, nil
}

// ShapeOf returns the index in s.Shapes of the most probable shape of a task with the given ratios. ok is false if the task
// has fewer than shape.MinRuns runs, or if most probably it has none of the shapes.
func ShapeOf(s *Shapes, ratios []float64) (index int, ok bool) {
	if len(ratios) < shape.MinRuns {
		return 0, false
	}
	m := s.Member(shape.Count(s.Norm, ratios))
	return m.Best, m.Best != shape.None
}

// ReadRatios returns Model.Ratios of a stored model without decoding the rest of the blob.
func ReadRatios(blob []byte) ([]float64, error) {
	body, err := bodyOf(blob)
	if err != nil {
		return nil, err
	}
	var stored struct{ Overrun experts.Window }
	if err := decoding.Unmarshal(body, &stored); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return (&Model{Overrun: stored.Overrun}).Ratios(), nil
}

// Shapes returns the shapes that the model uses; nil if it has none.
func (m *Model) Shapes() *Shapes { return m.ratios.shapes }
