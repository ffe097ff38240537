package sizing

import "fmt"

// Verdict is the outcome of a LiftAsk.
type Verdict string

// The verdicts. Only VerdictLift means "try again".
const (
	VerdictLift          Verdict = "lift"
	VerdictAtCap         Verdict = "at_cap"
	VerdictExhausted     Verdict = "attempts_exhausted"
	VerdictNotMemory     Verdict = "not_memory"
	VerdictLeakSuspected Verdict = "leak_suspected"
)

// LiftAsk asks for a new allocation after a kill.
type LiftAsk struct {
	Ask            // the same fields as before the launch; Try is the killed one
	Reason Outcome // how the try ended
	Failed Bytes   // the allocation of the killed try
}

// Validate returns an error for each invalid field.
func (a *LiftAsk) Validate() []FieldError {
	bad := a.Ask.Validate()
	if a.Try.RunID == "" {
		bad = append(bad, FieldError{"run_id", "is required: 1 to 250 characters"})
	}
	if a.Reason == UnknownOutcome {
		bad = append(bad, FieldError{"reason", "must be one of oom_killed, app_oom, failed, killed, evicted, unschedulable"})
	}
	if a.Failed <= 0 || a.Failed > MaxBytes {
		bad = append(bad, FieldError{"failed.memory_bytes", "is required: the allocation of the killed try, 1 byte to 8Pi"})
	}
	return bad
}

// Lift is the answer to a LiftAsk.
type Lift struct {
	Retry        bool
	Verdict      Verdict
	Attempt      int // kills of this (run, map index), including this one, plus one
	AttemptsLeft int // lifts left after this one
	Memory       Grant
	Shadow       *Grant
	PredictionID string
	Reason       string
}

// LeakKills is the number of consecutive kills at the cap of a task after which a leak is
// the likelier explanation.
const LeakKills = 3

// LiftState is the input of a lift decision.
type LiftState struct {
	Failed     Bytes   // the allocation of the killed try
	Ceiling    Bytes   // the largest amount that may be granted now
	CeilingBy  string  // the rule that set the ceiling and how to raise it, for reasons; may be empty
	Kills      int     // kills of this (run, map index), including this one
	MaxLifts   int     // from the policy
	KillsAtCap int     // kills of the task at its ceiling since its last success, including this one
	Ladder     []Bytes // ascending rungs, given that the peak is above Failed; may be empty
}

// Decide returns the next rung after a kill, or the verdict that ends lifting. With Failed
// 2 GiB, a ladder of 4 and 9 GiB and a ceiling of 16 GiB the first lift is 4 GiB; the last
// lift that the policy allows jumps to 16 GiB.
func (s LiftState) Decide(why Outcome) Lift {
	left := s.MaxLifts - s.Kills
	lift := Lift{Attempt: s.Kills + 1, AttemptsLeft: max(left, 0)}
	switch {
	case !why.OOM():
		lift.Verdict, lift.Attempt = VerdictNotMemory, max(s.Kills, 1)
		lift.Reason = fmt.Sprintf("%s is not a lack of memory: more would not help", why)
	case s.isAtCeiling() && s.KillsAtCap >= LeakKills:
		lift.Verdict = VerdictLeakSuspected
		lift.Reason = fmt.Sprintf("killed %d times in a row at the cap: look for a leak; %s", s.KillsAtCap, s.cap())
	case s.isAtCeiling():
		lift.Verdict = VerdictAtCap
		lift.Reason = fmt.Sprintf("killed at %s, and %s", s.Failed.Approx(), s.cap())
	case left < 0:
		lift.Verdict = VerdictExhausted
		lift.Reason = fmt.Sprintf("killed %d times, and the policy allows %d lifts", s.Kills, s.MaxLifts)
	default:
		lift.Retry, lift.Verdict = true, VerdictLift
		next := s.next(left)
		lift.Memory = Grant{Request: next, Limit: next}
		lift.Reason = fmt.Sprintf("OOM at %s, so the peak is above it; lifted to %s", s.Failed.Approx(), next.Approx())
	}
	return lift
}

// minLift is the smallest growth that justifies another try: one percent.
const minLift = 1.01

// isAtCeiling reports whether the ceiling leaves no meaningful room above the failed size.
func (s LiftState) isAtCeiling() bool {
	return s.Failed >= s.Ceiling || float64(s.Ceiling) < minLift*float64(s.Failed)
}

// cap describes the ceiling and the rule that set it.
func (s LiftState) cap() string {
	if s.CeilingBy == "" {
		return "the cap is " + s.Ceiling.Approx()
	}
	return fmt.Sprintf("the cap is %s, %s", s.Ceiling.Approx(), s.CeilingBy)
}

// next returns the first rung above the failed allocation, twice that allocation if the
// ladder has no such rung, and the ceiling on the last lift.
func (s LiftState) next(left int) Bytes {
	if left == 0 {
		return s.Ceiling
	}
	for _, rung := range s.Ladder {
		if rung > s.Failed {
			return min(rung, s.Ceiling)
		}
	}
	return min(s.Failed.Times(2).RoundUp(MiB), s.Ceiling)
}
