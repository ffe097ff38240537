package experiment_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
)

// wide returns a history of 1,460 runs with ten numbers as features. Three of the numbers and noise determine the
// peak, which is below the request of 350 GB.
func wide() string {
	rng := rand.New(rand.NewPCG(9, 0))
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,duration_s,memory_requested_bytes,memory_max_bytes")
	for j := range 10 {
		fmt.Fprintf(&text, ",feature.f%d", j)
	}
	for i := range 1460 {
		var x [10]float64
		for j := range x {
			x[j] = rng.Float64()
		}
		peak := 1e9 * math.Exp(4*x[0]*x[1]+x[2]+0.2*rng.NormFloat64())
		fmt.Fprintf(&text, "\nd,a,r%d,60,350e9,%.0f", i, peak)
		for _, v := range x {
			fmt.Fprintf(&text, ",%.4f", v)
		}
	}
	return text.String()
}

// The search has 30 trials on 3 folds of the training rows, which are about 1,022 of the 1,460 rows.
func BenchmarkSearch30Trials3Folds(b *testing.B) {
	for _, family := range []string{"softmax-trees", "regression", "svm"} {
		b.Run(family, func(b *testing.B) {
			p := plan(b, wide(), experiment.Config{
				Families: []string{family}, BinsGB: map[string][][]float64{"a": {{5, 20, 60, 350}}}, Seeds: 1, Trials: 30,
			})
			for b.Loop() {
				_, err := p.Run(b.Context(), nil)
				require.NoError(b, err)
			}
		})
	}
}
