package taskmodel

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// If several runs with the same features were killed and none has succeeded, the features probably determine the peak, although
// no row shows it. While runs are in flight, the number of such kills is misleading: a kill is reported earlier than the
// successes of runs that started at the same time. Therefore a training counts only kills after which such successes would have
// been reported.

// countRepeatedKills sets RepeatedKills. The Seq of a known kill must be the index of its row in the history; `previous` is
// h.Schema.PreviousSameName().
func (m *Model) countRepeatedKills(h *sizing.History, previous []int) {
	m.RepeatedKills = nil
	settled := settledBefore(h)
	runs := map[uint64]map[uint64]struct{}{}
	for i := range m.KnownKills {
		k := &m.KnownKills[i]
		if k.measured() > 0 || !h.Rows[k.Seq].At.Before(settled) {
			continue
		}
		if runs[k.Key] == nil {
			runs[k.Key] = map[uint64]struct{}{}
		}
		runs[k.Key][k.Run] = struct{}{}
	}
	for key, killed := range runs {
		if len(killed) < 2 {
			delete(runs, key)
		}
	}
	for i := range h.Rows {
		if len(runs) == 0 {
			return
		}
		if h.Rows[i].Outcome == sizing.Success {
			delete(runs, featureKey(&h.Schema, cellsOf(&h.Schema, previous, h.Rows[i].Features)))
		}
	}
	m.RepeatedKills = map[uint64]int{}
	for key, killed := range runs {
		m.RepeatedKills[key] = len(killed)
	}
}

// settledBefore returns the newest end of a success minus the largest duration of a success. If a kill was reported before this
// time, the runs that started when it was reported have probably ended.
func settledBefore(h *sizing.History) time.Time {
	var newest time.Time
	longest := time.Duration(0)
	for i := range h.Rows {
		r := &h.Rows[i]
		if r.Outcome != sizing.Success {
			continue
		}
		longest = max(longest, r.Duration)
		if r.At.After(newest) {
			newest = r.At
		}
	}
	return newest.Add(-longest)
}

// repeatedKills returns the number of killed runs with the same features (RepeatedKills); 0 if a run with these features has
// succeeded.
func (m *Model) repeatedKills(e killEvidence, cells []sizing.Value) int {
	if e.killed == 0 || e.needed > 0 || len(m.RepeatedKills) == 0 {
		return 0
	}
	return m.RepeatedKills[featureKey(&m.Schema, cells)]
}
