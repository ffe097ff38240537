package classify_test

import (
	"testing"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/classify/classifytest"
)

var edges = []float64{1, 2, 3, 9}

func BenchmarkRegressionFit(b *testing.B) {
	rows := classifytest.Learnable(1460, 1)
	for b.Loop() {
		if _, err := (classify.Regression{}).FitLevels(rows, edges, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRegressionProbabilities(b *testing.B) {
	rows := classifytest.Learnable(1460, 1)
	c, err := classify.Regression{}.FitLevels(rows, edges, 1)
	if err != nil {
		b.Fatal(err)
	}
	p := make([]float64, len(edges))
	for i := 0; b.Loop(); i++ {
		c.Probabilities(rows.Row(i%rows.Rows()), p)
	}
}
