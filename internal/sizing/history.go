package sizing

import "time"

// History is the stored history of one task, for learning. Rows are ordered by time (At, then Seq) or, if they were
// read in the order of arrival, by Seq. Schema encodes their features. An older row may have fewer numbers than Schema
// has fields.
type History struct {
	Task    TaskKey
	Schema  Schema
	Rows    []HistoryRow
	Pairs   []PeakPair // tries of the namespace with a measured and a sampled peak, newest first; read only if a row has only a sampled peak
	Total   int        // number of observations, stored and removed; above len(Rows) if Rows is a sample
	LastSeq int64      // Seq of the newest observation of the task or, if Rows were read in the order of arrival, of the newest row
}

// MaxPairs bounds the pairs of a History.
const MaxPairs = 500

// PeakPair is one successful try with both a measured and a sampled peak. The difference shows the
// error of sampling.
type PeakPair struct {
	Task     TaskKey
	Exact    Bytes
	Sampled  Bytes
	Duration time.Duration
}

// HistoryRow is one ended try.
type HistoryRow struct {
	Seq           int64     // order of arrival, unique in a store
	At            time.Time // the end of the try; its start if the end is unknown; the arrival of the report if both are unknown or the time is implausible; of a reproduced run, the time of the archived run
	StartedAt     time.Time // as reported, or the reported end minus Duration; zero if unknown, implausible or after At, and for a reproduced run
	RunID         string
	MapIndex      int
	Try           int // try number
	Outcome       Outcome
	MemoryMax     Bytes
	MemorySampled Bytes // the largest sample; it may miss short peaks
	CPUMax        Cores
	Duration      time.Duration
	Allocated     Resources
	Requested     Resources
	Features      []float64 // encoded by History.Schema; NaN is missing
	Promised      *float64  // promised risk of the prediction; nil if the prediction has none or is unknown, and for a reproduced run
	Granted       Bytes     // of an OOM-killed try: the largest limit that its receipts grant; zero if unknown
	RunScore      float64   // see Observation.RunScore
	MeasuredAfter int64     // the Seq of the task's newest row when a later report added the peak; 0 if none did, or if it is unknown
	Weight        float64   // the number of rows that this row represents; 1 unless the row is part of a sample
}

// Peak returns the row's peak memory and how it is censored.
func (r *HistoryRow) Peak() (Bytes, Censoring) {
	o := Observation{Outcome: r.Outcome, MemoryMax: r.MemoryMax, MemorySampled: r.MemorySampled, Allocated: r.Allocated}
	return o.Peak()
}
