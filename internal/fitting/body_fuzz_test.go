package fitting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
)

// FuzzBody checks that Open decodes or rejects any body with a valid checksum. It does not ask
// the model, because only Blob writes bodies.
func FuzzBody(f *testing.F) {
	for _, n := range []int{1, 4} {
		k := newTask(&testing.T{})
		rng := newRand(uint64(n))
		for range n {
			features, gibs := kinds(rng)
			k.reportSuccess(features, gibs)
		}
		blob, err := k.model.Blob()
		require.NoError(f, err)
		f.Add(blob[len(withHeader(nil)):])
	}
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := fitting.Open(withHeader(body)); err != nil {
			require.ErrorIs(t, err, fitting.ErrFormat)
		}
	})
}
