package sizing

import "fmt"

// Verdict is what a LiftAsk came to.
type Verdict string

// The verdicts: only VerdictLift means "try again".
const (
	VerdictLift          Verdict = "lift"
	VerdictAtCap         Verdict = "at_cap"
	VerdictExhausted     Verdict = "attempts_exhausted"
	VerdictNotMemory     Verdict = "not_memory"
	VerdictLeakSuspected Verdict = "leak_suspected"
)

// LiftAsk is the question after a kill.
type LiftAsk struct {
	Ask            // the same words as before the launch; Try is the one that died
	Reason Outcome // how it died
	Failed Bytes   // what it had
}

// Validate names the fields that cannot be right.
func (a *LiftAsk) Validate() []FieldError {
	bad := a.Ask.Validate()
	if a.Try.RunID == "" {
		bad = append(bad, FieldError{"run_id", "is required: 1 to 250 characters"})
	}
	if a.Reason == UnknownOutcome {
		bad = append(bad, FieldError{"reason", "must be one of oom_killed, app_oom, failed, killed, evicted, unschedulable"})
	}
	if a.Failed <= 0 || a.Failed > MaxBytes {
		bad = append(bad, FieldError{"failed.memory_bytes", "is required: what the killed try had, 1 byte to 8Pi"})
	}
	return bad
}

// Lift is the answer to a LiftAsk.
type Lift struct {
	Retry        bool
	Verdict      Verdict
	Attempt      int // counts kills of this (run, map index), this one included, plus one
	AttemptsLeft int // lifts that remain after this one
	Memory       Grant
	Shadow       *Grant
	PredictionID string
	Reason       string
}

// LeakKills is how many kills in a row of one task at its cap make a leak the
// likelier explanation: more memory was no help that often.
const LeakKills = 3

// LiftState is what is known when a lift is decided.
type LiftState struct {
	Failed     Bytes   // what the killed try had
	Ceiling    Bytes   // the most that may be granted now
	CeilingBy  string  // which rule set the ceiling and how to allow more, for reasons; may be empty
	Kills      int     // kills of this (run, map index), this one included
	MaxLifts   int     // from the policy
	KillsAtCap int     // kills of the task at its ceiling since its last success, this one included
	Ladder     []Bytes // ascending rungs given "peak > Failed"; may be empty
}

// Decide is the next rung after a kill, with its brakes. With Failed 2 GiB, a
// ladder of 4 and 9 GiB and a ceiling of 16 GiB the first lift is 4 GiB; the
// last one that the policy allows jumps to 16 GiB.
func (s LiftState) Decide(why Outcome) Lift {
	left := s.MaxLifts - s.Kills
	lift := Lift{Attempt: s.Kills + 1, AttemptsLeft: max(left, 0)}
	switch {
	case !why.OOM():
		lift.Verdict, lift.Attempt = VerdictNotMemory, max(s.Kills, 1)
		lift.Reason = fmt.Sprintf("%s is not a lack of memory: more would not help", why)
	case s.atCeiling() && s.KillsAtCap >= LeakKills:
		lift.Verdict = VerdictLeakSuspected
		lift.Reason = fmt.Sprintf("killed %d times in a row at the cap: look for a leak; %s", s.KillsAtCap, s.cap())
	case s.atCeiling():
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

// leastLift is the smallest growth that is worth a try: one percent.
const leastLift = 1.01

// atCeiling reports whether the ceiling leaves no meaningful room above the failed size.
func (s LiftState) atCeiling() bool {
	return s.Failed >= s.Ceiling || float64(s.Ceiling) < leastLift*float64(s.Failed)
}

// cap names the ceiling and the rule that set it.
func (s LiftState) cap() string {
	if s.CeilingBy == "" {
		return "the cap is " + s.Ceiling.Approx()
	}
	return fmt.Sprintf("the cap is %s, %s", s.Ceiling.Approx(), s.CeilingBy)
}

// next is the first rung above the failed allocation; double where the ladder
// has none; the ceiling on the last lift.
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
