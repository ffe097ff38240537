package gbt

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Boosting updates the score of a sampled row from the leaf that lists it, and finds the leaf of every other row by the
// splits. Both scores must equal the predictions of the finished forest.
func TestTrainingScoresEqualPredictions(t *testing.T) {
	data := withMissing(200, 4, rand.New(rand.NewPCG(1, 1)))
	for i := range data.Y {
		data.Y[i] = float64(i % 3)
	}
	binned, err := NewBinned(data, 16) // the columns have more distinct values than bins, so that the cuts are quantiles
	require.NoError(t, err)
	for _, l := range []loss{squaredLoss{}, newQuantile(0.7), softmax{3}} {
		s := Sample{Binned: binned, Y: data.Y, W: data.W}
		b := booster{
			cfg:  Config{Subsample: 0.5, ColSample: 0.5}.withDefaults(),
			loss: l, data: binned, labels: s.labels(l.outputs()),
		}
		for r := range data.Rows() {
			b.rows = append(b.rows, int32(r))
		}
		f := b.run()
		predicted := make([]float64, l.outputs())
		for i := range data.Rows() {
			f.score(data.Row(i), predicted)
			require.InDeltaSlice(t, predicted, b.labels.score[i*len(predicted):(i+1)*len(predicted)], 1e-9)
		}
	}
}
