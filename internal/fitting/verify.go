package fitting

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// verifiedRows is how many of the newest rows a model is asked about before it is stored.
const maxVerifiedRows = 3

// VerifiedBlob is Blob of a model that was opened again and answers the task's newest
// rows, and a question without features, as m does. A model that fails this must not be
// published: no replica could answer by it.
func (m *Model) VerifiedBlob(h *sizing.History) ([]byte, error) {
	blob, err := m.Blob()
	if err != nil {
		return nil, err
	}
	stored, err := Open(blob)
	if err != nil {
		return nil, fmt.Errorf("open the encoded model: %w", err)
	}
	questions := []Question{{RiskTarget: sizing.DefaultRiskTarget, Lifts: sizing.DefaultMaxLifts}}
	for i := max(0, len(h.Rows)-maxVerifiedRows); i < len(h.Rows); i++ {
		q := questions[0]
		q.Features = h.Schema.Features(h.Rows[i].Features)
		questions = append(questions, q)
	}
	for _, q := range questions {
		here, there := m.Size(q), stored.Size(q)
		if err := here.compare(&there); err != nil {
			return nil, fmt.Errorf("ask the encoded model: %w", err)
		}
	}
	return blob, nil
}

// disagrees says in what an answer differs from another, or is none; nil if both are good.
func (s *Answer) compare(other *Answer) error {
	if s.Limit <= 0 || s.Limit > sizing.MaxBytes || s.Promised == nil || math.IsNaN(*s.Promised) {
		return fmt.Errorf("it answers %d bytes with the promise %v", s.Limit, s.Promised)
	}
	if s.Limit != other.Limit || other.Promised == nil || *s.Promised != *other.Promised ||
		s.Source != other.Source || s.CPU != other.CPU || !slices.Equal(s.Ladder, other.Ladder) {
		return fmt.Errorf("it answers %v where the trained model answers %v", other.Ladder, s.Ladder)
	}
	return nil
}
