package stories

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// do plays one repetition of a step. An error is a story that makes no sense;
// errors of the service are answers.
func (w *world) do(ctx context.Context, s *step, args map[string]string) (answer, error) {
	switch s.verb {
	case "observe":
		return w.observe(ctx, s, args, "success")
	case "oom":
		return w.observe(ctx, s, args, "oom_killed")
	case "unschedulable":
		return w.observe(ctx, s, args, "unschedulable")
	case "predict":
		return w.predict(ctx, s, args)
	case "lift":
		return w.lift(ctx, s, args)
	case "train":
		return w.train(ctx, s), nil
	case "policy":
		return w.policy(ctx, s, args)
	case "void":
		return w.void(ctx, s, args)
	case "task":
		return w.task(ctx, s), nil
	case "wait":
		return w.wait(s)
	case "restart":
		w.restart(ctx)
		return answer{words: []string{"ready"}}, nil
	}
	return answer{}, fmt.Errorf("no verb %q", s.verb)
}

func (w *world) observe(ctx context.Context, s *step, args map[string]string, outcome string) (answer, error) {
	r := reader{args: args}
	o := sizing.Observation{
		Try: r.try(s.task), Outcome: r.outcome("outcome", outcome),
		MemoryMax: r.bytes("peak"), CPUMax: sizing.Cores(r.number("cpu", 0)),
		Duration:  time.Duration(r.number("duration", 300) * float64(time.Second)),
		Allocated: sizing.Resources{Memory: r.bytes("at")},
		Requested: sizing.Resources{Memory: r.bytes("requested")}, Features: features(args),
	}
	if o.Try.RunID == "" {
		w.runs++
		o.Try.RunID = fmt.Sprintf("made-up-%d", w.runs)
	}
	if r.err != nil {
		return answer{}, r.err
	}
	recorded, err := w.svc.Observe(ctx, []sizing.Observation{o})
	if err == nil {
		err = recorded[0].Err
	}
	word := "new"
	switch {
	case err != nil:
		return failed(err), nil
	case recorded[0].Duplicate:
		word = "duplicate"
	case recorded[0].Amended:
		word = "amended"
	}
	return answer{words: []string{word}}, nil
}

func (w *world) ask(s *step, r *reader) sizing.Ask {
	return sizing.Ask{
		Try: r.try(s.task), Features: features(r.args),
		Requested: sizing.Resources{Memory: r.bytes("requested")}, MaxMemory: r.bytes("cap"),
	}
}

func (w *world) predict(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := reader{args: args}
	ask := w.ask(s, &r)
	if r.err != nil {
		return answer{}, r.err
	}
	a, err := w.svc.Predict(ctx, &ask)
	if err != nil {
		return failed(err), nil
	}
	got := answer{words: []string{string(a.Source), string(a.Mode)}, said: a.Reason, numbers: map[string]float64{
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

func (w *world) lift(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := reader{args: args}
	ask := sizing.LiftAsk{Ask: w.ask(s, &r), Reason: r.outcome("reason", "oom_killed"), Failed: r.bytes("at")}
	if r.err != nil {
		return answer{}, r.err
	}
	l, err := w.svc.Lift(ctx, &ask)
	if err != nil {
		return failed(err), nil
	}
	got := answer{words: []string{string(l.Verdict)}, said: l.Reason, numbers: map[string]float64{
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

func (w *world) train(ctx context.Context, s *step) answer {
	report, err := w.svc.Train(ctx, s.task)
	if err != nil {
		return failed(err)
	}
	word := "unpublished"
	if report.Published {
		word = "published"
	}
	return answer{words: []string{word}, said: report.Reason, numbers: map[string]float64{"version": float64(report.Version)}}
}

func (w *world) policy(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := reader{args: args}
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
	if err := w.svc.SetPolicy(ctx, s.task, p); err != nil {
		return failed(err), nil
	}
	return answer{words: []string{"set"}}, nil
}

func (w *world) void(ctx context.Context, s *step, args map[string]string) (answer, error) {
	r := reader{args: args}
	try := r.try(s.task)
	if r.err != nil {
		return answer{}, r.err
	}
	if err := w.svc.Void(ctx, try); err != nil {
		return failed(err), nil
	}
	return answer{words: []string{"voided"}}, nil
}

func (w *world) task(ctx context.Context, s *step) answer {
	p, err := w.svc.Task(ctx, s.task)
	if err != nil {
		return failed(err)
	}
	return answer{words: []string{string(p.Group)}, said: p.Ambiguous, numbers: map[string]float64{
		"observations": float64(p.Observations), "kills": float64(p.Kills), "largest": float64(p.LargestPeak),
	}}
}

func (w *world) wait(s *step) (answer, error) {
	if len(s.plain) != 1 {
		return answer{}, fmt.Errorf("wait takes a duration, such as 2h")
	}
	d, err := time.ParseDuration(s.plain[0])
	w.ahead += d
	return answer{words: []string{"later"}}, err
}

// reader reads arguments, and keeps the first that cannot be read.
type reader struct {
	args map[string]string
	err  error
}

func (r *reader) fail(key string, err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s=%s: %w", key, r.args[key], err)
	}
}

func (r *reader) number(key string, usual float64) float64 {
	if r.args[key] == "" {
		return usual
	}
	v, err := parseNumber(r.args[key])
	r.fail(key, err)
	return v
}

func (r *reader) bytes(key string) sizing.Bytes { return sizing.Bytes(math.Ceil(r.number(key, 0))) }

func (r *reader) outcome(key, usual string) sizing.Outcome {
	name := r.args[key]
	if name == "" {
		name = usual
	}
	o, ok := sizing.ParseOutcome(name)
	if !ok {
		r.fail(key, fmt.Errorf("no such outcome"))
	}
	return o
}

func (r *reader) try(task sizing.TaskKey) sizing.TryKey {
	integer := func(key string, usual int) int {
		if r.args[key] == "" {
			return usual
		}
		v, err := strconv.Atoi(r.args[key])
		r.fail(key, err)
		return v
	}
	return sizing.TryKey{TaskKey: task, RunID: r.args["run"], MapIndex: integer("map", sizing.NoMap), Number: integer("try", 1)}
}
