package sizing

import "fmt"

// Verdict is the outcome of a LiftAsk.
type Verdict string

// The verdicts. The run should be tried again only after VerdictLift.
const (
	VerdictLift          Verdict = "lift"               // a larger allocation is granted
	VerdictAtCap         Verdict = "at_cap"             // the killed allocation is at or above the cap, or less than 1 % below it
	VerdictExhausted     Verdict = "attempts_exhausted" // the policy allows no further lift
	VerdictNotMemory     Verdict = "not_memory"         // the outcome is not a lack of memory, or the program has a limit of its own (LiftState.OwnLimit)
	VerdictLeakSuspected Verdict = "leak_suspected"     // repeated kills at the cap suggest a leak
)

// LiftAsk is a request for a new allocation after a try that did not succeed.
type LiftAsk struct {
	Ask            // the same fields as before the launch; Try is the failed try
	Reason Outcome // outcome of the failed try
	Failed Bytes   // allocation of the failed try
}

// Validate returns an error for each invalid field.
func (a *LiftAsk) Validate() []FieldError {
	bad := a.Ask.Validate()
	if a.Try.RunID == "" {
		bad = append(bad, FieldError{"run_id", "is required: 1 to 250 characters"})
	}
	if a.Reason == UnknownOutcome {
		bad = append(bad, FieldError{"reason", "must be one of success, oom_killed, app_oom, failed, killed, evicted, unschedulable"})
	}
	if a.Failed <= 0 || a.Failed > MaxBytes {
		bad = append(bad, FieldError{"failed.memory_bytes", "is required: the allocation of the failed try, 1 byte to 8Pi"})
	}
	return bad
}

// Lift is the answer to a LiftAsk.
type Lift struct {
	Retry        bool
	Verdict      Verdict
	Attempt      int // 1 + the number of kills of this (run, map index): the number of the next attempt
	AttemptsLeft int // number of lifts left after this lift
	Memory       Grant
	Shadow       *Grant // in the modes shadow and off with a known static request: the grant of enforce mode, or the ceiling where enforce mode would deny the lift
	PredictionID string
	Reason       string
}

// LeakKills is the number of consecutive kills of a task at its ceiling (LiftState.Ceiling) that suggest a leak.
const LeakKills = 3

// LiftState is the input of a lift decision.
type LiftState struct {
	Failed    Bytes  // the largest of the allocation of the failed try and of the killed allocations of its run
	Ceiling   Bytes  // the largest amount that may be granted now, by whichever rule; the verdicts and reasons call it the cap
	CeilingBy string // the rule that set the ceiling and how to raise it, for reasons; may be empty
	Kills     int    // number of kills of this (run, map index), including the current one
	MaxLifts  int    // from the policy
	// KillsAtCap is the number of kills of the task, including the current kill, with an allocation of at least LeastAtCeiling
	// since the last success of the task. Kills of mapped instances with the same run id and try number count once. A kill does
	// not count if its run got a larger allocation later. Decide uses it only if IsAtCeiling.
	KillsAtCap int
	Ladder     []Bytes // ascending amounts (rungs) for the next lifts, given that the peak is above Failed; may be empty
	Peak       Bytes   // measured at the failed try; zero: unknown
	// OwnLimit is the measured peak with which the program ran out of memory again, although the failed try had more memory than
	// an earlier try with about the same peak or a higher one; zero: this is not known.
	OwnLimit Bytes
	Least    Bytes // the smallest amount of the next lift, unless the ceiling is lower; zero: no such minimum
}

// Decide returns the next rung after a kill, or the verdict against a further lift. With Failed
// 2 GiB, a ladder of 4 and 9 GiB and a ceiling of 16 GiB the first lift grants 4 GiB; the last
// lift that the policy allows grants 16 GiB.
func (s LiftState) Decide(reason Outcome) Lift {
	left := s.MaxLifts - s.Kills
	lift := Lift{Attempt: s.Kills + 1, AttemptsLeft: max(left, 0)}
	switch {
	case !reason.OOM():
		lift.Verdict = VerdictNotMemory
		lift.Reason = fmt.Sprintf("%s is not a lack of memory: more would not help", reason)
	case s.OwnLimit > 0:
		lift.Verdict = VerdictNotMemory
		lift.Reason = fmt.Sprintf("the program ran out of memory at a peak of %s again, although it had %s: it has a limit of its own, such as -Xmx or ulimit, and more memory would not help",
			s.OwnLimit.Approx(), s.Failed.Approx())
	case s.IsAtCeiling() && s.KillsAtCap >= LeakKills:
		lift.Verdict = VerdictLeakSuspected
		lift.Reason = fmt.Sprintf("killed %d times in a row at the cap: look for a leak; %s", s.KillsAtCap, s.describeCap())
	case s.IsAtCeiling():
		lift.Verdict = VerdictAtCap
		lift.Reason = fmt.Sprintf("killed at %s, and %s", s.Failed.Approx(), s.describeCap())
	case left < 0:
		lift.Verdict = VerdictExhausted
		lift.Reason = fmt.Sprintf("OOM kills of the run: %d; lifts that the policy allows: %d", s.Kills, s.MaxLifts)
	default:
		lift.Retry, lift.Verdict = true, VerdictLift
		next := s.nextRung(left)
		lift.Memory = Grant{Request: next, Limit: next}
		lift.Reason = fmt.Sprintf("OOM at %s, so the peak is above it; lifted to %s", s.Failed.Approx(), next.Approx())
		if reason == AppOOM && s.Peak > 0 && float64(s.Peak) < ownLimitShare*float64(s.Failed) {
			lift.Reason = fmt.Sprintf("the program ran out of memory at a peak of %s, below the %s allocated; lifted to %s, in case its limit follows the allocation",
				s.Peak.Approx(), s.Failed.Approx(), next.Approx())
		}
	}
	return lift
}

// minLift is the smallest growth, as a factor, that justifies another try: one percent more.
const minLift = 1.01

// LeastAtCeiling returns the smallest allocation that would exceed the ceiling if it grew by the factor minLift.
func (s LiftState) LeastAtCeiling() Bytes { return Bytes(float64(s.Ceiling)/minLift) + 1 }

// IsAtCeiling reports whether the killed allocation is at or above the ceiling, or so near that no lift is possible.
func (s LiftState) IsAtCeiling() bool { return s.Failed >= s.LeastAtCeiling() }

func (s LiftState) describeCap() string {
	if s.CeilingBy == "" {
		return "the cap is " + s.Ceiling.Approx()
	}
	return fmt.Sprintf("the cap is %s, %s", s.Ceiling.Approx(), s.CeilingBy)
}

// nextRung returns the amount that the lift grants. `left` is the number of lifts that remain after this one.
func (s LiftState) nextRung(left int) Bytes {
	if left == 0 {
		return s.Ceiling
	}
	for _, rung := range s.Ladder {
		if rung > s.Failed {
			return min(max(rung, s.Least), s.Ceiling)
		}
	}
	return min(max(DefaultLift(s.Failed), s.Least), s.Ceiling)
}

const liftFactor = 2

// DefaultLift returns the lift of a killed allocation without a ladder: liftFactor times the allocation, in whole MiB. Texts
// in reasons and explanations call it "twice the killed allocation".
func DefaultLift(killed Bytes) Bytes { return killed.Times(liftFactor).RoundUp(MiB) }
