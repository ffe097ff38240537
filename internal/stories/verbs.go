package stories

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// do executes a step. It returns an error if the story is invalid or if a restart fails. Any other error of the service is an
// answer.
func (e *env) do(ctx context.Context, s *step, args map[string]string) (answer, error) {
	switch s.verb {
	case "observe":
		return e.observe(ctx, s, args, "success")
	case "oom":
		return e.observe(ctx, s, args, "oom_killed")
	case "unschedulable":
		return e.observe(ctx, s, args, "unschedulable")
	case "predict":
		return e.predict(ctx, s, args)
	case "lift":
		return e.lift(ctx, s, args)
	case "train":
		return e.train(ctx, s), nil
	case "policy":
		return e.policy(ctx, s, args)
	case "void":
		return e.void(ctx, s, args)
	case "task":
		return e.task(ctx, s), nil
	case "wait":
		return e.wait(s)
	case "restart":
		return answer{words: []string{"ready"}}, e.restart(ctx)
	}
	return answer{}, fmt.Errorf("unknown verb %q; see the package documentation", s.verb)
}

func (e *env) observe(ctx context.Context, s *step, args map[string]string, outcome string) (answer, error) {
	r := argReader{args: args}
	o := sizing.Observation{
		Try: r.try(s.task), Outcome: r.outcome("outcome", outcome),
		MemoryMax: r.bytes("peak"), CPUMax: sizing.Cores(r.number("cpu", 0)),
		Duration:  time.Duration(r.number("duration", 300) * float64(time.Second)),
		Allocated: sizing.Resources{Memory: r.bytes("at")},
		Requested: sizing.Resources{Memory: r.bytes("requested")}, Features: features(args),
	}
	if o.Try.RunID == "" {
		e.runs++
		o.Try.RunID = fmt.Sprintf("generated-%d", e.runs)
	}
	if r.err != nil {
		return answer{}, r.err
	}
	recorded, err := e.svc.Observe(ctx, []sizing.Observation{o})
	if err == nil {
		err = recorded[0].Err
	}
	word := "new"
	switch {
	case err != nil:
		return errorAnswer(err), nil
	case recorded[0].Duplicate:
		word = "duplicate"
	case recorded[0].Amended:
		word = "amended"
	}
	return answer{words: []string{word}}, nil
}

func (e *env) ask(s *step, r *argReader) sizing.Ask {
	return sizing.Ask{
		Try: r.try(s.task), Features: features(r.args),
		Requested: sizing.Resources{Memory: r.bytes("requested")}, MaxMemory: r.bytes("cap"),
	}
}

func (e *env) predict(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := argReader{args: args}
	ask := e.ask(s, &r)
	if r.err != nil {
		return answer{}, r.err
	}
	a, err := e.svc.Predict(ctx, &ask)
	if err != nil {
		return errorAnswer(err), nil
	}
	got := answer{words: []string{string(a.Source), string(a.Mode)}, reason: a.Reason, numbers: map[string]float64{
		"": float64(a.Memory.Limit), "request": float64(a.Memory.Request), "cpu": float64(a.CPU), "rungs": float64(len(a.Ladder)),
	}}
	if a.Risk.Promised != nil {
		got.numbers["promised"] = *a.Risk.Promised
	}
	if a.Shadow != nil {
		got.numbers["shadow"] = float64(a.Shadow.Limit)
	}
	if a.Model != nil {
		got.numbers["version"] = float64(a.Model.Version)
	}
	return got, nil
}

func (e *env) lift(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := argReader{args: args}
	ask := sizing.LiftAsk{Ask: e.ask(s, &r), Reason: r.outcome("reason", "oom_killed"), Failed: r.bytes("at")}
	if r.err != nil {
		return answer{}, r.err
	}
	l, err := e.svc.Lift(ctx, &ask)
	if err != nil {
		return errorAnswer(err), nil
	}
	got := answer{words: []string{string(l.Verdict)}, reason: l.Reason, numbers: map[string]float64{
		"attempt": float64(l.Attempt), "left": float64(l.AttemptsLeft),
	}}
	if l.Retry {
		got.words = append(got.words, "retry")
		got.numbers[""] = float64(l.Memory.Limit)
	}
	if l.Shadow != nil {
		got.numbers["shadow"] = float64(l.Shadow.Limit)
	}
	return got, nil
}

func (e *env) train(ctx context.Context, s *step) answer {
	report, err := e.svc.Train(ctx, s.task)
	if err != nil {
		return errorAnswer(err)
	}
	word := "unpublished"
	if report.Published {
		word = "published"
	}
	return answer{words: []string{word}, reason: report.Reason, numbers: map[string]float64{"version": float64(report.Version)}}
}

func (e *env) policy(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := argReader{args: args}
	p := sizing.Policy{
		Mode: sizing.Mode(args["mode"]), Floor: r.bytes("floor"), Cap: r.bytes("cap"),
		RiskTarget: r.number("risk", 0), NeverAbove: args["never_above"] == "true",
	}
	if args["lifts"] != "" {
		lifts := int(r.number("lifts", 0))
		p.MaxLifts = &lifts
	}
	if r.err != nil {
		return answer{}, r.err
	}
	if err := e.svc.SetPolicy(ctx, s.task, p); err != nil {
		return errorAnswer(err), nil
	}
	return answer{words: []string{"set"}}, nil
}

func (e *env) void(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := argReader{args: args}
	try := r.try(s.task)
	if r.err != nil {
		return answer{}, r.err
	}
	if err := e.svc.Void(ctx, try); err != nil {
		return errorAnswer(err), nil
	}
	return answer{words: []string{"voided"}}, nil
}

func (e *env) task(ctx context.Context, s *step) answer {
	p, err := e.svc.Task(ctx, s.task)
	if err != nil {
		return errorAnswer(err)
	}
	return answer{words: []string{string(p.Group)}, reason: p.Ambiguous, numbers: map[string]float64{
		"observations": float64(p.Observations), "kills": float64(p.Kills), "largest": float64(p.LargestPeak),
	}}
}

func (e *env) wait(s *step) (answer, error) {
	if len(s.words) != 1 {
		return answer{}, fmt.Errorf("wait: needs exactly one duration without spaces and decimal points; write for example wait 1h30m")
	}
	d, err := time.ParseDuration(s.words[0])
	e.clockOffset += d
	return answer{words: []string{"later"}}, err
}

// argReader parses arguments and keeps the first error.
type argReader struct {
	args map[string]string
	err  error
}

func (r *argReader) fail(key string, err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s=%s: %w", key, r.args[key], err)
	}
}

func (r *argReader) number(key string, def float64) float64 {
	if r.args[key] == "" {
		return def
	}
	v, err := parseNumber(r.args[key])
	r.fail(key, err)
	return v
}

func (r *argReader) bytes(key string) sizing.Bytes { return sizing.Bytes(math.Ceil(r.number(key, 0))) }

func (r *argReader) outcome(key, def string) sizing.Outcome {
	name := r.args[key]
	if name == "" {
		name = def
	}
	o, ok := sizing.ParseOutcome(name)
	if !ok {
		r.fail(key, fmt.Errorf("unknown outcome"))
	}
	return o
}

func (r *argReader) try(task sizing.TaskKey) sizing.TryKey {
	integer := func(key string, def int) int {
		if r.args[key] == "" {
			return def
		}
		v, err := strconv.Atoi(r.args[key])
		r.fail(key, err)
		return v
	}
	return sizing.TryKey{TaskKey: task, RunID: r.args["run"], MapIndex: integer("map", sizing.NoMap), Number: integer("try", 1)}
}
