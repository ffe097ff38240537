package gbt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// synthetic returns n rows of p normal columns. The target depends on the first three
// columns, with noise. If `classes` is above 0, the target is a class from 0 to classes − 1.
func synthetic(n, p, classes int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &table.Table{Names: make([]string, p)}
	for range n {
		x := make([]float64, p)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		y := 2*x[0] + x[1]*x[2%p] + 0.5*rng.NormFloat64()
		if classes > 0 {
			y = min(float64(classes-1), math.Floor(float64(classes)/(1+math.Exp(-y))))
		}
		t.X, t.Y = append(t.X, x...), append(t.Y, y)
	}
	return t
}

func BenchmarkBinning(b *testing.B) {
	t := synthetic(1460, 30, 0, 1)
	for b.Loop() {
		_, _ = gbt.NewBinned(t, 0)
	}
}

// The classifier has 100 rounds × 4 classes.
func BenchmarkFitClassifier1460x30(b *testing.B) {
	t := synthetic(1460, 30, 4, 1)
	for b.Loop() {
		_, _ = gbt.FitClassifier(t, nil, 4, gbt.Config{})
	}
}

func BenchmarkFitRegression1460x30(b *testing.B) {
	t := synthetic(1460, 30, 0, 1)
	for b.Loop() {
		_, _ = gbt.FitRegression(t, nil, gbt.Config{})
	}
}

func BenchmarkFitQuantile1460x30(b *testing.B) {
	t := synthetic(1460, 30, 0, 1)
	for b.Loop() {
		_, _ = gbt.FitQuantile(t, nil, 0.95, gbt.Config{})
	}
}

func BenchmarkFitClassifier34000x30(b *testing.B) {
	t := synthetic(34000, 30, 4, 1)
	for b.Loop() {
		_, _ = gbt.FitClassifier(t, nil, 4, gbt.Config{})
	}
}

// The classifier has 400 trees.
func BenchmarkProbabilities(b *testing.B) {
	t := synthetic(1460, 30, 4, 1)
	c, err := gbt.FitClassifier(t, nil, 4, gbt.Config{})
	require.NoError(b, err)
	p := make([]float64, 4)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Probabilities(t.Row(i%1460), p)
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.Trees()), "ns/tree")
}

func BenchmarkPredict(b *testing.B) {
	t := synthetic(1460, 30, 0, 1)
	r, err := gbt.FitRegression(t, nil, gbt.Config{})
	require.NoError(b, err)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.Predict(t.Row(i % 1460))
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(r.Trees()), "ns/tree")
}

// The classifier has 400 trees, and all classes are explained.
func BenchmarkExplain(b *testing.B) {
	t := synthetic(1460, 30, 4, 1)
	c, err := gbt.FitClassifier(t, nil, 4, gbt.Config{})
	require.NoError(b, err)
	phi := make([]float64, 30)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		for class := range 4 {
			c.Explain(t.Row(i%1460), class, phi)
		}
		i++
	}
}
