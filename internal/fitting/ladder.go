package fitting

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// liftsPlanned is how many lifts the experts plan at once. A ladder of more is planned anew
// from every rung, as the lifts themselves are.
const maxPlannedLifts = 3

// longLadder appends, for each lift, the first rung of a plan for the lifts left.
func (m *Model) longLadder(p *experts.Point, q Question, from, ceiling sizing.Bytes, b *buffers, ladder []sizing.Bytes) []sizing.Bytes {
	last := from
	for lifts := q.Lifts; lifts > 0; lifts-- {
		b.rungs = m.Experts.Ladder(p, float64(last), float64(ceiling), lifts, &b.scratch, b.rungs[:0])
		if len(b.rungs) == 0 {
			break
		}
		if next := clamp(q, roundToGrid(q, b.rungs[0])); next > last {
			ladder, last = append(ladder, next), next
		}
	}
	return ladder
}
