package sizing

import (
	"cmp"
	"fmt"
	"reflect"
)

// Mode decides whether an answer is applied.
type Mode string

// Enforce grants the predicted amount. Shadow grants the static request and records the
// predicted amount. Off grants the static request.
const (
	Enforce Mode = "enforce"
	Shadow  Mode = "shadow"
	Off     Mode = "off"
)

// DefaultRiskTarget is the accepted share of first tries that are OOM-killed. docs/learning.md shows the waste
// at other targets.
const DefaultRiskTarget = 0.015

// DefaultMaxLifts bounds the lifts of one run after OOM kills. The last lift grants the cap.
const DefaultMaxLifts = 3

// Grid is the set of amounts to which grants are rounded up.
type Grid string

// Fine rounds grants up to a whole number of MiB. OnBins rounds up to the task's bins: Policy.Edges or, without
// edges, the bins that waste the least memory in the task's history. In backtests Fine wastes less memory.
const (
	Fine   Grid = "fine"
	OnBins Grid = "bins"
)

// PhasesMode decides which amounts may change during a run.
type PhasesMode string

// With NoPhases the service makes no plans. With ObservePhases it makes plans, which no caller follows. With
// ResizeCPU callers change the CPU request during a run, and with ResizeMemory also the memory limit.
const (
	NoPhases      PhasesMode = "off"
	ObservePhases PhasesMode = "observe"
	ResizeCPU     PhasesMode = "cpu"
	ResizeMemory  PhasesMode = "memory"
)

// IsValid reports whether m is one of the modes.
func (m PhasesMode) IsValid() bool {
	return m == NoPhases || m == ObservePhases || m == ResizeCPU || m == ResizeMemory
}

// Policy holds the settings of a task. The zero Policy means the defaults.
type Policy struct {
	Mode         Mode       // Enforce if empty
	Floor        Bytes      // smallest grant; zero: none
	Cap          Bytes      // largest grant; zero: the caller's cap, or else a derived cap (see CapFor)
	RiskTarget   float64    // DefaultRiskTarget if zero
	MaxLifts     *int       // DefaultMaxLifts if nil; zero disables lifts
	LimitRatio   float64    // memory limit / request; 1 if zero
	NeverAbove   bool       // before an OOM kill of the run, the grant is at most the static request of the ask
	CPUUnmanaged bool       // the CPU answer is the requested CPU
	Grid         Grid       // Fine if empty
	Edges        Bins       // bins for OnBins; empty: the bins that waste the least memory in the task's history
	Phases       PhasesMode `json:",omitempty"` // NoPhases if empty
}

// Validate returns an error for each invalid field.
func (p Policy) Validate() []FieldError {
	var bad []FieldError
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{field, fmt.Sprintf(format, args...)})
	}
	if p.Mode != "" && p.Mode != Enforce && p.Mode != Shadow && p.Mode != Off {
		add("mode", "must be enforce, shadow or off")
	}
	for _, bound := range []struct {
		field string
		bytes Bytes
	}{{"floor_bytes", p.Floor}, {"cap_bytes", p.Cap}} {
		switch {
		case bound.bytes < 0 || bound.bytes > MaxBytes:
			add(bound.field, "must be 1Mi to 8Pi")
		case bound.bytes > 0 && bound.bytes < minContainer: // such as 350 Gi, sent as 350
			add(bound.field, "must be 1Mi to 8Pi: %s", lessThanAContainer(bound.bytes))
		}
	}
	if p.Cap >= minContainer && p.Floor > p.Cap {
		add("floor_bytes", "must not be above cap_bytes")
	}
	if p.RiskTarget != 0 && !(p.RiskTarget >= 0.0001 && p.RiskTarget <= 0.5) {
		add("risk_target", "must be 0.0001 to 0.5")
	}
	if p.MaxLifts != nil && (*p.MaxLifts < 0 || *p.MaxLifts > 20) {
		add("max_lifts", "must be 0 to 20")
	}
	if p.LimitRatio != 0 && !(p.LimitRatio >= 1 && p.LimitRatio <= 10) {
		add("limit_ratio", "must be 1 to 10")
	}
	if p.Grid != "" && p.Grid != Fine && p.Grid != OnBins {
		add("grid", "must be fine or bins")
	}
	if len(p.Edges) > 0 && (!p.Edges.Valid() || p.Edges[len(p.Edges)-1] > MaxBytes || len(p.Edges) > MaxEdges) {
		add("bin_edges_bytes", "must be 1 to %d ascending amounts, 1 byte to 8Pi", MaxEdges)
	}
	if p.Phases != "" && !p.Phases.IsValid() {
		add("phases", "must be off, observe, cpu or memory")
	}
	return bad
}

// MaxEdges bounds the number of bins in a policy.
const MaxEdges = 64

// IsZero reports whether p has no setting.
func (p Policy) IsZero() bool { return reflect.DeepEqual(p, Policy{}) }

// WithDefaults fills the zero fields except Floor, Cap, NeverAbove, CPUUnmanaged and Edges, whose zero values have a meaning
// of their own.
func (p Policy) WithDefaults() Policy {
	p.Mode = cmp.Or(p.Mode, Enforce)
	p.Grid = cmp.Or(p.Grid, Fine)
	p.Phases = cmp.Or(p.Phases, NoPhases)
	p.RiskTarget = cmp.Or(p.RiskTarget, DefaultRiskTarget)
	p.LimitRatio = cmp.Or(p.LimitRatio, 1)
	if p.MaxLifts == nil {
		lifts := DefaultMaxLifts
		p.MaxLifts = &lifts
	}
	return p
}

// CapFor returns the cap of an ask: the smaller of the policy's cap and the caller's, or the only one that is set.
// If neither is set, it returns four times largestKnown, which is the largest known request or peak (zero: unknown). The service
// may raise this derived cap (derivedCap in package service).
func (p Policy) CapFor(callerCap, largestKnown Bytes) Bytes {
	switch {
	case p.Cap > 0 && callerCap > 0:
		return min(p.Cap, callerCap)
	case p.Cap > 0 || callerCap > 0:
		return max(p.Cap, callerCap)
	}
	return largestKnown.Times(4)
}
