package fitting

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// Answers follow a pool; learning follows the task's own share alone. A model that has
// learned the same rows is therefore the same, whatever the siblings reported in between.

// margins are the fields of the experts that a pool sets.
type ownMargins struct {
	factor, price, span, requestRisk float64
	picks                            []experts.Pick
	saved                            bool // a pool is in force, and these are the task's own
}

// SetPool lets the answers follow what the DAG's tasks learned together, until the next
// Learn or Fit.
func (m *Model) SetPool(pool *Pool) {
	m.state = states.Add(1)
	if x := m.Experts; !m.own.saved {
		m.own = ownMargins{x.Factor, x.Price, x.Span, x.RequestRisk, append(m.own.picks[:0], x.Picks...), true}
	}
	m.Experts.SetPool(pool)
}

// leavePool restores the margins that follow from the task's own rows.
func (m *Model) leavePool() {
	if !m.own.saved {
		return
	}
	x := m.Experts
	x.Factor, x.Price, x.Span, x.RequestRisk = m.own.factor, m.own.price, m.own.span, m.own.requestRisk
	x.Picks = append(x.Picks[:0], m.own.picks...)
	m.own.saved = false
}

// EncodeShare encodes the task's share of its pool, to be stored beside the blob.
func (m *Model) EncodeShare() ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, fmt.Errorf("encode a share: %w", err)
	}
	share, err := mode.Marshal(m.Share)
	if err != nil {
		return nil, fmt.Errorf("encode a share: %w", err)
	}
	return share, nil
}

// ReadShare decodes what EncodeShare made; where share is nil, it reads the share that
// the blob of the same model holds.
func ReadShare(share, blob []byte) (Pool, error) {
	if share != nil {
		var pool Pool
		if err := decoding.Unmarshal(share, &pool); err != nil {
			return Pool{}, fmt.Errorf("%w: share: %w", ErrFormat, err)
		}
		return pool, nil
	}
	body, err := bodyOf(blob)
	if err != nil {
		return Pool{}, err
	}
	var stored struct{ Share Pool }
	if err := decoding.Unmarshal(body, &stored); err != nil {
		return Pool{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return stored.Share, nil
}
