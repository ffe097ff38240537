package sizing

import "time"

// History is what the store kept of one task, for learning. Rows are ordered by
// time (At, then Seq); features are encoded by Schema, older rows may be shorter.
type History struct {
	Task    TaskKey
	Schema  Schema
	Rows    []HistoryRow
	Pairs   []PeakPair // of all tasks of the namespace, newest first; only where some row's peak was merely sampled
	Total   int        // observations that exist; more than len(Rows) where history was thinned
	LastSeq int64      // the newest observation that was looked at
}

// PeakPair is one successful try whose peak was both measured and sampled: it tells
// what sampling misses.
type PeakPair struct {
	Task     TaskKey
	Exact    Bytes
	Sampled  Bytes
	Duration time.Duration
}

// HistoryRow is one ended try.
type HistoryRow struct {
	Seq           int64     // order of arrival, unique in a store
	At            time.Time // when it ended; else started; else was reported
	RunID         string
	MapIndex      int
	Try           int
	Outcome       Outcome
	MemoryMax     Bytes
	MemorySampled Bytes // the largest sample; what was short may be missed
	CPUMax        Cores
	Duration      time.Duration
	Allocated     Resources
	Requested     Resources
	Features      []float64 // by History.Schema; NaN is missing
	Promised      *float64  // the risk that was promised of it; nil where none was
	Granted       Bytes     // the largest amount that the try was answered, of an OOM; zero: not known
	Weight        float64   // how many rows this one stands for; 1 where nothing was thinned
}

// Peak is what the row tells of the memory that the task needs.
func (r *HistoryRow) Peak() (Bytes, Censoring) {
	o := Observation{Outcome: r.Outcome, MemoryMax: r.MemoryMax, MemorySampled: r.MemorySampled, Allocated: r.Allocated}
	return o.Peak()
}
