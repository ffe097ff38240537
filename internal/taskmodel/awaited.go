package taskmodel

import (
	"cmp"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A success may be reported without its peak. A later report may add the peak: a lookup in Prometheus after the run, or an
// import of measurements after one of run times. The row keeps its Seq, so Seq alone does not show that the peak is new.
// Therefore a model stores which of its rows were learned without a peak. Once such a row has a peak, the model predicts the
// row and learns the peak like one that arrives now (TrainingRow.Amends).

const (
	// maxAwaited is the largest number of stored ranges of rows without a peak. A training joins the successes without a peak
	// up to the next success with one into one range (rebuildAwaited).
	maxAwaited = 1000

	// A model is learned from scratch if it lacks at least minLacking peaks, and at least 1/lackingShare times as many peaks as
	// it has learned. So the work for all trainings from scratch together stays in proportion to the history.
	minLacking   = 8
	lackingShare = 4
)

// seqRange is a range of rows whose successes had no peak when the model learned them.
type seqRange struct {
	_           struct{} `cbor:",toarray"`
	First, Last int64
}

// Awaits reports whether the model has learned the success with number seq without its peak. The caller must ask
// only about a row that arrived before the last training or that the model has learned since.
func (m *Model) Awaits(seq int64) bool {
	_, found := m.findAwaited(seq)
	return found
}

func (m *Model) findAwaited(seq int64) (i int, found bool) {
	return slices.BinarySearchFunc(m.Awaited, seq, func(r seqRange, seq int64) int {
		switch {
		case r.Last < seq:
			return -1
		case r.First > seq:
			return 1
		}
		return 0
	})
}

func (m *Model) addAwaited(seq int64) {
	if i, found := m.findAwaited(seq); !found {
		m.Awaited = slices.Insert(m.Awaited, i, seqRange{First: seq, Last: seq})
		m.limitAwaited()
	}
}

func (m *Model) removeAwaited(seq int64) {
	i, found := m.findAwaited(seq)
	if !found {
		return
	}
	r := m.Awaited[i]
	parts := slices.DeleteFunc([]seqRange{{First: r.First, Last: seq - 1}, {First: seq + 1, Last: r.Last}},
		func(r seqRange) bool { return r.First > r.Last })
	m.Awaited = slices.Replace(m.Awaited, i, i+1, parts...)
	m.limitAwaited()
}

// limitAwaited removes the oldest ranges beyond maxAwaited. Peaks that are added later to rows of a removed range are used in
// fits only, unless there are many such peaks; see hasManyUnlearnedPeaks.
func (m *Model) limitAwaited() {
	m.Awaited = slices.Delete(m.Awaited, 0, max(0, len(m.Awaited)-maxAwaited))
}

// hasManyUnlearnedPeaks reports whether h has many peaks that the model neither learned nor awaits. They were added to rows of
// ranges that limitAwaited removed, or to rows that an earlier release learned, whose models have no ranges. Peaks that the
// last training left out as well, such as those that the quarantine discarded, do not count.
func (m *Model) hasManyUnlearnedPeaks(h *sizing.History) bool {
	return m.unlearnedPeaks(h)-m.Unlearned >= max(minLacking, m.Experts.LearnedRows/lackingShare)
}

// unlearnedPeaks returns the number of peaks in h that the model neither learned nor awaits, or 0 if it has learned more peaks
// than h has. It ignores rows that arrived after the newest learned row, and rows in quarantine.
func (m *Model) unlearnedPeaks(h *sizing.History) int {
	quarantined, peaks := m.quarantinedSeqs(), 0
	for i := range h.Rows {
		r := &h.Rows[i]
		if _, censoring := r.Peak(); censoring.HasPeak() && r.Seq <= m.LastSeq && !m.Awaits(r.Seq) && !quarantined[r.Seq] {
			peaks++
		}
	}
	return max(0, peaks-m.Experts.LearnedRows)
}

// rebuildAwaited sets Awaited from the successes of h without a peak. The model must have learned all rows of h.
func (m *Model) rebuildAwaited(h *sizing.History) {
	type ended struct {
		seq        int64
		isMeasured bool
	}
	rows := make([]ended, 0, len(h.Rows))
	for i := range h.Rows {
		if r := &h.Rows[i]; r.Outcome == sizing.Success {
			_, censoring := r.Peak()
			rows = append(rows, ended{r.Seq, censoring.HasPeak()})
		}
	}
	slices.SortFunc(rows, func(a, b ended) int { return cmp.Compare(a.seq, b.seq) })
	m.Awaited = m.Awaited[:0]
	continues := false // whether the previous row has no peak
	for _, r := range rows {
		switch {
		case r.isMeasured:
		case continues:
			m.Awaited[len(m.Awaited)-1].Last = r.seq
		default:
			m.Awaited = append(m.Awaited, seqRange{First: r.seq, Last: r.seq})
		}
		continues = !r.isMeasured
	}
	m.limitAwaited()
}
