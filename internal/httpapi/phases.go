package httpapi

import (
	"context"
	"fmt"
	"math"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskplan"
)

// AskPhase answers with the resources that a running try needs now and next.
func (s *server) AskPhase(ctx context.Context, r api.AskPhaseRequestObject) (api.AskPhaseResponseObject, error) {
	b := r.Body
	if bad := invalidPhaseFields(b); len(bad) > 0 {
		return nil, invalidFields(bad)
	}
	ask := &service.PhaseAsk{
		Try: tryKey(taskKey(b.Namespace, b.DagID, b.TaskID), b.RunID, b.MapIndex, b.TryNumber),
		Progress: taskplan.Progress{
			Elapsed: *b.ElapsedSeconds, Limit: sizing.Bytes(b.LimitBytes), Static: sizing.Bytes(valueOr(b.StaticBytes, 0)),
			Largest: sizing.Bytes(valueOr(b.MemoryMaxBytes, 0)), Most: sizing.Bytes(valueOr(b.MaxMemoryBytes, 0)),
			CPU: coresOfMillis(b.CPUMillicores), StaticCPU: coresOfMillis(b.StaticCPUMillicores),
			Samples: make([]taskplan.Sample, len(b.Samples)),
		},
	}
	for i, sample := range b.Samples {
		ask.Samples[i] = taskplan.Sample{Seconds: *sample.Seconds, Memory: sizing.Bytes(*sample.MemoryBytes), CPU: sample.CPUCores}
	}
	if err := infoOf(ctx).grants.CheckTask(ask.Try.TaskKey); err != nil {
		return nil, err
	}
	a, err := s.svc.Phase(ctx, ask)
	if err != nil {
		return nil, err
	}
	return api.AskPhase200JSONResponse(phaseAnswer(a)), nil
}

// invalidPhaseFields checks what a service.PhaseAsk cannot show: missing fields that are required and whose
// zero is valid, and optional amounts of memory that are sent as zero.
func invalidPhaseFields(b *api.AskPhaseJSONRequestBody) []sizing.FieldError {
	var f fieldReader
	if b.ElapsedSeconds == nil {
		f.add("elapsed_seconds", "is required")
	}
	checkBytes := func(field string, bytes *int64) {
		if bytes != nil && *bytes < 1 {
			f.add(field, "must be 1 byte to 8Pi")
		}
	}
	checkBytes("static_bytes", b.StaticBytes)
	checkBytes("memory_max_bytes", b.MemoryMaxBytes)
	checkBytes("max_memory_bytes", b.MaxMemoryBytes)
	for i, sample := range b.Samples {
		if sample.Seconds == nil {
			f.add(fmt.Sprintf("samples[%d].seconds", i), "is required")
		}
		if sample.MemoryBytes == nil {
			f.add(fmt.Sprintf("samples[%d].memory_bytes", i), "is required")
		}
	}
	return f.errors
}

func coresOfMillis(millis *int) sizing.Cores { return sizing.Cores(valueOr(millis, 0)) / 1000 }

// millisOf returns a CPU request in millicores, rounded up; nil if it is zero.
func millisOf(c sizing.Cores) *int {
	if c <= 0 {
		return nil
	}
	millis := int(math.Ceil(float64(c)*1000 - 1e-6))
	return &millis
}

func phaseAnswer(a *service.PhaseAnswer) api.PhaseAnswer {
	answer := api.PhaseAnswer{
		Mode: api.PhasesMode(a.Mode), Version: positive(a.Version), Next: []api.NextPhase{}, MemoryBytes: int64(a.Memory), CPUMillicores: millisOf(a.CPU),
		BySeconds: a.By, AskAgainSeconds: a.AskAgain, Reason: a.Reason,
	}
	answer.StaticBytes, _ = amountAnswer(a.Static)
	if a.Remaining != nil {
		answer.Remaining = &api.RemainingTime{MedianSeconds: a.Remaining.Median, P95Seconds: a.Remaining.P95}
	}
	if p := a.Place; p != nil {
		answer.Phase, answer.PhaseSeconds = &p.Phase, &p.Seconds
		for _, n := range p.Next {
			answer.Next = append(answer.Next, api.NextPhase{Phase: phaseID(n.Phase), Probability: n.Probability, InSeconds: n.In})
		}
	}
	return answer
}

func positive(v int) *int {
	if v == 0 {
		return nil
	}
	return &v
}

// phaseID returns the id of a phase; nil for the end of the run.
func phaseID(id int) *int {
	if id < 0 {
		return nil
	}
	return &id
}

func planAnswer(p *sizing.Plan) *api.Plan {
	if p == nil {
		return nil
	}
	return &api.Plan{
		Version: p.Version, Mode: api.PhasesMode(p.Mode), StaticBytes: int64(p.Static), Promised: p.Promised,
		Start:       api.PlanStart{MemoryBytes: int64(p.Start), CPUMillicores: millisOf(p.StartCPU)},
		Steps:       planSteps(p.Steps),
		PollSeconds: p.Poll.Seconds(), ReactionSeconds: p.Reaction.Seconds(),
	}
}

func planSteps(steps []sizing.PlanStep) []api.PlanStep {
	all := make([]api.PlanStep, len(steps))
	for i, s := range steps {
		all[i] = api.PlanStep{AfterSeconds: s.After.Seconds(), LevelBytes: int64(s.Level), MemoryBytes: int64(s.Limit), AskBySeconds: s.AskBy.Seconds()}
	}
	return all
}

// GetTaskPhases describes the plan and the phases of a task. A phase is a part of a run with one level of usage.
func (s *server) GetTaskPhases(ctx context.Context, r api.GetTaskPhasesRequestObject) (api.GetTaskPhasesResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	p, err := s.svc.TaskPhases(ctx, key, valueOr(r.Params.Runs, service.DefaultPhasedRuns))
	if err != nil {
		return nil, err
	}
	return api.GetTaskPhases200JSONResponse(TaskPhasesAnswer(key, p)), nil
}

// TaskPhasesAnswer converts the phases of a task.
func TaskPhasesAnswer(key sizing.TaskKey, p *service.TaskPhases) api.TaskPhases {
	answer := api.TaskPhases{
		Namespace: key.Namespace, DagID: key.DAG, TaskID: key.Task, Mode: api.PhasesMode(p.Mode), Version: p.Version, LearnedAt: p.LearnedAt,
		Runs: p.State.Learner.Runs, Phases: []api.TaskPhase{}, Starts: []float64{}, Prototypes: []api.PhasePrototype{},
		Savings: planSavings(&p.State.Savings), NewestRuns: make([]api.PhasedRun, len(p.Runs)),
	}
	if phases := p.State.Phases; phases != nil {
		describePhases(&answer, phases)
	}
	if next := p.Next; next != nil {
		answer.Plan = &api.NextPlan{Rule: p.Rule(), StaticBytes: int64(next.Static), StartBytes: int64(next.Start), Promised: *next.Promised, Steps: planSteps(next.Steps)}
	}
	for i := range p.Runs {
		answer.NewestRuns[i] = phasedRun(&p.Runs[i])
	}
	return answer
}

func describePhases(answer *api.TaskPhases, phases *taskplan.Phases) {
	answer.StepSeconds, answer.Silhouette, answer.Starts, answer.Coverage = phases.Step, phases.Model.Silhouette, phases.Starts, phases.Coverage
	total := 0
	for id := range phases.IDs {
		total += phases.Statistics(id).Steps
	}
	for id := range phases.IDs {
		answer.Phases = append(answer.Phases, taskPhase(phases, id, total))
	}
	for _, p := range phases.Prototypes {
		answer.Prototypes = append(answer.Prototypes, api.PhasePrototype{Phases: p.Phases, Runs: p.Runs, Share: p.Share})
	}
}

// taskPhase describes one phase; total is the number of steps of all phases.
func taskPhase(phases *taskplan.Phases, id, total int) api.TaskPhase {
	s := phases.Statistics(id)
	const gibibyte = 1 << 30 // the unit of the memory in s
	p := api.TaskPhase{
		ID: id, Share: float64(s.Steps) / float64(max(total, 1)), Visits: phases.Visits[id], Next: []api.PhaseTransition{},
		MemoryMeanBytes: s.Mean[0] * gibibyte, MemorySdBytes: s.SD[0] * gibibyte, MemoryMaxBytes: s.Max[0] * gibibyte,
	}
	if phases.HasCPU {
		p.CPUMeanCores, p.CPUSdCores, p.CPUMaxCores = &s.Mean[1], &s.SD[1], &s.Max[1]
	}
	if p.Visits > 0 {
		p.Dwell = &api.DwellTime{P10Seconds: phases.DwellQuantile(id, .1), MedianSeconds: phases.DwellQuantile(id, .5), P90Seconds: phases.DwellQuantile(id, .9)}
	}
	for _, n := range phases.Transitions(id) {
		p.Next = append(p.Next, api.PhaseTransition{Phase: phaseID(n.Phase), Probability: n.Probability})
	}
	return p
}

const byteSecondsPerGBHour = 1e9 * 3600 // GB is 1e9 bytes

func planSavings(s *taskplan.Savings) api.PlanSavings {
	savings := api.PlanSavings{
		Runs: s.Runs, StaticGbh: s.StaticCost / byteSecondsPerGBHour, PlanGbh: s.PlanCost / byteSecondsPerGBHour,
		StaticKilled: s.StaticKilled, PlanKilled: s.PlanKilled,
	}
	if s.StaticCost > 0 {
		share := s.PlanCost / s.StaticCost
		savings.ShareOfStatic = &share
	}
	if s.CPURuns > 0 {
		savings.CPU = &api.PlanCPUSavings{
			Runs: s.CPURuns, StaticCoreHours: s.StaticCPU / 3600, PlanCoreHours: s.PlanCPU / 3600, ShortPercent: 100 * s.ShortCPU / max(s.CPUTotals, 1),
		}
	}
	return savings
}

func phasedRun(r *service.PhasedRun) api.PhasedRun {
	run := api.PhasedRun{
		RunID: r.RunID, MapIndex: r.MapIndex, TryNumber: r.Try, StepSeconds: r.Series.Step.Seconds(), MemoryBytes: r.Series.Memory, CPUCores: r.Series.CPU,
		Phases: append([]int{}, r.Phases...), Killed: r.Replay.Killed, Limits: make([]api.PlannedLimit, len(r.Replay.Limits)),
	}
	run.StaticBytes, _ = amountAnswer(r.Replay.Static)
	for i, l := range r.Replay.Limits {
		run.Limits[i] = api.PlannedLimit{Seconds: l.Seconds, MemoryBytes: int64(l.Limit)}
	}
	return run
}
