package fitting

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxVerifiedRows is the number of newest rows that VerifiedBlob predicts.
const maxVerifiedRows = 3

// VerifiedBlob encodes the model, decodes it again, and checks that both answer the task's newest
// rows, and a question without features, alike. A model that fails must not be published, because
// no replica could answer with it.
func (m *Model) VerifiedBlob(h *sizing.History) ([]byte, error) {
	blob, err := m.Blob()
	if err != nil {
		return nil, err
	}
	stored, err := Open(blob)
	if err != nil {
		return nil, fmt.Errorf("verify model: open the encoded blob: %w", err)
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
			return nil, fmt.Errorf("verify model: %w", err)
		}
	}
	return blob, nil
}

// compare returns an error if the answer is invalid or differs from another.
func (s *Answer) compare(other *Answer) error {
	if s.Limit <= 0 || s.Limit > sizing.MaxBytes || s.Promised == nil || math.IsNaN(*s.Promised) {
		return fmt.Errorf("answer of %d bytes with promised risk %v is invalid", s.Limit, s.Promised)
	}
	if s.Limit != other.Limit || other.Promised == nil || *s.Promised != *other.Promised ||
		s.Source != other.Source || s.CPU != other.CPU || !slices.Equal(s.Ladder, other.Ladder) {
		return fmt.Errorf("the decoded model answers %v, the trained model %v", other.Ladder, s.Ladder)
	}
	return nil
}
