package sizing

import (
	"cmp"
	"fmt"
	"reflect"
)

// Mode says whether answers are applied.
type Mode string

// Enforce grants what was decided. Shadow grants the static request and records
// what would have been granted. Off grants the static request.
const (
	Enforce Mode = "enforce"
	Shadow  Mode = "shadow"
	Off     Mode = "off"
)

// DefaultRiskTarget is P(OOM kill on the first try) that is accepted: LEARNING's
// measurements put the cheapest allocations near 1.5 %.
const DefaultRiskTarget = 0.015

// DefaultMaxLifts is how often one run is lifted after an OOM; the last lift
// jumps to the cap.
const DefaultMaxLifts = 3

// Grid is what amounts are granted on.
type Grid string

// Fine grants any amount, in whole MiB: measured to waste least. OnBins rounds up
// to the task's bins, of which there are few: the upper edges of the policy, else
// those that were searched for the task.
const (
	Fine   Grid = "fine"
	OnBins Grid = "bins"
)

// Policy is what people decide for a task. The zero Policy means the defaults.
type Policy struct {
	Mode         Mode    // Enforce if empty
	Floor        Bytes   // grant at least this; none if zero
	Cap          Bytes   // grant at most this; four times the larger of request and largest peak if zero
	RiskTarget   float64 // DefaultRiskTarget if zero
	MaxLifts     *int    // DefaultMaxLifts if nil; zero switches lifting off
	LimitRatio   float64 // limit / request; 1 (Guaranteed) if zero
	NeverAbove   bool    // never grant a first try more than the static request
	CPUUnmanaged bool    // answer the requested CPU unchanged
	Grid         Grid    // Fine if empty
	Edges        Bins    // for OnBins; those that were searched if empty
}

// Validate names the fields that cannot be right.
func (p Policy) Validate() []FieldError {
	var bad []FieldError
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{field, fmt.Sprintf(format, args...)})
	}
	if p.Mode != "" && p.Mode != Enforce && p.Mode != Shadow && p.Mode != Off {
		add("mode", "must be enforce, shadow or off")
	}
	if p.Floor < 0 || p.Floor > MaxBytes {
		add("floor_bytes", "must be 1 byte to 8Pi")
	}
	if p.Cap < 0 || p.Cap > MaxBytes {
		add("cap_bytes", "must be 1 byte to 8Pi")
	}
	if p.Cap > 0 && p.Floor > p.Cap {
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
	return bad
}

// MaxEdges bounds the bins that a policy may fix.
const MaxEdges = 64

// IsZero reports whether nothing was decided.
func (p Policy) IsZero() bool { return reflect.DeepEqual(p, Policy{}) }

// WithDefaults fills what was left open, but for Floor and Cap.
func (p Policy) WithDefaults() Policy {
	p.Mode = cmp.Or(p.Mode, Enforce)
	p.Grid = cmp.Or(p.Grid, Fine)
	p.RiskTarget = cmp.Or(p.RiskTarget, DefaultRiskTarget)
	p.LimitRatio = cmp.Or(p.LimitRatio, 1)
	if p.MaxLifts == nil {
		lifts := DefaultMaxLifts
		p.MaxLifts = &lifts
	}
	return p
}

// CapFor is the most that may be granted: the smallest of the policy's cap and
// the caller's; where neither is given, four times the larger of the request and
// the largest peak ever seen. Zero means that nothing is known to derive it from.
func (p Policy) CapFor(callers, requested, largestPeak Bytes) Bytes {
	switch {
	case p.Cap > 0 && callers > 0:
		return min(p.Cap, callers)
	case p.Cap > 0 || callers > 0:
		return max(p.Cap, callers)
	}
	return max(requested, largestPeak).Times(4)
}
