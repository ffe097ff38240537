package fitting

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// maxPlannedLifts is the number of lifts that the experts plan at once. A longer ladder is
// planned again from every rung, as successive lifts are.
const maxPlannedLifts = 3

// longLadder appends, for each lift, the first rung of a plan for the remaining lifts.
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
