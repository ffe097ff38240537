package gbt

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// withMissing returns n weighted rows of p columns with a tenth of the values missing. The target is noise
// plus a sum of the columns, in which column j has the coefficient j mod 3.
func withMissing(n, p int, rng *rand.Rand) *table.Table {
	t := &table.Table{Names: make([]string, p)}
	for range n {
		y := rng.NormFloat64()
		for j := range p {
			x := math.Round(4 * rng.NormFloat64())
			y += x * float64(j%3)
			if rng.IntN(10) == 0 {
				x = math.NaN()
			}
			t.X = append(t.X, x)
		}
		t.Y = append(t.Y, y)
		t.W = append(t.W, 1+rng.Float64())
	}
	return t
}

// known returns the value of a subtree if only the columns in the set are known.
func (e *Explainer) known(at int32, x []float64, set uint) float64 {
	n := &e.nodes[at]
	switch {
	case e.isLeaf(at):
		return n.cut
	case set>>n.feature&1 == 1:
		return e.known(n.next(x[n.feature]), x, set)
	}
	left, right := e.cover[n.child], e.cover[n.child+1]
	return (left*e.known(n.child, x, set) + right*e.known(n.child+1, x, set)) / (left + right)
}

// shapley computes a Shapley value by its definition: the weighted mean contribution of column j
// over all sets without j.
func (e *Explainer) shapley(x []float64, j, p int) (phi float64) {
	for set := range uint(1) << p {
		if set>>j&1 == 1 {
			continue
		}
		size := bits.OnesCount(set)
		weight := math.Gamma(float64(size+1)) * math.Gamma(float64(p-size)) / math.Gamma(float64(p+1))
		for _, root := range e.roots {
			phi += weight * (e.known(root, x, set|1<<j) - e.known(root, x, set))
		}
	}
	return phi
}

func TestContributionsMatchTheDefinitionOfShapleyValues(t *testing.T) {
	const p = 5
	data := withMissing(200, p, rand.New(rand.NewPCG(1, 1)))
	r, err := FitRegression(data, nil, Config{Rounds: 5, MaxDepth: 7}) // deeper than p, so that columns repeat
	require.NoError(t, err)
	phi := make([]float64, p)
	e := Explainer{forest: &r.forest, cover: r.covers()}
	for i := range 20 {
		r.Explain(data.Row(i), phi)
		for j := range p {
			require.InDelta(t, e.shapley(data.Row(i), j, p), phi[j], 1e-9)
		}
	}
}

func TestContributionsSumToThePrediction(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := 1 + rng.IntN(8)
		data := withMissing(20+rng.IntN(300), p, rng)
		cfg := Config{Rounds: 20, MaxDepth: 1 + rng.IntN(12), MinLeafRows: 1, Subsample: 0.8, Seed: seed}
		r, err := FitRegression(data, nil, cfg)
		require.NoError(t, err)
		q, err := FitQuantile(data, nil, 0.9, cfg)
		require.NoError(t, err)
		for i := range data.Y {
			data.Y[i] = float64(rng.IntN(3))
		}
		c, err := FitClassifier(data, nil, 3, cfg)
		require.NoError(t, err)
		phi, scores := make([]float64, p), make([]float64, 3)
		for i := range 10 {
			x := data.Row(i)
			require.InDelta(t, r.Predict(x), r.Explain(x, phi)+sum(phi), 1e-8)
			require.InDelta(t, q.Predict(x), q.Explain(x, phi)+sum(phi), 1e-8)
			c.Scores(x, scores)
			for class, score := range scores {
				require.InDelta(t, score, c.Explain(x, class, phi)+sum(phi), 1e-8)
			}
		}
	}
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// Without subsampling, every training row is in one leaf of every tree, and the covers are the weights of
// these rows. The expected score is therefore their weighted mean score.
func TestTheExpectedPredictionIsTheWeightedMeanOverTraining(t *testing.T) {
	data := withMissing(300, 4, rand.New(rand.NewPCG(5, 1)))
	r, err := FitRegression(data, nil, Config{})
	require.NoError(t, err)
	mean := weighted(data.W, func(i int) float64 { return r.Predict(data.Row(i)) })
	require.InDelta(t, mean, r.Explain(data.Row(0), make([]float64, 4)), 1e-9)
}
