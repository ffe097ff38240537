package fitting

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// FormatVersion moves with any change to what a blob holds.
const FormatVersion = 1

// Config has usable zero values.
type Config struct {
	Seed uint64
}

// Exam says how a challenger was judged.
type Exam struct {
	Trained bool   `json:"trained"`
	Reason  string `json:"reason"`
}

// JSON is the exam as it is stored.
func (e Exam) JSON() []byte { b, _ := json.Marshal(e); return b }

// Model is what was learned of one task.
type Model struct {
	Peaks   []sizing.Bytes
	Largest sizing.Bytes
	Started sizing.Bytes
	Bound   sizing.Bytes
	Secs    []float64
}

// New is a Model that was told nothing.
func New() *Model { return &Model{} }

// Open decodes a blob.
func Open(blob []byte) (*Model, error) {
	m := &Model{}
	return m, json.Unmarshal(blob, m)
}

// Blob encodes the model.
func (m *Model) Blob() ([]byte, error) { return json.Marshal(m) }

// Family names what answers.
func (m *Model) Family() string { return "prior" }

// LargestPeak is the largest measured peak; zero if none.
func (m *Model) LargestPeak() sizing.Bytes { return m.Largest }

// LargestStarted is the largest allocation that a pod was started with.
func (m *Model) LargestStarted() sizing.Bytes { return m.Started }

// Ambiguous says why features cannot tell the runs apart; "" if they can.
func (m *Model) Ambiguous() string { return "" }

// ToldOf reads a stored row.
func ToldOf(schema *sizing.Schema, r *sizing.HistoryRow) Told {
	peak, c := r.Peak()
	return Told{Seq: r.Seq, Features: schema.Features(r.Features), Outcome: r.Outcome, Peak: peak, Censoring: c, CPUMax: r.CPUMax, Duration: r.Duration, Requested: r.Requested, Allocated: r.Allocated, FirstTry: r.Try == 1}
}

// Learn tells the model one ended try.
func (m *Model) Learn(t Told) {
	if t.Censoring == sizing.Exact {
		m.Peaks = append(m.Peaks, t.Peak)
		m.Largest = max(m.Largest, t.Peak)
		m.Secs = append(m.Secs, t.Duration.Seconds())
	}
	if t.Censoring == sizing.AtLeast {
		m.Bound = max(m.Bound, t.Peak)
	}
	if t.Outcome != sizing.Unschedulable {
		m.Started = max(m.Started, t.Allocated.Memory)
	}
}

// Size answers a question.
func (m *Model) Size(q Question) Sized {
	if len(m.Peaks) < 3 {
		limit := q.Requested.Memory
		if q.Cap > 0 {
			limit = min(limit, q.Cap)
		}
		return Sized{Limit: limit, Source: sizing.FromRequested, Reason: "too little is known"}
	}
	limit := max(m.Largest.Times(1.15), m.Bound.Times(1.15), q.Above.Times(1.5)).RoundUp(sizing.MiB)
	limit = max(limit, q.Floor)
	if q.Cap > 0 {
		limit = min(limit, q.Cap)
	}
	s := Sized{Limit: limit, Ladder: []sizing.Bytes{limit}, Source: sizing.FromProfile, Reason: fmt.Sprintf("largest of %d peaks and 15 %%", len(m.Peaks))}
	if len(m.Peaks) >= 20 {
		s.Source = sizing.FromModel
	}
	s.Promised = m.Risk(q, limit)
	return s
}

// Risk is P(peak > limit).
func (m *Model) Risk(q Question, limit sizing.Bytes) *float64 {
	r := 1 / float64(len(m.Peaks)+1)
	return &r
}

// Fit fits.
func Fit(h *sizing.History, champion *Model, cfg Config) (*Model, Exam, error) {
	m := New()
	for i := range h.Rows {
		m.Learn(ToldOf(&h.Schema, &h.Rows[i]))
	}
	if len(m.Peaks) < 3 {
		return nil, Exam{Reason: "too little data"}, nil
	}
	slices.Sort(m.Secs)
	return m, Exam{Trained: true, Reason: "first"}, nil
}
