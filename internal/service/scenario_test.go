package service_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// scenario simulates predictions, reports, lifts, voids, trainings and restarts in random order. It tracks the kills that later
// grants must exceed.
type scenario struct {
	*replica
	rng   *rand.Rand
	runs  int
	open  []*scenarioRun
	ended []*scenarioRun
	floor sizing.Bytes

	compared int // pairs of answers before and after a restart
}

// scenarioRun has a random peak, so that runs with equal inputs differ.
type scenarioRun struct {
	ask     sizing.Ask
	input   int // the feature input, 0 to inputs-1
	peak    sizing.Bytes
	granted sizing.Bytes
	kills   map[int]sizing.Bytes // killed allocations by try number, until a kill is voided, its run succeeds, or another run contradicts it
}

const inputs = 3

const maxGrant = 64 * gib

func (s *scenario) begin() {
	s.runs++
	p := &scenarioRun{input: s.rng.IntN(inputs), kills: map[int]sizing.Bytes{}}
	p.ask = sizing.Ask{
		Try:       try("load", fmt.Sprintf("run-%d", s.runs), 1),
		Features:  sizing.Features{"input": sizing.NumberValue(float64(p.input)), "region": sizing.TextValue([]string{"emea", "apac"}[p.input%2])},
		Requested: sizing.Resources{Memory: 8 * gib}, MaxMemory: maxGrant,
	}
	p.peak = gib.Times((1 + float64(p.input)) * (0.8 + 0.4*s.rng.Float64()))
	if s.rng.IntN(6) == 0 {
		p.peak = p.peak.Times(2 + 3*s.rng.Float64())
	}
	s.grant(p)
	s.open = append(s.open, p)
}

func (s *scenario) grant(p *scenarioRun) {
	s.t.Helper()
	a := s.predict(p.ask)
	s.check(p.ask, a, p.input)
	if p.ask.Try.Number == 1 {
		p.granted = a.Memory.Limit
	}
}

func (s *scenario) check(ask sizing.Ask, a *sizing.Allocation, input int) {
	s.t.Helper()
	context := fmt.Sprintf("run %q try %d: %s, %s", ask.Try.RunID, ask.Try.Number, a.Memory.Limit, a.Reason)
	require.GreaterOrEqual(s.t, a.Memory.Limit, s.floor, context)
	require.LessOrEqual(s.t, a.Memory.Limit, maxGrant, context)
	for i := range a.Ladder {
		require.True(s.t, a.Ladder[0] == a.Memory.Limit && (i == 0 || a.Ladder[i] > a.Ladder[i-1]), "ladder %v: %s", a.Ladder, context)
	}
	if p := a.Risk.Promised; p != nil {
		require.True(s.t, *p >= 0 && *p <= 1, context)
	}
	for _, p := range append(s.open, s.ended...) {
		if p.input != input {
			continue
		}
		for _, killed := range p.kills {
			require.True(s.t, a.Memory.Limit > killed || a.Memory.Limit == maxGrant,
				"%s was killed with the same features in %q: %s", killed, p.ask.Try.RunID, context)
		}
	}
}

// end ends the newest try of open run i. It reports half of the kills; a lift request follows every kill, reported or not.
func (s *scenario) end(i int) {
	p := s.open[i]
	s.open = append(s.open[:i:i], s.open[i+1:]...)
	if p.peak <= p.granted {
		o := succeeded(p.ask, p.peak)
		o.Allocated.Memory = p.granted
		if s.rng.IntN(4) == 0 { // a mistaken lift request before the report
			s.lift(p.ask, p.granted)
			o.Allocated.Memory = 0
		}
		s.report(o)
		for _, other := range append(s.open, s.ended...) {
			for number, killed := range other.kills {
				if other.input == p.input && p.peak < killed {
					delete(other.kills, number)
				}
			}
		}
		clear(p.kills)
		s.ended = append(s.ended, p)
		return
	}
	if s.rng.IntN(2) == 0 {
		s.report(sizing.Observation{Try: p.ask.Try, Outcome: sizing.OOMKilled, Duration: time.Minute, Features: p.ask.Features, Allocated: sizing.Resources{Memory: p.granted}})
	}
	lift := s.lift(p.ask, p.granted)
	p.kills[p.ask.Try.Number] = p.granted
	if !lift.Retry {
		s.ended = append(s.ended, p)
		return
	}
	require.Greater(s.t, lift.Memory.Limit, p.granted, lift.Reason)
	require.LessOrEqual(s.t, lift.Memory.Limit, maxGrant)
	p.ask.Try.Number++
	p.granted = lift.Memory.Limit
	if s.rng.IntN(2) == 0 {
		a := s.predict(p.ask)
		s.check(p.ask, a, p.input)
		require.Equal(s.t, lift.Memory, a.Memory, "the later try repeats its lift: %s", a.Reason)
	}
	s.open = append(s.open, p)
}

func (s *scenario) void() {
	for _, p := range s.ended {
		for number := range p.kills {
			at := p.ask.Try
			at.Number = number
			require.NoError(s.t, s.Void(s.t.Context(), at))
			delete(p.kills, number)
			s.train() // the training corrects the margins
			return
		}
	}
}

func (s *scenario) train() {
	if _, err := s.Train(s.t.Context(), task("load")); err != nil {
		require.Equal(s.t, sizing.NotFound, sizing.KindOf(err), "%v", err) // no report yet
	}
}

// restart compares the answers before and after a restart. The amounts may differ by 0.2 %: over 40 seeds the largest
// difference was 0.05 %, for a task in its burn-in.
func (s *scenario) restart() {
	probe := func() (answers []*sizing.Allocation) {
		for input := range inputs {
			p := &scenarioRun{input: input}
			p.ask = sizing.Ask{Try: try("load", "", 1), Requested: sizing.Resources{Memory: 8 * gib}, MaxMemory: maxGrant,
				Features: sizing.Features{"input": sizing.NumberValue(float64(input)), "region": sizing.TextValue([]string{"emea", "apac"}[input%2])}}
			a := s.predict(p.ask)
			s.check(p.ask, a, input)
			answers = append(answers, a)
		}
		return answers
	}
	before := probe()
	s.stop()
	s.replica = joinReplica(s.t, s.dsn, service.Config{}).start()
	for i, a := range probe() {
		s.compared++
		require.Equal(s.t, before[i].Model, a.Model)
		require.InDelta(s.t, float64(before[i].Memory.Limit), float64(a.Memory.Limit), 0.002*float64(a.Memory.Limit), "input %d\nbefore: %s\nafter:  %s", i, before[i].Reason, a.Reason)
		require.Equal(s.t, before[i].Source, a.Source)
	}
}

var seeds = uint64(4)

func TestRandomScenariosRespectBoundsAndSurviveRestarts(t *testing.T) {
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := &scenario{replica: newReplica(t).start(), rng: rand.New(rand.NewPCG(seed, 3))}
			if seed%2 == 1 {
				s.floor = gib
				require.NoError(t, s.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib}))
			}
			for range 150 {
				switch n := s.rng.IntN(20); {
				case n < 7 || len(s.open) == 0:
					s.begin()
				case n == 7: // a repeated prediction, after kills of other runs
					p := s.open[s.rng.IntN(len(s.open))]
					a := s.predict(p.ask)
					s.check(p.ask, a, p.input)
					p.granted = a.Memory.Limit
				case n < 17:
					s.end(s.rng.IntN(len(s.open)))
				case n == 17:
					s.void()
				case n == 18:
					s.train()
				default:
					s.restart()
				}
			}
			require.NotZero(t, s.compared)
		})
	}
}
