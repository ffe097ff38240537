package taskmodel

import (
	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// snapshot is the stored form of a Model. The names under which CBOR stores its fields are part of the format. A field whose
// meaning changes needs a new FormatVersion; the zero value of a new field must be valid for older blobs. Fields of Model
// can be renamed without a new FormatVersion.
type snapshot struct {
	Schema          sizing.Schema
	Models          *models
	Experts         *experts.Experts
	Share           experts.Pool
	Trees           TreeParams          `cbor:",omitzero"`
	Sampling        sampling            `cbor:",omitzero"`
	EarlyRows       []row               `cbor:"Early"`
	OutOfSample     []outOfSample       `cbor:"Honest"`
	Unpredicted     []int64             `cbor:",omitempty"`
	Pending         []pendingRow        `cbor:",omitempty"`
	Quarantine      []quarantinedReport `cbor:"Held"`
	LastSeq         int64
	Awaited         []seqRange `cbor:",omitempty"`
	Unlearned       int        `cbor:",omitzero"`
	Late            int        `cbor:"LatePeaks,omitzero"`
	Oldest          int64      `cbor:",omitzero"`
	Changed         int64
	Relearned       int64       `cbor:",omitzero"`
	NewFeatures     newFeatures `cbor:",omitzero"`
	ChangedRun      uint64      `cbor:",omitzero"`
	Tries           int
	Kills           int
	Fitted          int
	Reproduced      int    `cbor:",omitzero"`
	FitKey          uint64 `cbor:",omitzero"`
	Largest         sizing.Bytes
	Smallest        sizing.Bytes `cbor:",omitzero"`
	Bound           sizing.Bytes
	Started         sizing.Bytes
	Requested       sizing.Resources
	Unresolved      unresolvedKills `cbor:",omitzero"`
	CPU             CPUModel
	QuarantineCores []quarantinedCores `cbor:"HeldCores,omitempty"`
	Overrun         experts.Window
	Bins            sizing.Bins
	Drivers         []string
	Ambiguity       string
	LastEvaluation  Evaluation          `cbor:"LastExam"`
	KnownKills      []knownKill         `cbor:",omitempty"`
	RepeatedKills   map[uint64]int      `cbor:",omitempty"`
	Unmeasured      unmeasuredSuccesses `cbor:"Enough,omitzero"`
	DurationLevels  durationLevels      `cbor:"Late,omitzero"`
	Follower        limitFollower       `cbor:",omitzero"`
	AppOOMs         appOOMs             `cbor:",omitzero"`
	Starvation      starvation          `cbor:",omitzero"`
	DAGRuns         []dagRun            `cbor:"MappedRuns,omitempty"` // earlier releases stored another format under the name DAGRuns
	KilledStarts    []firstKilledStart  `cbor:",omitempty"`
	WithinRuns      intraClass          `cbor:",omitzero"`
	WithinFeatures  intraClass          `cbor:",omitzero"`
	Understatement  understatement      `cbor:",omitzero"`
	Resumed         resumedRetries      `cbor:",omitzero"`
	Levels          levels              `cbor:",omitzero"`
	ErrorSeries     errorSeries         `cbor:",omitzero"`
	ColdStart       bayes.Average       `cbor:"First,omitzero"`
}

// snapshot returns the stored form of m, which shares the memory of m.
func (m *Model) snapshot() *snapshot {
	return &snapshot{
		Schema: m.Schema, Models: m.Models, Experts: m.Experts, Share: m.Share, Trees: m.Trees, Sampling: m.Sampling,
		EarlyRows: m.EarlyRows, OutOfSample: m.OutOfSample, Unpredicted: m.Unpredicted, Pending: m.Pending, Quarantine: m.Quarantine,
		LastSeq: m.LastSeq, Awaited: m.Awaited, Unlearned: m.Unlearned, Late: m.Late, Oldest: m.Oldest, Changed: m.Changed, Relearned: m.Relearned, NewFeatures: m.NewFeatures, ChangedRun: m.ChangedRun, Tries: m.Tries, Kills: m.Kills, Fitted: m.Fitted, Reproduced: m.Reproduced, FitKey: m.FitKey,
		Largest: m.Largest, Smallest: m.Smallest, Bound: m.Bound, Started: m.Started, Requested: m.Requested,
		Unresolved: m.Unresolved, CPU: m.CPU, QuarantineCores: m.QuarantineCores, Overrun: m.Overrun,
		Bins: m.Bins, Drivers: m.Drivers, Ambiguity: m.Ambiguity, LastEvaluation: m.LastEvaluation,
		KnownKills: m.KnownKills, RepeatedKills: m.RepeatedKills, Unmeasured: m.Unmeasured, ColdStart: m.ColdStart, DurationLevels: m.DurationLevels, Follower: m.Follower,
		DAGRuns: m.DAGRuns, KilledStarts: m.KilledStarts, WithinRuns: m.WithinRuns, WithinFeatures: m.WithinFeatures,
		Understatement: m.Understatement, Resumed: m.Resumed, AppOOMs: m.AppOOMs, Starvation: m.Starvation, Levels: m.Levels, ErrorSeries: m.ErrorSeries,
	}
}

// model returns the Model of a snapshot, which shares the memory of s.
func (s *snapshot) model() *Model {
	return &Model{
		Schema: s.Schema, Models: s.Models, Experts: s.Experts, Share: s.Share, Trees: s.Trees, Sampling: s.Sampling,
		EarlyRows: s.EarlyRows, OutOfSample: s.OutOfSample, Unpredicted: s.Unpredicted, Pending: s.Pending, Quarantine: s.Quarantine,
		LastSeq: s.LastSeq, Awaited: s.Awaited, Unlearned: s.Unlearned, Late: s.Late, Oldest: s.Oldest, Changed: s.Changed, Relearned: s.Relearned, NewFeatures: s.NewFeatures, ChangedRun: s.ChangedRun, Tries: s.Tries, Kills: s.Kills, Fitted: s.Fitted, Reproduced: s.Reproduced, FitKey: s.FitKey,
		Largest: s.Largest, Smallest: s.Smallest, Bound: s.Bound, Started: s.Started, Requested: s.Requested,
		Unresolved: s.Unresolved, CPU: s.CPU, QuarantineCores: s.QuarantineCores, Overrun: s.Overrun,
		Bins: s.Bins, Drivers: s.Drivers, Ambiguity: s.Ambiguity, LastEvaluation: s.LastEvaluation,
		KnownKills: s.KnownKills, RepeatedKills: s.RepeatedKills, Unmeasured: s.Unmeasured, ColdStart: s.ColdStart, DurationLevels: s.DurationLevels, Follower: s.Follower,
		DAGRuns: s.DAGRuns, KilledStarts: s.KilledStarts, WithinRuns: s.WithinRuns, WithinFeatures: s.WithinFeatures,
		Understatement: s.Understatement, Resumed: s.Resumed, AppOOMs: s.AppOOMs, Starvation: s.Starvation, Levels: s.Levels, ErrorSeries: s.ErrorSeries,
		state: states.Add(1),
	}
}
