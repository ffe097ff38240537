package fitting

import "github.com/loadaware/loadaware/internal/sizing"

// least is the minimum grant that applies to q. A floor of the policy replaces it,
// whether higher or lower. A lower request that has held stands.
func (m *Model) minGrant(q Question) sizing.Bytes {
	requested := q.Requested.Memory
	switch {
	case q.Floor > 0:
		return 0
	case requested > 0 && requested < q.MinGrant && m.hasSufficed(requested):
		return requested
	}
	return q.MinGrant
}

// hasHeld reports whether runs succeeded with b, and none was killed by it.
func (m *Model) hasSufficed(b sizing.Bytes) bool {
	return m.Experts.Told > 0 && m.Largest <= b && m.Bound < b
}
