package svm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/svm"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// wave returns n rows of p normal columns. The bin depends on the first three columns, with noise.
func wave(n, p, bins int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &table.Table{Names: make([]string, p)}
	for range n {
		x := make([]float64, p)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		y := 2*x[0] + x[1]*x[2%p] + 0.5*rng.NormFloat64()
		t.X, t.Y = append(t.X, x...), append(t.Y, min(float64(bins-1), math.Floor(float64(bins)/(1+math.Exp(-y)))))
	}
	return t
}

func benchmarkFit(b *testing.B, n int, cfg svm.Config) {
	t := wave(n, 30, 3, 1)
	for b.Loop() {
		if _, err := svm.Fit(t, 3, cfg, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFit1460x30(b *testing.B)    { benchmarkFit(b, 1460, svm.Config{}) }
func BenchmarkFitC10(b *testing.B)        { benchmarkFit(b, 1460, svm.Config{C: 10}) }
func BenchmarkFitC1000(b *testing.B)      { benchmarkFit(b, 1460, svm.Config{C: 1000}) }
func BenchmarkFitGammaTenth(b *testing.B) { benchmarkFit(b, 1460, svm.Config{Gamma: 1. / 300}) }
func BenchmarkFit6000x30(b *testing.B)    { benchmarkFit(b, 6000, svm.Config{}) }

func BenchmarkProbabilities(b *testing.B) {
	t := wave(1460, 30, 3, 1)
	c, err := svm.Fit(t, 3, svm.Config{}, 1)
	require.NoError(b, err)
	p := make([]float64, 3)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Probabilities(t.Row(i%1460), p)
	}
	b.ReportMetric(float64(c.Vectors()), "vectors")
}
