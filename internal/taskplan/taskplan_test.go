package taskplan_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskplan"
)

const static = 8 * sizing.GiB

// ramp returns a run of about half an hour: half a GiB for two thirds of the time, then growth to 5 GiB. `run` varies the
// duration and the peak slightly.
func ramp(run int) taskplan.Run {
	s := sizing.Series{Step: 15 * time.Second}
	steps := 120 + run%5
	for step := range steps {
		late := max(0, float64(step)/float64(steps)-.65) / .35
		s.Memory = append(s.Memory, int64(float64(sizing.GiB)*(.5+4.5*late*(1+.02*math.Sin(float64(run))))))
		s.CPU = append(s.CPU, 1+2*math.Floor(1.5*float64(step)/float64(steps)))
	}
	return taskplan.Run{RunID: fmt.Sprint(run), MapIndex: sizing.NoMap, Try: 1, Series: s, Static: sizing.Resources{Memory: static, CPU: 4}}
}

func learned(t *testing.T, runs int) (*taskplan.State, *plan.Pool) {
	t.Helper()
	s, pool, all := new(taskplan.State), new(plan.Pool), []taskplan.Run(nil)
	for i := range runs {
		run := ramp(i)
		s.Learn(pool, &run)
		all = append(all, run)
	}
	if s.NeedsPhases() {
		require.NoError(t, s.FindPhases(all))
	}
	return s, pool
}

func TestADecodedStateEncodesToTheSameBytes(t *testing.T) {
	s, pool := learned(t, 12)
	content, err := taskplan.Encode(s)
	require.NoError(t, err)
	decoded, err := taskplan.Decode(taskplan.Format, content)
	require.NoError(t, err)
	again, err := taskplan.Encode(decoded)
	require.NoError(t, err)
	assert.Equal(t, content, again)
	encodedPool, err := taskplan.EncodePool(pool)
	require.NoError(t, err)
	decodedPool, err := taskplan.DecodePool(taskplan.Format, encodedPool)
	require.NoError(t, err)
	grant := sizing.Resources{Memory: static}
	assert.Equal(t, taskplan.NewPlanner(s, pool).Plan(grant), taskplan.NewPlanner(decoded, decodedPool).Plan(grant), "a decoded planner plans the same")

	_, err = taskplan.Decode(taskplan.Format+1, content)
	require.ErrorIs(t, err, taskplan.ErrFormat)
	require.NotErrorIs(t, err, taskplan.ErrDamaged)
	_, err = taskplan.DecodePool(taskplan.Format+1, encodedPool)
	require.ErrorIs(t, err, taskplan.ErrFormat)
}

func TestRunWithoutTheKnownChannelsHasNoPhases(t *testing.T) {
	s, _ := learned(t, 12)
	require.NotNil(t, s.Phases)
	require.True(t, s.Phases.HasCPU)
	series := ramp(1).Series
	assert.Len(t, s.Phases.Label(&series, 40), 40)
	series.CPU = nil
	assert.Nil(t, s.Phases.Label(&series, 40))
	assert.Nil(t, s.Phases.Label(&sizing.Series{Step: series.Step}, 40))
}

// The state repeats one byte, so its compressed form is small.
func TestAStateTooLargeToDecodeIsNotEncoded(t *testing.T) {
	for _, c := range []struct {
		bytes int
		isOK  bool
	}{{15 << 20, true}, {16 << 20, false}} {
		s := &taskplan.State{Replays: []taskplan.Replay{{RunID: strings.Repeat("a", c.bytes)}}}
		content, err := taskplan.Encode(s)
		if !c.isOK {
			assert.ErrorContains(t, err, "more than 16777216")
			continue
		}
		require.NoError(t, err)
		_, err = taskplan.Decode(taskplan.Format, content)
		require.NoError(t, err)
	}
}

func TestDamagedStatesAreRejectedOrUsable(t *testing.T) {
	s, pool := learned(t, 6)
	content, err := taskplan.Encode(s)
	require.NoError(t, err)
	for _, n := range []int{0, 1, len(content) / 2, len(content) - 1} {
		_, err := taskplan.Decode(taskplan.Format, content[:n])
		require.ErrorIs(t, err, taskplan.ErrFormat, "the first %d bytes", n)
	}
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(content)))
	require.NoError(t, err)
	rejected := 0
	for at := 0; at < len(plain); at += max(1, len(plain)/400) {
		damaged := bytes.Clone(plain)
		damaged[at] ^= 0x55
		decoded, err := taskplan.Decode(taskplan.Format, deflate(t, damaged))
		if err != nil {
			require.ErrorIs(t, err, taskplan.ErrFormat)
			rejected++
			continue
		}
		require.NotPanics(t, func() { use(decoded, pool) }, "byte %d", at)
	}
	assert.Positive(t, rejected)
}

func TestInconsistentStatesAreRejected(t *testing.T) {
	for name, damage := range map[string]func(*taskplan.Phases){
		"an id out of range":      func(p *taskplan.Phases) { p.IDs[0] = len(p.IDs) },
		"a missing transition":    func(p *taskplan.Phases) { p.Next[0] = p.Next[0][1:] },
		"a missing dwell list":    func(p *taskplan.Phases) { p.Dwell = p.Dwell[1:] },
		"a missing visit count":   func(p *taskplan.Phases) { p.Visits = p.Visits[1:] },
		"other channels":          func(p *taskplan.Phases) { p.HasCPU = !p.HasCPU },
		"no model":                func(p *taskplan.Phases) { p.Model = nil },
		"a missing weight":        func(p *taskplan.Phases) { p.Model.Machine.W = p.Model.Machine.W[1:] },
		"another number of units": func(p *taskplan.Phases) { p.Model.Machine.Hidden++ },
		"a step of zero seconds":  func(p *taskplan.Phases) { p.Step = 0 },
	} {
		s, _ := learned(t, 6)
		require.NotNil(t, s.Phases)
		damage(s.Phases)
		content, err := cbor.Marshal(s)
		require.NoError(t, err)
		_, err = taskplan.Decode(taskplan.Format, deflate(t, content))
		require.ErrorIs(t, err, taskplan.ErrDamaged, name)
	}
}

func deflate(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func use(s *taskplan.State, pool *plan.Pool) {
	p := taskplan.NewPlanner(s, pool)
	p.Plan(sizing.Resources{Memory: static, CPU: 4})
	if p.HasPlan() {
		one := 1.0
		p.Follow(&taskplan.Progress{Elapsed: 60, Limit: sizing.GiB, Static: static, CPU: 4, Samples: []taskplan.Sample{{Seconds: 50, Memory: sizing.GiB, CPU: &one}}})
	}
}

func TestFollowNeverLowersALimit(t *testing.T) {
	s, pool := learned(t, 12)
	p := taskplan.NewPlanner(s, pool)
	require.True(t, p.HasPlan())
	grew := 0
	for _, elapsed := range []float64{0, 300, 1000, 1500, 1e6} {
		for _, limit := range []sizing.Bytes{sizing.GiB, 3 * sizing.GiB, static, 3 * static} {
			for _, largest := range []sizing.Bytes{0, sizing.GiB, 5 * sizing.GiB, 9 * sizing.GiB} {
				for _, most := range []sizing.Bytes{0, 2 * sizing.GiB, 9 * sizing.GiB} {
					need := p.Follow(&taskplan.Progress{Elapsed: elapsed, Limit: limit, Static: static, Largest: largest, Most: most})
					name := fmt.Sprintf("%v s, limit %v, largest %v, most %v: %+v", elapsed, limit, largest, most, need)
					require.GreaterOrEqual(t, need.Memory, limit, name)
					require.GreaterOrEqual(t, need.By, elapsed, name)
					if need.Memory == limit {
						continue
					}
					grew++
					require.InDelta(t, elapsed+taskplan.Timing.Reaction, need.By, 1e-9, name)
					require.Zero(t, need.Memory%sizing.MiB, name)
					if most > 0 {
						require.LessOrEqual(t, need.Memory, most, name)
					}
					if largest < static/2 {
						require.LessOrEqual(t, need.Memory, static, name)
					}
				}
			}
		}
	}
	assert.Greater(t, grew, 10)
}

// A caller that does not know the usage gets the limits that the earlier runs needed at the same time.
func TestFollowWithoutUsageFollowsTheSteps(t *testing.T) {
	s, pool := learned(t, 12)
	p := taskplan.NewPlanner(s, pool)
	planned := p.Plan(sizing.Resources{Memory: static, CPU: 4})
	require.NotEmpty(t, planned.Steps)
	last := planned.Steps[len(planned.Steps)-1]
	early := p.Follow(&taskplan.Progress{Elapsed: 1, Limit: planned.Start, Static: static})
	assert.Equal(t, planned.Start, early.Memory)
	late := p.Follow(&taskplan.Progress{Elapsed: last.AskBy.Seconds(), Limit: planned.Start, Static: static})
	assert.GreaterOrEqual(t, late.Memory, last.Limit)
	small := p.Follow(&taskplan.Progress{Elapsed: last.AskBy.Seconds(), Limit: sizing.GiB, Static: 2 * sizing.GiB})
	assert.Equal(t, 2*sizing.GiB, small.Memory, "without usage, the limit is at most the static grant")
}

// A series lasts until the end of its last step, however wide the steps are.
func TestWideStepsCountInFull(t *testing.T) {
	s, pool := new(taskplan.State), new(plan.Pool)
	for i := range 4 {
		series := sizing.Series{Step: 5 * time.Minute, Memory: []int64{int64(sizing.GiB), int64(4 * sizing.GiB)}}
		s.Learn(pool, &taskplan.Run{RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Try: 1, Series: series, Static: sizing.Resources{Memory: static}})
	}
	p := taskplan.NewPlanner(s, pool)
	require.True(t, p.HasPlan(), "there is a plan, because two steps of five minutes are ten minutes")
	need := p.Follow(&taskplan.Progress{Elapsed: 100, Limit: static, Static: static, Largest: sizing.GiB})
	require.NotNil(t, need.Remaining)
	assert.InDelta(t, 500, need.Remaining.Median, 1)
}

func TestFollowKnowsThePhaseAndTheRemainingTime(t *testing.T) {
	s, pool := learned(t, 12)
	p := taskplan.NewPlanner(s, pool)
	run := ramp(20)
	q := &taskplan.Progress{Elapsed: 600, Limit: 2 * sizing.GiB, Static: static}
	for step := range 40 {
		q.Samples = append(q.Samples, taskplan.Sample{Seconds: 15 * float64(step), Memory: sizing.Bytes(run.Series.Memory[step]), CPU: &run.Series.CPU[step]})
	}
	need := p.Follow(q)
	require.NotNil(t, need.Place)
	assert.Zero(t, need.Place.Phase, "the phase with the least memory")
	sum := 0.0
	for _, n := range need.Place.Next {
		sum += n.Probability
	}
	assert.InDelta(t, 1, sum, 1e-9)
	require.NotNil(t, need.Remaining)
	assert.InDelta(t, 1200, need.Remaining.Median, 100)
	q.Elapsed = 1e5
	assert.Nil(t, p.Follow(q).Remaining, "the remaining time is unknown, because no run took longer")
	q.Samples[39].CPU = nil
	assert.Nil(t, p.Follow(q).Place, "without CPU the phase is unknown")
}

func TestNoPlanBeforeEnoughLongRuns(t *testing.T) {
	s, pool := learned(t, taskplan.MinRuns-1)
	p := taskplan.NewPlanner(s, pool)
	assert.False(t, p.HasPlan())
	assert.Nil(t, p.Plan(sizing.Resources{Memory: static}))
	assert.False(t, (*taskplan.Planner)(nil).HasPlan())
	s, pool = learned(t, taskplan.MinRuns)
	assert.NotNil(t, taskplan.NewPlanner(s, pool).Plan(sizing.Resources{Memory: static}))
	assert.Nil(t, taskplan.NewPlanner(s, pool).Plan(sizing.Resources{}), "there is no plan if the static grant is unknown")

	short, pool := new(taskplan.State), new(plan.Pool)
	for i := range 6 {
		run := ramp(i)
		run.Series.Step = time.Second
		short.Learn(pool, &run)
	}
	assert.Nil(t, taskplan.NewPlanner(short, pool).Plan(sizing.Resources{Memory: static}), "there is no plan for runs of two minutes")
}

func TestAReplayPlansARunBeforeItLearnsIt(t *testing.T) {
	s, pool := new(taskplan.State), new(plan.Pool)
	for i := range 12 {
		before := s.Savings
		run := ramp(i)
		s.Learn(pool, &run)
		r := s.Replays[len(s.Replays)-1]
		require.Equal(t, run.RunID, r.RunID)
		switch {
		case i == 0:
			require.Empty(t, r.Limits, "the first run has no plan, because no earlier run is known")
			require.Equal(t, before, s.Savings)
		case i < taskplan.MinRuns:
			require.Equal(t, []taskplan.Limit{{Limit: static}}, r.Limits, "the plan is the static grant")
		}
	}
	assert.Equal(t, 11, s.Savings.Runs)
	assert.Zero(t, s.Savings.PlanKilled)
	assert.Less(t, s.Savings.PlanCost, .9*s.Savings.StaticCost)
	cost := 0.0
	for i := 1; i < 12; i++ {
		cost += float64(static) * 15 * float64(len(ramp(i).Series.Memory))
	}
	assert.InDelta(t, cost, s.Savings.StaticCost, 1, "the cost of the static grants is the sum of static grant times duration")

	surprise := ramp(12)
	for i := range surprise.Series.Memory {
		surprise.Series.Memory[i] = int64(5 * sizing.GiB)
	}
	s.Learn(pool, &surprise)
	r := s.Replays[len(s.Replays)-1]
	assert.True(t, r.Killed, "the first try must be killed, because no earlier run started like this")
	assert.Equal(t, 1, s.Savings.PlanKilled)
	assert.Zero(t, s.Savings.StaticKilled)
	for i := range 20 {
		run := ramp(i)
		s.Learn(pool, &run)
	}
	assert.Len(t, s.Replays, 16, "only the newest replays stay")
}
