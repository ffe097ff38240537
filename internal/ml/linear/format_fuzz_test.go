package linear_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/linear"
)

// Every accepted input decodes to a model that can predict and encodes to the same bytes.
func FuzzUnmarshal(f *testing.F) {
	r, err := linear.Fit(noisy(4, 60), linear.Config{})
	require.NoError(f, err)
	whole, err := r.MarshalBinary()
	require.NoError(f, err)
	body := whole[:len(whole)-sha256.Size]
	f.Add(body)
	f.Add(body[:len(body)-8])
	f.Add([]byte("ridg"))
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		sealed := append(body[:len(body):len(body)], sum[:]...)
		var back linear.Ridge
		if err := back.UnmarshalBinary(sealed); err != nil {
			require.ErrorIs(t, err, linear.ErrFormat)
			return
		}
		back.Predict(make([]float64, back.Cols()))
		again, err := back.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, sealed, again)
	})
}
