package taskmodel

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

func fittedModel(t *testing.T, n int) (*Model, func() sizing.Features) {
	rng := rand.New(rand.NewPCG(11, 1))
	draw := func() sizing.Features {
		start := time.Date(2020, 1, 1+rng.IntN(300), 0, 0, 0, 0, time.UTC)
		return sizing.Features{
			"rows": sizing.NumberValue(math.Floor(1e4 * rng.Float64())), "stores": sizing.NumberValue(float64(rng.IntN(40))),
			"region": sizing.TextValue([]string{"emea", "apac", "amer"}[rng.IntN(3)]), "full": sizing.BoolValue(rng.IntN(2) == 0),
			"from": sizing.TextValue(start.Format(time.DateOnly)), "to": sizing.TextValue(start.AddDate(0, 0, rng.IntN(60)).Format(time.DateOnly)),
		}
	}
	m, h := New(), sizing.History{}
	for i := range n {
		f := draw()
		gibs := 0.2 + 1e-4*f["rows"].Num*(1+f["full"].Num) + 0.02*(f["to"].Num-f["from"].Num) + 0.05*rng.Float64()
		h.LastSeq, h.Total = int64(i+1), i+1
		h.Schema.Extend(f)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: int64(i + 1), At: time.Unix(int64(i), 0), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Try: 1, Outcome: sizing.Success, Weight: 1,
			MemoryMax: sizing.Bytes(gibs * float64(sizing.GiB)), Duration: time.Minute, Features: h.Schema.Row(f, nil),
		})
		row := NewTrainingRow(&h.Schema, &h.Rows[i])
		row.Features = f
		m.Learn(row)
	}
	fitted, _, err := Fit(&h, m)
	require.NoError(t, err)
	return fitted, draw
}

// levelOfPlayers returns the level of a row if only some players are known: player i is known if bit i of set is 1. A player, in
// the sense of Shapley values, is a feature or a pair of features. The line and the trees do not know the columns of the other
// players.
func (m *Model) levelOfPlayers(cells []sizing.Value, weights *[experts.ModelCount]float64, set uint) float64 {
	o := m.Models
	x, tree := o.Enc.encode(cells, nil, nil)
	linePlayers, treePlayers := m.columnPlayers(cells)
	hide := func(players []int) []int {
		hidden := slices.Clone(players)
		for j, player := range hidden {
			if player >= 0 && set>>player&1 == 0 {
				hidden[j] = -1
			}
		}
		return hidden
	}
	masked := slices.Clone(x)
	for j, player := range hide(linePlayers) {
		if player < 0 {
			masked[j] = math.NaN()
		}
	}
	total := func(expected float64, phi []float64) float64 {
		for _, v := range phi {
			expected += v
		}
		return expected
	}
	phi := make([]float64, 64)
	trees := total(o.Trees.ExplainPlayers(tree, hide(treePlayers), phi), phi)
	line := o.levelOf(o.lineRidge().Predict(masked))
	lineTrees := line + total(o.Resid.ExplainPlayers(tree, hide(treePlayers), phi), phi)
	isKnown := true
	for j, is := range o.Combinations.Columns {
		isKnown = isKnown && (!is || set>>j&1 == 1)
	}
	if isKnown {
		lineTrees += o.Combinations.effect(o.Enc.Columns, cells)
	}
	return weights[experts.Line]*line + weights[experts.Trees]*trees + weights[experts.LineTrees]*lineTrees + weights[experts.Plain]*o.plainLevel(o.ridges[peak].Predict(masked))
}

func TestFeatureTermsAreShapleyValues(t *testing.T) {
	m, draw := fittedModel(t, 120)
	require.NotNil(t, m.Models.Trees)
	players := len(m.Schema.Fields) + len(m.Models.Enc.Pairs)
	require.LessOrEqual(t, players, 10)
	weights := [experts.ModelCount]float64{experts.Line: 0.2, experts.Trees: 0.15, experts.LineTrees: 0.4, experts.Plain: 0.25}
	region, full := slices.IndexFunc(m.Models.Enc.Columns, func(c column) bool { return c.Name == "region" }), slices.IndexFunc(m.Models.Enc.Columns, func(c column) bool { return c.Name == "full" })
	selected := make([]bool, len(m.Models.Enc.Columns))
	selected[region], selected[full] = true, true
	m.Models.Combinations = combinations{Columns: selected, Effects: map[uint64]float64{}}
	for k := range 5 {
		b := new(buffers)
		cells := m.cells(draw(), nil)
		m.Models.Combinations.Effects[groupKey(m.Models.Enc.Columns, cells, selected)] = 0.1 * float64(k+1)
		var p experts.Point
		m.Models.predictRow(cells, &p, b)
		a := m.explainLevel(cells, &p, &weights, b)
		require.InDelta(t, m.levelOfPlayers(cells, &weights, 0), a.base, 1e-9)
		for i := range players {
			want := 0.0
			for set := range uint(1) << players {
				if set>>i&1 == 0 {
					size := bits.OnesCount(set)
					weight := math.Gamma(float64(size+1)) * math.Gamma(float64(players-size)) / math.Gamma(float64(players+1))
					want += weight * (m.levelOfPlayers(cells, &weights, set|1<<i) - m.levelOfPlayers(cells, &weights, set))
				}
			}
			require.InDelta(t, want, a.phi[i], 1e-9*max(1, math.Abs(want)), "player %d", i)
		}
	}
}

func TestAttributionSumsToTheLevel(t *testing.T) {
	m, draw := fittedModel(t, 200)
	rng := rand.New(rand.NewPCG(2, 1))
	for range 50 {
		b := new(buffers)
		cells := m.cells(draw(), nil)
		var p experts.Point
		m.Models.predictRow(cells, &p, b)
		var weights [experts.ModelCount]float64
		want, sum := 0.0, 0.0
		for k := range weights {
			weights[k] = rng.Float64()
			want += weights[k] * p.Level[k]
		}
		a := m.explainLevel(cells, &p, &weights, b)
		sum = a.base + a.identical + a.recent + a.clipped
		for _, v := range a.phi {
			sum += v
		}
		require.InDelta(t, want, sum, 1e-9)
	}
}
