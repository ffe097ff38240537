package gbt

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// While boosting, a row's score moves by the leaf it was sorted into, or, if it
// was not drawn, by walking the tree. Both must be what is served afterwards.
func TestTheScoresOfBoostingAreThoseThatAreServed(t *testing.T) {
	data := speckled(200, 4, rand.New(rand.NewPCG(1, 1)))
	for i := range data.Y {
		data.Y[i] = float64(i % 3)
	}
	binned, err := NewBinned(data, 16) // quantile bins too
	require.NoError(t, err)
	for _, l := range []loss{squared{}, newQuantile(0.7), softmax{3}} {
		s := Sample{Binned: binned, Y: data.Y, W: data.W}
		b := booster{
			cfg:  Config{Subsample: 0.5, ColSample: 0.5}.withDefaults(),
			loss: l, data: binned, in: s.labels(l.outputs()),
		}
		for r := range data.Rows() {
			b.rows = append(b.rows, int32(r))
		}
		f := b.run()
		served := make([]float64, l.outputs())
		for i := range data.Rows() {
			f.score(data.Row(i), served)
			require.InDeltaSlice(t, served, b.in.score[i*len(served):(i+1)*len(served)], 1e-9)
		}
	}
}
