package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A kill is strong evidence about runs with the same features: they need more than the killed allocation. The experts learn
// only measured peaks. Therefore a model stores a kill as a lower bound of the peaks of later runs with the same features,
// until one of these runs has a peak below this bound.

const (
	maxKnownKills = 256 // largest number of stored kills of a task; with more, a model takes more memory
	maxKnownPeaks = 3   // largest number of stored peaks for each kill; few, so that the bound soon follows a change
)

// knownKill is one OOM-killed try. Since the kill, no run with the same features has had a peak below Killed.
type knownKill struct {
	_      struct{} `cbor:",toarray"` // a model stores hundreds
	Key    uint64   // featureKey of its features
	Run    uint64   // sizing.RunHash of its run
	Try    int
	Seq    int64
	Killed sizing.Bytes                // the killed allocation or, if a retry of the run had no larger peak, one byte less than this peak
	Peaks  [maxKnownPeaks]sizing.Bytes // newest measured peaks with the same features since the kill, newest first; zero: none
}

func (k *knownKill) measured() sizing.Bytes { return slices.Max(k.Peaks[:]) }

// featureKey returns a hash of the features in `cells` (FNV-1a, 64 bit). It includes the names of the
// fields, so that a new field in the schema does not change the keys of rows without this field.
func featureKey(schema *sizing.Schema, cells []sizing.Value) uint64 {
	h := uint64(14695981039346656037)
	mix := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	text := func(s string) {
		for i := range len(s) {
			mix(s[i])
		}
		mix(0)
	}
	for j := range min(len(schema.Fields), len(cells)) {
		field, v := &schema.Fields[j], &cells[j]
		switch v.Kind {
		case sizing.Missing:
			continue
		case sizing.Category:
			text(field.Name)
			// A field that has MaxCategories categories stores every further value as the same unknown category.
			if len(field.Categories) < sizing.MaxCategories || slices.Contains(field.Categories, v.Text) {
				text(v.Text)
			}
		default:
			text(field.Name)
			bits := math.Float64bits(v.Num + 0) // −0 is 0
			for shift := 0; shift < 64; shift += 8 {
				mix(byte(bits >> shift))
			}
		}
	}
	return h
}

func (m *Model) learnKill(t *TrainingRow) {
	m.KnownKills = withKill(m.KnownKills, t, featureKey(&m.Schema, m.cells(t.Features, nil)))
}

func withKill(kills []knownKill, t *TrainingRow, key uint64) []knownKill {
	kills = withoutTry(kills, t.Run, t.Try)
	if len(kills) >= maxKnownKills {
		kills = slices.Delete(kills, 0, 1)
	}
	return append(kills, knownKill{Key: key, Run: t.Run, Try: t.Try, Seq: t.Seq, Killed: t.Peak})
}

func (m *Model) learnPeak(t *TrainingRow) {
	if len(m.KnownKills) > 0 {
		m.KnownKills = withPeak(m.KnownKills, t, featureKey(&m.Schema, m.cells(t.Features, nil)))
	}
}

// withPeak returns `kills`, updated with the measured try t, whose features have the given key. Kills of the same run get the
// peak (see addMeasured). Of the older kills with the same key, withPeak removes those above the peak, and the others get the
// peak.
func withPeak(kills []knownKill, t *TrainingRow, key uint64) []knownKill {
	remaining := kills[:0]
	for _, k := range kills {
		switch {
		case k.Run == t.Run:
			k.addMeasured(t.Peak)
		case k.Key != key || k.Seq >= t.Seq:
		case t.Peak < k.Killed:
			continue
		default:
			k.addPeak(t.Peak)
		}
		remaining = append(remaining, k)
	}
	clear(kills[len(remaining):])
	return remaining
}

// addMeasured adds the measured peak of the killed run. If Killed is not below this peak, Killed becomes one byte less
// than the peak, because the measured peak is better evidence than the kill.
func (k *knownKill) addMeasured(peak sizing.Bytes) {
	k.Killed = min(k.Killed, peak-1)
	k.addPeak(peak)
}

func (k *knownKill) addPeak(peak sizing.Bytes) {
	copy(k.Peaks[1:], k.Peaks[:maxKnownPeaks-1])
	k.Peaks[0] = peak
}

func withoutTry(kills []knownKill, run uint64, try int) []knownKill {
	return slices.DeleteFunc(kills, func(k knownKill) bool { return k.Run == run && k.Try == try })
}

// hasSmallerKnownKill reports whether a run, which was killed with the given allocation, has a known kill with a smaller one.
// Then even a very large allocation is probably not in the wrong unit, and the kill counts for runs with the same features even
// while its report is in quarantine.
func hasSmallerKnownKill(kills []knownKill, run uint64, allocation sizing.Bytes) bool {
	return slices.ContainsFunc(kills, func(k knownKill) bool { return k.Run == run && k.Killed < allocation })
}

// Void removes the known kill of a try after the report of the try was voided (deleted). It also removes the kill of the
// try's run from the cold-start rule, and the run from m.AppOOMs. `run` is the sizing.RunHash of this run. The next training
// removes the other effects of the report.
func (m *Model) Void(run uint64, try int) {
	m.state = states.Add(1)
	m.KnownKills = withoutTry(m.KnownKills, run, try)
	m.AppOOMs.remove(run)
	m.resolveColdStartKill(run)
}

// RenameRun changes the sizing.RunHash of the kills, the errors (AppOOMs) and the quarantined reports of a run whose DAG run
// was deleted and created again. So the tries of the new run are not related to them.
func (m *Model) RenameRun(from, to uint64) {
	m.state = states.Add(1)
	rename := func(run *uint64) {
		if *run == from {
			*run = to
		}
	}
	for i := range m.KnownKills {
		rename(&m.KnownKills[i].Run)
	}
	for i := range m.Unresolved.Kills {
		rename(&m.Unresolved.Kills[i].Run)
	}
	for i := range m.ColdStart.Kills {
		rename(&m.ColdStart.Kills[i].Run)
	}
	m.AppOOMs.rename(rename)
	for i := range m.KilledStarts {
		rename(&m.KilledStarts[i].Run)
	}
	for i := range m.Quarantine { // a report that is confirmed later is learned as a report of its run
		rename(&m.Quarantine[i].Run)
	}
}

// rebuildKills computes the known kills from h. It processes the rows in the order of the history, so that a peak that was
// reported late does not count as newer than a kill, and decodes their features with the schema of the whole history.
func (m *Model) rebuildKills(h *sizing.History) {
	h = m.Resumed.raiseHistory(h)
	quarantinedRows, previous := m.quarantinedSeqs(), h.Schema.PreviousSameName()
	m.KnownKills = nil
	type success struct {
		try  int
		peak sizing.Bytes
	}
	successes := map[uint64]success{} // the newest measured try so far, by run
	for i := range h.Rows {
		r := &h.Rows[i]
		peak, censoring := m.peakOf(r)
		measured := censoring == sizing.Exact
		if !measured && censoring != sizing.AtLeast {
			continue
		}
		run := sizing.RunHash(r.RunID, r.MapIndex)
		if quarantinedRows[r.Seq] && (measured || !hasSmallerKnownKill(m.KnownKills, run, peak)) {
			continue
		}
		t := TrainingRow{Seq: int64(i), Run: run, Try: r.Try, Peak: peak} // withPeak compares the positions in the history
		if measured {
			successes[run] = success{r.Try, peak}
			if len(m.KnownKills) == 0 {
				continue
			}
		}
		key := featureKey(&h.Schema, cellsOf(&h.Schema, previous, r.Features))
		if measured {
			m.KnownKills = withPeak(m.KnownKills, &t, key)
			continue
		}
		m.KnownKills = withKill(m.KnownKills, &t, key)
		if retry, known := successes[run]; known && retry.try > r.Try { // the kill was reported after the success of its run
			m.KnownKills[len(m.KnownKills)-1].addMeasured(retry.peak)
		}
	}
	m.countRepeatedKills(h, previous)
	m.Unresolved.settle(h)
	for i := range m.KnownKills {
		k := &m.KnownKills[i]
		k.Seq = h.Rows[k.Seq].Seq
	}
}

// killEvidence holds the two bounds that the known kills give for a row. Zero means no evidence.
type killEvidence struct {
	killed sizing.Bytes // largest killed allocation of the known kills with the same features that store no peak
	needed sizing.Bytes // of the known kills with the same features that store a peak: the larger of the largest peak (knownKill.Peaks) times m.Understatement.factor(), and the largest killed allocation plus one byte
}

func (e killEvidence) tooLittle() sizing.Bytes { return max(e.killed, e.needed-1, 0) }

func (m *Model) evidence(cells []sizing.Value) (e killEvidence) {
	if len(m.KnownKills) == 0 || m.ablated.NoKnownKills {
		return e
	}
	key := featureKey(&m.Schema, cells)
	for i := range m.KnownKills {
		k := &m.KnownKills[i]
		if k.Key != key {
			continue
		}
		if measured := k.measured(); measured > 0 {
			e.needed = max(e.needed, measured.Times(m.Understatement.factor()), k.Killed+1)
		} else {
			e.killed = max(e.killed, k.Killed)
		}
	}
	return e
}

// raiseAboveKills returns the largest of `amount`, the first rung of the ladder above e.killed, and e.needed. The rung
// applies only if e.needed does not exceed e.killed. It also replaces an amount that is only slightly above the kill, because
// a training may change the amounts of the models by a few MiB. The rung ignores the floor and the minimum grant, which are later
// rules of Model.bound.
func (m *Model) raiseAboveKills(p *experts.Point, q Question, amount sizing.Bytes, e killEvidence, b *buffers) sizing.Bytes {
	if e.killed > 0 && e.needed <= e.killed {
		rung := sizing.DefaultLift(e.killed)
		q.Floor, q.MinGrant = 0, 0
		q.Lifts = max(2, q.Lifts+1) // this try counts as a lift, and a single lift would go to the cap
		b.above = m.ladder(p, q, e.killed, b, b.above[:0])
		if len(b.above) > 0 {
			rung = b.above[0]
		}
		amount = max(amount, rung)
	}
	if amount < e.needed {
		amount = roundToGrid(q, float64(e.needed))
	}
	return amount
}
