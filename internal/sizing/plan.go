package sizing

import (
	"fmt"
	"time"
)

// Plan sets amounts that change during a run, for callers that can resize a pod.
type Plan struct {
	Version  int // version of the learned plan of the task (store.TaskPlan) that this plan follows from
	Mode     PhasesMode
	Start    Bytes // memory limit at the start
	StartCPU Cores // CPU request at the start; zero if unknown
	Static   Bytes // the static grant
	Steps    []PlanStep
	Promised *float64      // P(the first try is killed if it follows the plan); nil if unknown
	Poll     time.Duration // time between two reads of the usage
	Reaction time.Duration // time from a read until a new limit is in force
}

// PlanStep is one increase of the memory limit. The times count from the start of the try.
type PlanStep struct {
	AskBy time.Duration // latest time to ask for the limit
	After time.Duration // time from which the limit must be in force
	Level Bytes         // largest predicted use up to AskBy
	Limit Bytes         // the new memory limit
}

// ExecutedPlan says how a caller executed the plan of a try. If a plan that resizes memory was followed,
// the outcome of the try corrects the risk of later plans.
type ExecutedPlan struct {
	Version  int              `json:"version"`
	Mode     PhasesMode       `json:"mode"`
	Followed bool             `json:"followed"`              // every amount was in force in time until the try ended
	Start    Bytes            `json:"start_bytes,omitempty"` // memory limit at the start; zero if unknown
	Fallback string           `json:"fallback,omitempty"`    // why the caller fell back to the static grant
	Resizes  []ExecutedResize `json:"resizes,omitempty"`
}

// ExecutedResize is one resize of a pod. Zero amounts are unchanged.
type ExecutedResize struct {
	Seconds       float64  `json:"seconds"` // time since the start of the try at which it was requested
	Memory        Bytes    `json:"memory_bytes,omitempty"`
	CPUMillicores int      `json:"cpu_millicores,omitempty"`
	Result        string   `json:"result"`                     // in the caller's words, such as "applied" or "refused"
	InForce       *float64 `json:"in_force_seconds,omitempty"` // time since the start of the try at which it was in force; nil if unknown
}

// Bounds of an ExecutedPlan.
const (
	MaxResizes  = 200
	maxFallback = 500 // bytes of ExecutedPlan.Fallback
	maxResult   = 60  // bytes of ExecutedResize.Result
)

// Validate returns an error for each invalid field. It reports only the first invalid resize. A nil plan is
// valid and means that no plan was executed.
func (p *ExecutedPlan) Validate() []FieldError {
	if p == nil {
		return nil
	}
	var bad []FieldError
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{"executed_plan." + field, fmt.Sprintf(format, args...)})
	}
	if p.Version < 1 || p.Version > 1<<31-1 {
		add("version", "must be 1 to %d", 1<<31-1)
	}
	if !p.Mode.IsValid() {
		add("mode", "must be off, observe, cpu or memory")
	}
	if p.Start < 0 || p.Start > MaxBytes {
		add("start_bytes", "must be 1 byte to 8Pi")
	}
	if len(p.Fallback) > maxFallback {
		add("fallback", "must have at most %d bytes", maxFallback)
	}
	if len(p.Resizes) > MaxResizes {
		add("resizes", "must have at most %d entries, not %d", MaxResizes, len(p.Resizes))
	}
	for i := range p.Resizes {
		if detail := p.Resizes[i].check(); detail != "" {
			add(fmt.Sprintf("resizes[%d]", i), "%s", detail)
			break
		}
	}
	return bad
}

func (r *ExecutedResize) check() string {
	isTime := func(seconds float64) bool { return seconds >= 0 && seconds <= MaxDuration.Seconds() }
	switch {
	case !isTime(r.Seconds) || r.InForce != nil && !isTime(*r.InForce):
		return fmt.Sprintf("its times must be 0 to %.0f seconds", MaxDuration.Seconds())
	case r.Memory < 0 || r.Memory > MaxBytes:
		return "memory_bytes must be 1 byte to 8Pi"
	case r.CPUMillicores < 0 || r.CPUMillicores > int(MaxCores)*1000:
		return "cpu_millicores must be 1 to 1048576000"
	case r.Result == "" || len(r.Result) > maxResult:
		return fmt.Sprintf("result must have 1 to %d bytes", maxResult)
	}
	return ""
}

// MeanLimit returns the mean over time of the memory limits of a try that ended with finalLimit. It returns zero if no
// plan raised the memory limit, if the first limit or the duration is unknown, or if the resizes do not lead to finalLimit, for
// example because another process did some of them. A limit counts from the time at which it was requested, before it is in
// force, so the mean may be a little too large.
func (p *ExecutedPlan) MeanLimit(finalLimit Bytes, duration time.Duration) Bytes {
	length := duration.Seconds()
	if p == nil || p.Mode != ResizeMemory || p.Start <= 0 || finalLimit <= p.Start || length <= 0 {
		return 0
	}
	limit, since, sum := p.Start, 0.0, 0.0
	for _, r := range p.Resizes {
		if r.Memory <= limit || r.InForce == nil || limit == finalLimit {
			continue
		}
		at := min(max(r.Seconds, since), length)
		sum += float64(limit) * (at - since)
		limit, since = min(r.Memory, finalLimit), at
	}
	if limit != finalLimit {
		return 0
	}
	return Bytes((sum + float64(limit)*(length-since)) / length)
}

// CheckDetailed returns an error for each invalid field of a detailed series. A nil series is valid
// and means unknown.
func (s *Series) CheckDetailed() []FieldError {
	return s.check("detailed_series.", MinDetailedStep, MaxDetailedStep, MaxDetailedPoints)
}

// PlanSeries returns the series from which plans are learned: the detailed series or, if there is none, the usage series, if its
// steps are at most MaxDetailedStep and it covers at least MinPlanned. It returns nil without such a series, and for outcomes
// other than success, because the series of such a try may end early.
func (o *Observation) PlanSeries() *Series {
	usage := o.Series
	switch {
	case o.Outcome != Success:
		return nil
	case o.Detailed != nil:
		return o.Detailed
	case usage == nil || usage.Step > MaxDetailedStep || usage.Step*time.Duration(len(usage.Memory)) < MinPlanned:
		return nil
	}
	return usage
}

// MinPlanned is the least median duration of the runs of a task that gets plans. Shorter runs have a small share of the
// memory time (limit times duration) of all runs.
const MinPlanned = 10 * time.Minute

// Bounds of a detailed series, which is a Series in short steps.
const (
	MaxDetailedPoints = 8192
	MinDetailedStep   = 500 * time.Millisecond
	MaxDetailedStep   = 10 * time.Minute
)

// leastLiftFactor times the killed amount is a lower bound of LeastLift. A smaller factor wastes less memory and risks
// another kill.
const leastLiftFactor = 1.5

// IsBelowStatic reports whether `killed`, the allocation at an OOM kill, is below `static`, the static grant of a try that
// followed a plan. Such a kill is no evidence against the promise of the static grant. Grants and
// allocations that differ by less than one percent count as equal, because a limit may be rounded.
func IsBelowStatic(killed, static Bytes) bool {
	return killed > 0 && float64(killed)*minLift < float64(static)
}

// LeastLift returns the smallest allocation for the next try of a run that was killed below the static
// grant of a plan, or zero for other kills. The run would probably have survived with the static grant.
func LeastLift(killed, static Bytes) Bytes {
	if !IsBelowStatic(killed, static) {
		return 0
	}
	return max(static, killed.Times(leastLiftFactor).RoundUp(MiB))
}

// StaticGrant returns the static grant of an allocation whose plan changes the memory limit, or zero
// without such a plan.
func (a *Allocation) StaticGrant() Bytes {
	if a.Plan == nil || a.Plan.Mode != ResizeMemory {
		return 0
	}
	return a.Plan.Static
}
