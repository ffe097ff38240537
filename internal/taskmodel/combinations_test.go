package taskmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// combinationRows returns features and log peaks of n runs. The log peak grows with the feature `rows`, and each combination of
// market and department has an effect with the standard deviation `deviation`. The season has no effect.
func combinationRows(seed uint64, n int, deviation float64) ([]sizing.Features, []float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var effects [8][6]float64
	for i := range effects {
		for j := range effects[i] {
			effects[i][j] = deviation * rng.NormFloat64()
		}
	}
	var features []sizing.Features
	var levels []float64
	for range n {
		market, department, rows := rng.IntN(8), rng.IntN(6), math.Exp(3*rng.Float64())
		features = append(features, sizing.Features{
			"market": sizing.TextValue(fmt.Sprintf("m%c", 'a'+market)), "department": sizing.TextValue(fmt.Sprintf("d%c", 'a'+department)),
			"season": sizing.TextValue([]string{"spring", "summer", "autumn", "winter"}[rng.IntN(4)]), "rows": sizing.NumberValue(math.Floor(1e4 * rows)),
		})
		levels = append(levels, math.Log(float64(sizing.GiB)*rows)+effects[market][department]+0.08*rng.NormFloat64())
	}
	return features, levels
}

func fitOn(t *testing.T, m *Model, features []sizing.Features, levels []float64) *Model {
	rows := make([]row, len(features))
	for _, f := range features {
		m.Schema.Extend(f)
	}
	for i, f := range features {
		rows[i] = row{Cells: m.cells(f, nil), Peak: math.Exp(levels[i]), Seconds: 60, Weight: 1, Residual: math.NaN()}
	}
	var err error
	m.Models, err = fitModels(&m.Schema, rows, nil, m.Trees, 1, nil, &m.ablated)
	require.NoError(t, err)
	return m
}

func lineTreesError(m *Model, features []sizing.Features, levels []float64) float64 {
	squares := 0.0
	for i, f := range features {
		var p experts.Point
		m.Models.predictRow(m.cells(f, nil), &p, new(buffers))
		e := levels[i] - p.Level[experts.LineTrees]
		squares += e * e
	}
	return math.Sqrt(squares / float64(len(features)))
}

func TestCombinationsOfCategoriesHaveEffects(t *testing.T) {
	for seed := range uint64(3) {
		features, levels := combinationRows(seed, 900, 0.3)
		m := fitOn(t, New(), features[:600], levels[:600])
		var names []string
		for j, is := range m.Models.Combinations.Columns {
			if is {
				names = append(names, m.Models.Enc.Columns[j].Name)
			}
		}
		require.ElementsMatch(t, []string{"market", "department"}, names)
		with := lineTreesError(m, features[600:], levels[600:])
		without := lineTreesError(fitOn(t, NewAblated(Ablation{NoCombinations: true}), features[:600], levels[:600]), features[600:], levels[600:])
		t.Logf("root mean square error of the log peak %.3f, without combinations %.3f; noise 0.08", with, without)
		require.Less(t, with, 0.8*without)

		require.Equal(t, utcVersion, m.Format())
		blob, err := m.Blob()
		require.NoError(t, err)
		opened, err := Open(blob)
		require.NoError(t, err)
		require.Equal(t, with, lineTreesError(opened, features[600:], levels[600:]))
	}
}

func TestNoEffectsWithoutDifferencesBetweenCombinations(t *testing.T) {
	for seed := range uint64(5) {
		features, levels := combinationRows(seed, 600, 0)
		m := fitOn(t, New(), features, levels)
		require.Empty(t, m.Models.Combinations.Columns)
		require.Less(t, m.Format(), utcVersion)
	}
}

// Combinations that few runs share have no effects: such runs are mostly repeats, which the groups of rows predict better.
func TestSeldomCombinationsHaveNoEffects(t *testing.T) {
	for runs, hasEffects := range map[int]bool{2: false, 8: true} { // runs of each combination
		features, levels := combinationRows(1, 640, 0)
		rng := rand.New(rand.NewPCG(7, 1))
		effects := map[int]float64{}
		for i, f := range features {
			combination := i % (len(features) / runs)
			if _, ok := effects[combination]; !ok {
				effects[combination] = 0.3 * rng.NormFloat64()
			}
			delete(f, "season")
			f["market"], f["department"] = sizing.TextValue(fmt.Sprintf("m%c", 'a'+combination%20)), sizing.TextValue(fmt.Sprintf("d%c", 'a'+combination/20))
			levels[i] += effects[combination]
		}
		require.Equal(t, hasEffects, fitOn(t, New(), features, levels).Models.Combinations.Columns != nil)
	}
}
