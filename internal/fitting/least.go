package fitting

import "github.com/loadaware/loadaware/internal/sizing"

// minGrant returns the minimum grant that applies to q. A policy's floor replaces it, whether
// higher or lower, and so does a lower request that has sufficed.
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

// hasSufficed reports whether runs succeeded with b and none was killed at it.
func (m *Model) hasSufficed(b sizing.Bytes) bool {
	return m.Experts.Told > 0 && m.Largest <= b && m.Bound < b
}
