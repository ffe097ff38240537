package phase

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// autoregression is the share of the noise of a step that remains in the next step. innovation keeps the
// standard deviation of the noise constant.
const (
	autoregression = .5
	innovation     = .87 // √(1 − autoregression²)
)

// state is one phase of a synthetic program: a level of memory and one of CPU, with autoregressive noise and a wave.
type state struct {
	memory, cpu, noise float64
	wave               float64 // amplitude of a wave with a period of four steps
	dwell              int     // mean number of steps of a visit; visits last 0.5 to 1.5 times the mean
}

// hiddenMarkov generates runs whose phases are known.
type hiddenMarkov struct {
	states []state
	next   [][]float64 // transition probabilities like Graph.Next; runs start in state 0
}

// levels returns a program with four phases that differ in their levels.
func levels() hiddenMarkov {
	return hiddenMarkov{
		states: []state{{1, .5, .15, 0, 20}, {4, 3, .3, 0, 40}, {9, 1, .4, 0, 30}, {2.5, 6, .3, 0, 25}},
		next:   [][]float64{{0, .7, .3, 0, 0}, {0, 0, .6, .4, 0}, {0, 0, 0, .5, .5}, {0, 0, 0, 0, 1}},
	}
}

// dynamics returns a program with three phases. Two of them have the same mean, and only one of
// these two oscillates.
func dynamics() hiddenMarkov {
	return hiddenMarkov{
		states: []state{{1, 1, .1, 0, 30}, {5, 3, .2, 0, 40}, {5, 3, .2, 2.5, 40}},
		next:   [][]float64{{0, .5, .5, 0}, {0, 0, .5, .5}, {0, .2, 0, .8}},
	}
}

func noisy() hiddenMarkov {
	h := levels()
	for i := range h.states {
		h.states[i].noise *= 2
	}
	return h
}

func (h hiddenMarkov) run(rng *rand.Rand) (series Series, truth []int) {
	noise := [2]float64{} // of memory and CPU
	for at := 0; at < len(h.states); at = draw(h.next[at], rng) {
		s := h.states[at]
		for i := range s.dwell/2 + rng.IntN(s.dwell+1) {
			for c := range noise {
				noise[c] = autoregression*noise[c] + rng.NormFloat64()*s.noise*innovation
			}
			wave := s.wave * math.Sin(math.Pi/2*float64(i)+.7)
			series = append(series, []float64{s.memory + wave + noise[0], s.cpu + wave/2 + noise[1]})
			truth = append(truth, at)
		}
	}
	return series, truth
}

func draw(probabilities []float64, rng *rand.Rand) int {
	at := rng.Float64()
	for i, p := range probabilities {
		if at -= p; at < 0 {
			return i
		}
	}
	return len(probabilities) - 1
}

// adjustedRand returns the adjusted Rand index (Hubert & Arabie 1985).
func adjustedRand(a, b []int) float64 {
	pairs, rows, columns := map[[2]int]float64{}, map[int]float64{}, map[int]float64{}
	for i := range a {
		pairs[[2]int{a[i], b[i]}]++
		rows[a[i]]++
		columns[b[i]]++
	}
	both, inRows, inColumns := 0.0, 0.0, 0.0
	choose := func(n float64) float64 { return n * (n - 1) / 2 }
	for _, n := range pairs {
		both += choose(n)
	}
	for _, n := range rows {
		inRows += choose(n)
	}
	for _, n := range columns {
		inColumns += choose(n)
	}
	expected := inRows * inColumns / choose(float64(len(a)))
	return (both - expected) / ((inRows+inColumns)/2 - expected)
}

// Codes of the machine must never give worse phases than the windows themselves. If the phases differ in their levels, the
// machine must find them and their transitions. If phases differ only in their dynamics, windows of four steps are too
// short, and neither method finds them.
func TestDiscoverFindsKnownPhases(t *testing.T) {
	for _, c := range []struct {
		name    string
		program hiddenMarkov
		least   float64 // adjusted Rand index; 0: the phases cannot be found
	}{{"levels", levels(), .85}, {"noisy", noisy(), .85}, {"dynamics", dynamics(), 0}} {
		for seed := range uint64(2) {
			rng := rand.New(rand.NewPCG(seed, 25))
			var all []Series
			var truth []int
			var visits [][]Visit
			for range 30 {
				series, labels := c.program.run(rng)
				all, truth, visits = append(all, series), append(truth, labels...), append(visits, Visits(labels))
			}
			machine, found, graph := discover(t, all, truth, Config{Windows: 1000, Training: Training{Seed: seed}})
			raw, _, _ := discover(t, all, truth, Config{Raw: true, Windows: 1000, Training: Training{Seed: seed}})
			t.Logf("%s, seed %d: adjusted Rand index %.3f, with raw windows %.3f; 6 prototypes cover %.2f", c.name, seed, machine, raw, graph.Coverage(6))
			assert.GreaterOrEqual(t, machine, raw, "%s, seed %d", c.name, seed)
			if c.least > 0 {
				assert.GreaterOrEqual(t, machine, c.least, "%s, seed %d", c.name, seed)
				assert.GreaterOrEqual(t, graph.Coverage(6), .9, "%s, seed %d", c.name, seed)
				compareTransitions(t, c.program, graph, NewGraph(visits, len(c.program.states)), match(truth, found))
			}
		}
	}
}

// discover finds phases. It returns the adjusted Rand index between the true and the found phases, the found phase of each
// step, and the graph of the found phases.
func discover(t *testing.T, all []Series, truth []int, c Config) (index float64, found []int, graph *Graph) {
	t.Helper()
	m, err := Discover(all, c)
	require.NoError(t, err)
	var runs [][]Visit
	for _, s := range all {
		labels := m.Label(s)
		found, runs = append(found, labels...), append(runs, Visits(labels))
	}
	return adjustedRand(truth, found), found, NewGraph(runs, len(m.Phases))
}

// match returns for each true phase the found phase that most of its steps have.
func match(truth, found []int) []int {
	counts := make([]map[int]int, slices.Max(truth)+1)
	for i, state := range truth {
		if counts[state] == nil {
			counts[state] = map[int]int{}
		}
		counts[state][found[i]]++
	}
	matched := make([]int, len(counts))
	for state, c := range counts {
		for label, n := range c {
			if n > c[matched[state]] {
				matched[state] = label
			}
		}
	}
	return matched
}

func compareTransitions(t *testing.T, program hiddenMarkov, found, truth *Graph, matched []int) {
	t.Helper()
	for a := range program.states {
		for b := range program.states {
			assert.InDelta(t, truth.Next[a][b], found.Next[matched[a]][matched[b]], .05, "transition %d to %d", a, b)
		}
	}
}
