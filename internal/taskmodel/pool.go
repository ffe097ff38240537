package taskmodel

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// Answers use the margins of the DAG's pool; learning uses the task's own margins. So models that
// learned the same rows are equal, whatever other tasks have reported.

// ownMargins are the task's own values of the fields of experts.Experts that depend on the pool.
type ownMargins struct {
	factor, meanRowCost, priorDeviation, requestRisk float64
	levelFactors                                     experts.LevelFactors
	picks                                            []experts.Pick
	meanLoading                                      float64 // mean loading of the DAG's tasks (runscore.go)
	saved                                            bool    // a pool is in use, and the other fields are set
}

// SetPool makes answers use the DAG's pool and those of the namespace's other DAGs (nil: none) until the next call of Learn,
// Fit, Update or Blob.
func (m *Model) SetPool(pool *Pool, others *Namespace) {
	m.state = states.Add(1)
	if x := m.Experts; !m.own.saved {
		m.own = ownMargins{factor: x.Factor, meanRowCost: x.MeanRowCost, priorDeviation: x.PriorDeviation, requestRisk: x.RequestRisk, levelFactors: x.LevelFactors, picks: append(m.own.picks[:0], x.Picks...), saved: true}
	}
	if m.ablated.NoPool {
		pool, others = &m.Share, nil
	}
	m.own.meanLoading = meanLoading(pool)
	m.Experts.SetPool(pool, others)
	m.setPoolSlopes(pool, others)
	m.effects = pool.Effects
}

func (m *Model) leavePool() {
	if !m.own.saved {
		return
	}
	x := m.Experts
	x.Factor, x.MeanRowCost, x.PriorDeviation, x.RequestRisk = m.own.factor, m.own.meanRowCost, m.own.priorDeviation, m.own.requestRisk
	x.LevelFactors = m.own.levelFactors
	x.Picks = append(x.Picks[:0], m.own.picks...)
	m.own.saved, m.slopes = false, m.slopes[:0]
	clear(m.effects[:])
}

// EncodeShare encodes the task's contribution to the pool of its DAG. The store has a column for it, so
// that a pool is computed without decoding models.
func (m *Model) EncodeShare() ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, fmt.Errorf("encode pool share: %w", err)
	}
	share, err := mode.Marshal(m.Share)
	if err != nil {
		return nil, fmt.Errorf("encode pool share: %w", err)
	}
	return share, nil
}

// ReadShare decodes share, the output of EncodeShare. If share is nil, ReadShare reads the contribution from the model's
// blob. The error wraps ErrFormat if the input is damaged.
func ReadShare(share, blob []byte) (Pool, error) {
	if share != nil {
		var pool Pool
		if err := decoding.Unmarshal(share, &pool); err != nil {
			return Pool{}, fmt.Errorf("%w: pool share: %w", ErrFormat, err)
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
