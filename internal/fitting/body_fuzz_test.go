package fitting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
)

// A checksum tells of damage, not of sense: a body under a good one is opened or
// refused in words. Whether it then answers is not asked: only Blob writes bodies.
func FuzzBody(f *testing.F) {
	for _, n := range []int{1, 4} {
		k := newTask(&testing.T{})
		rng := newRand(uint64(n))
		for range n {
			features, gibs := kinds(rng)
			k.success(features, gibs)
		}
		blob, err := k.model.Blob()
		require.NoError(f, err)
		f.Add(blob[len(sealed(nil)):])
	}
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := fitting.Open(sealed(body)); err != nil {
			require.ErrorIs(t, err, fitting.ErrFormat)
		}
	})
}
