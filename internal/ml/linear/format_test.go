package linear_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/linear"
)

func TestRoundTripIsBitExact(t *testing.T) {
	tab := noisy(4, 60)
	r, err := linear.Fit(tab, linear.Config{})
	require.NoError(t, err)
	b, err := r.MarshalBinary()
	require.NoError(t, err)
	var back linear.Ridge
	require.NoError(t, back.UnmarshalBinary(b))
	assert.Equal(t, r, &back)
}

func TestDamagedBytesAreRejectedAndKeepTheModel(t *testing.T) {
	tab := noisy(5, 60)
	r, err := linear.Fit(tab, linear.Config{})
	require.NoError(t, err)
	b, err := r.MarshalBinary()
	require.NoError(t, err)
	before := r.Predict(tab.Row(0))
	for i := range b {
		b[i] ^= 1
		assert.ErrorIs(t, r.UnmarshalBinary(b), linear.ErrFormat, "byte %d", i)
		b[i] ^= 1
		assert.ErrorIs(t, r.UnmarshalBinary(b[:i]), linear.ErrFormat, "cut at %d", i)
	}
	assert.ErrorIs(t, r.UnmarshalBinary(append(b, 0)), linear.ErrFormat, "one byte more")
	assert.Equal(t, before, r.Predict(tab.Row(0)))
}
