// Package taskmodel implements the model of one task: it encodes features, fits predictors on
// the task's history, evaluates a challenger against the champion, and turns predictions into
// allocations, ladders and reasons.
//
//	history ─▶ rows ─▶ encoder ─▶ models ─▶ experts.Point ─▶ experts ─▶ experts.Answer
//	                                                                         │
//	Answer ◀── reason, ladder ◀── cap, floor, known kills, MiB or bins ◀─────┘
//
// It uses neither HTTP nor SQL nor a clock. It is deterministic: the same history gives the same
// bytes.
package taskmodel

import (
	"time"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// TrainingRow is one ended try as a Model learns it. A zero amount or duration is unknown.
type TrainingRow struct {
	Seq        int64 // order of arrival, unique in a store
	At         int64 `cbor:",omitzero"` // the end of the try in Unix seconds, see sizing.HistoryRow
	Features   sizing.Features
	Outcome    sizing.Outcome
	Peak       sizing.Bytes     // see Censoring
	Censoring  sizing.Censoring // whether Peak is the true peak, a bound of it, a sample of it, or unknown
	CPUMax     sizing.Cores     // largest use of CPU
	Duration   time.Duration
	Requested  sizing.Resources
	Allocated  sizing.Resources
	Granted    sizing.Bytes `cbor:",omitzero"` // of an OOM-killed try: the largest limit that its receipts grant; zero: unknown, or another outcome
	FirstTry   bool
	Promised   *float64 // promised risk; nil if there was none
	Run        uint64   `cbor:",omitzero"` // sizing.RunHash of the run
	DAGRun     uint64   `cbor:",omitzero"` // sizing.DAGRunHash of the run
	StartedAt  int64    `cbor:",omitzero"` // the start of the try in Unix seconds; 0: unknown
	RunScore   float64  `cbor:",omitzero"` // Question.RunScore of the try
	Try        int      `cbor:",omitzero"`
	Reproduced bool     `cbor:",omitzero"` // a campaign reproduced the run
	Amends     bool     `cbor:",omitzero"` // the row adds the peak of a success that was learned without one
}

// NewTrainingRow converts a row of a history. schema is the schema of the history.
func NewTrainingRow(schema *sizing.Schema, r *sizing.HistoryRow) TrainingRow {
	peak, censoring := r.Peak()
	return TrainingRow{
		Seq: r.Seq, At: r.At.Unix(), Features: schema.Features(r.Features), Outcome: r.Outcome, Peak: peak, Censoring: censoring,
		CPUMax: r.CPUMax, Duration: r.Duration, Requested: r.Requested, Allocated: r.Allocated, Granted: r.Granted,
		FirstTry: r.Try == 1, Promised: r.Promised,
		Run: sizing.RunHash(r.RunID, r.MapIndex), RunScore: r.RunScore, Try: r.Try, Reproduced: sizing.IsReproduction(r.RunID),
		DAGRun: sizing.DAGRunHash(r.RunID, r.MapIndex), StartedAt: StartOf(r.StartedAt),
	}
}

// StartOf returns the start of a try in Unix seconds; 0 if it is unknown. The arrival of a report is no evidence of the start,
// because callers may report late, and all at once.
func StartOf(start time.Time) int64 {
	if start.IsZero() {
		return 0
	}
	return start.Unix()
}

// Model holds the knowledge about one task: point predictors, experts that derive margins from their out-of-sample
// residuals, and other facts that an answer needs. Learn adds one row; Fit and Update refit the
// predictors. Concurrent calls of Size are safe while no other method changes the model. A snapshot
// stores the exported fields.
type Model struct {
	Schema          sizing.Schema
	Models          *models // nil before the first measured peak
	Experts         *experts.Experts
	Share           experts.Pool        // the task's contribution to the pool of its DAG
	Trees           TreeParams          // parameters of its boosted trees
	Sampling        sampling            // factors from sampled to true peaks
	EarlyRows       []row               // the first rows, on which Learn refits the models
	OutOfSample     []outOfSample       // newest last
	Unpredicted     []int64             // Seq of each measured row without a residual: learned before the first fit, or a mapped instance (see instance.isPredicted)
	Pending         []pendingRow        // newest last
	Quarantine      []quarantinedReport // implausible reports that no other report has confirmed yet, oldest first
	LastSeq         int64               // Seq of the newest learned row
	Awaited         []seqRange          // rows that were learned without their peak, oldest first
	Unlearned       int                 // number of peaks that the last training left out; see hasManyUnlearnedPeaks
	Late            int                 // number of late peaks that the model has learned; see late.go
	Oldest          int64               // end of the oldest run with a peak at the last training, in Unix seconds; 0: unknown
	Changed         int64               // Seq of the first row after the last change point of the task; 0: none was found
	Relearned       int64               // Seq of the first row that the models have learned; 0: they have learned all rows (relearn.go)
	NewFeatures     newFeatures         // the newest rows while they have a feature that the models have not learned (relearn.go)
	ChangedRun      uint64              // TrainingRow.DAGRun of the newest try whose promise includes an unknown effect; see recordRaisedPromise
	Tries           int                 // number of learned tries of any outcome
	Kills           int                 // number of learned OOM kills
	Fitted          int                 // number of learned measured rows at the last fit
	Reproduced      int                 // measured rows of reproduced runs since the last fit
	FitKey          uint64              // identifies the rows of the last fit; zero if Learn fitted
	Largest         sizing.Bytes        // largest measured peak
	Smallest        sizing.Bytes        // smallest measured peak; zero in models stored before this field existed
	Bound           sizing.Bytes        // largest allocation that was killed
	Started         sizing.Bytes        // largest allocation that a pod started with
	Requested       sizing.Resources    // the static request that was reported last
	Unresolved      unresolvedKills     // killed runs that have not succeeded yet
	CPU             CPUModel
	QuarantineCores []quarantinedCores // implausible CPU measurements that no other measurement has confirmed yet, oldest first
	Overrun         experts.Window     // out-of-sample residuals of the log run time
	Bins            sizing.Bins        // edges that waste the least memory; see searchBins
	Drivers         []string           // features that drive usage, strongest first
	Ambiguity       string             // warning if the features cannot distinguish the runs, else ""
	LastEvaluation  Evaluation

	KnownKills []knownKill // oldest first
	// RepeatedKills has the numbers of killed runs by featureKey, at the last training: only of features with which at least
	// two runs were killed and none has succeeded; see countRepeatedKills.
	RepeatedKills map[uint64]int
	Unmeasured    unmeasuredSuccesses

	Understatement understatement // zero in models stored before this field existed
	Resumed        resumedRetries // zero in models stored before this field existed

	Starvation starvation // zero in models stored before this field existed

	AppOOMs appOOMs // zero in models stored before this field existed

	Follower limitFollower // detects peaks that follow their limit

	ErrorSeries errorSeries // errors from which the run score is computed; zero in models stored before this field existed

	Levels levels // changes of the level of the peaks

	DurationLevels durationLevels // zero in models stored before this field existed

	DAGRuns        []dagRun           // newest DAG runs of a mapped task, oldest first
	KilledStarts   []firstKilledStart // killed mapped instances without a measured peak, oldest first
	WithinRuns     intraClass         // correlation of the errors of instances of a DAG run
	WithinFeatures intraClass         // correlation of the errors of instances with the same features

	ColdStart bayes.Average // the cold-start rule; empty in models stored before this field existed

	outline *Outline // set if this model replaces one that is not in memory

	runError newestRunError // of the row that was learned last

	state  uint64     // number of the model's current state, unique in the process
	own    ownMargins // the task's own margins while a pool is in use
	ratios ratioCache // of run times to predictions

	effects experts.Effects // of first changes in the tasks of the DAG; see Pool.Effects

	slopes []float64 // by input of the cold-start rule: mean slope of the peak in the input, over the DAG's other tasks

	ablated Ablation  // zero in the service
	fits    *FitCache // nil except in replays
}

// outOfSample is the out-of-sample (prequential) result for a row: the residual and the grant of the
// prediction that was made before the model learned the row.
type outOfSample struct {
	_        struct{} `cbor:",toarray"` // a model stores thousands
	Seq      int64
	Residual float64 // of experts.LineTrees, in log units
	Granted  float64 // amount in bytes that would have been granted; zero: unknown
}

const (
	maxOutOfSample = 2000 // number of results to which Model.OutOfSample is cut when it has a quarter more
	maxOverruns    = 500  // number of residuals in Model.Overrun
)

// expertConfig configures the experts for the default risk target. Experts.Answer gets the risk target of
// each question.
var expertConfig = experts.Default(sizing.DefaultRiskTarget)

// New returns a Model without any history.
func New() *Model {
	return &Model{Experts: experts.New(expertConfig), state: states.Add(1)}
}

// LargestPeak returns the largest measured peak; zero if there is none. Kills do not count; see LargestKilled.
func (m *Model) LargestPeak() sizing.Bytes { return m.Largest }

// LargestKilled returns the largest allocation that was killed; zero if there is none. Kills raise a derived cap at most
// fourfold, because their cause may be a leak (derivedCap in package service).
func (m *Model) LargestKilled() sizing.Bytes { return m.Bound }

// LargestStarted returns the largest allocation that a pod started with; zero if there is none.
func (m *Model) LargestStarted() sizing.Bytes { return m.Started }

// AmbiguityWarning returns a warning if the features cannot distinguish the runs, else "".
func (m *Model) AmbiguityWarning() string { return m.Ambiguity }

// Pool returns the task's contribution to the pool of its DAG.
func (m *Model) Pool() Pool { return m.Share }

// cells returns the features in the order of the schema, in the memory of dst. A value of another kind than its field counts
// as missing.
func (m *Model) cells(f sizing.Features, dst []sizing.Value) []sizing.Value {
	dst = dst[:0]
	for i := range m.Schema.Fields {
		field := &m.Schema.Fields[i]
		dst = append(dst, field.Read(f[field.Name]))
	}
	return dst
}

// Pool holds statistics that the tasks of one DAG have in common: the mean cost of a row, the calibration of the
// promises, the typical size of residuals, the slopes of the peak in inputs, the mean loading, the effects of first
// changes, and the share of runs above their static request. The contribution of one task is also a Pool.
type Pool = experts.Pool

// Namespace holds statistics over the pools of several DAGs.
type Namespace = experts.Namespace

// Guard compares the kills of the open runs of a task with their promises, and computes Question.GuardFactor. The
// caller stores it, because a Model does not know open runs.
type Guard = experts.Guard

// OpenKills holds the weighted numbers of the killed runs and of all runs that a Guard tracks; newer runs weigh more.
type OpenKills = experts.OpenKills

// Limits of a Guard; see package experts.
const (
	GuardRuns = experts.GuardRuns
	GuardFor  = experts.GuardFor
)
