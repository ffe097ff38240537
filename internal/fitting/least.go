package fitting

import "github.com/loadaware/loadaware/internal/sizing"

// least is the minimum grant that applies to q. A floor of the policy replaces it,
// whether higher or lower. A lower request that has held stands.
func (m *Model) least(q Question) sizing.Bytes {
	requested := q.Requested.Memory
	switch {
	case q.Floor > 0:
		return 0
	case requested > 0 && requested < q.Least && m.hasHeld(requested):
		return requested
	}
	return q.Least
}

// hasHeld reports whether runs succeeded with b, and none was killed by it.
func (m *Model) hasHeld(b sizing.Bytes) bool {
	return m.Experts.Told > 0 && m.Largest <= b && m.Bound < b
}
