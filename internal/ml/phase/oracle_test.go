package phase

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tolerance is the largest accepted difference from numpy.
const tolerance = 1e-6

type weights struct {
	W           []float64 `json:"w"`
	A           []float64 `json:"a"`
	B           []float64 `json:"b"`
	VisibleBias []float64 `json:"visible_bias"`
	HiddenBias  []float64 `json:"hidden_bias"`
}

func TestUpdatesEqualNumpy(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/oracle/phase/crbm.json") // written by make.py in the same folder
	require.NoError(t, err)
	var oracle struct {
		Cases []struct {
			Visible, Delay, Hidden int
			Rate, Momentum         float64
			Start, End             weights
			Batches                []struct {
				Windows [][]float64
				Draws   []float64
			}
			Probe, Codes [][]float64
		}
	}
	require.NoError(t, json.Unmarshal(data, &oracle))
	require.Len(t, oracle.Cases, 3)
	for _, c := range oracle.Cases {
		m := &Machine{
			Visible: c.Visible, Delay: c.Delay, Hidden: c.Hidden,
			W: c.Start.W, A: c.Start.A, B: c.Start.B, VisibleBias: c.Start.VisibleBias, HiddenBias: c.Start.HiddenBias,
		}
		for _, b := range c.Batches {
			m.Update(b.Windows, b.Draws, c.Rate, c.Momentum)
		}
		end := &Machine{W: c.End.W, A: c.End.A, B: c.End.B, VisibleBias: c.End.VisibleBias, HiddenBias: c.End.HiddenBias}
		for p, want := range end.parameters() {
			assert.InDeltaSlice(t, want, m.parameters()[p], tolerance)
		}
		for i, window := range c.Probe {
			assert.InDeltaSlice(t, c.Codes[i], m.Encode(window), tolerance)
		}
	}
}

func TestTrainIsDeterministicAndRejectsInvalidWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	windows := make([][]float64, 100)
	for i := range windows {
		windows[i] = make([]float64, 8)
		for j := range windows[i] {
			windows[i][j] = rng.NormFloat64()
		}
	}
	first, err := Train(windows, 2, Training{Epochs: 5, Seed: 3})
	require.NoError(t, err)
	second, err := Train(windows, 2, Training{Epochs: 5, Seed: 3})
	require.NoError(t, err)
	assert.Equal(t, first, second)

	_, err = Train(windows, 3, Training{})
	require.ErrorIs(t, err, ErrShape)
	_, err = Train(nil, 2, Training{})
	require.ErrorIs(t, err, ErrShape)
}
