package gbt

import (
	"crypto/sha256"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

func encodedClassifier(t testing.TB) (*Classifier, []byte) {
	data := &table.Table{Names: []string{"a", "b"}}
	for i := range 60 {
		a, b := float64(i%7), float64(i%5)
		if i%6 == 0 {
			a = math.NaN()
		}
		data.X, data.Y = append(data.X, a, b), append(data.Y, float64(i%3))
	}
	c, err := FitClassifier(data, nil, 3, Config{Rounds: 3})
	require.NoError(t, err)
	out, err := c.MarshalBinary()
	require.NoError(t, err)
	return c, out
}

func TestRoundTripIsTheIdentity(t *testing.T) {
	c, data := encodedClassifier(t)
	var d Classifier
	require.NoError(t, d.UnmarshalBinary(data))
	assert.Equal(t, c.leafCovers(), d.leafCovers())
	again, err := d.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, data, again)
	c.shrinkCovers()
	assert.Equal(t, c, &d)
}

func TestFlippedAndTruncatedBytesAreRejected(t *testing.T) {
	_, data := encodedClassifier(t)
	var c Classifier
	for i := range data {
		flipped := append([]byte(nil), data...)
		flipped[i] ^= 0x10
		require.ErrorIs(t, c.UnmarshalBinary(flipped), ErrFormat, "byte %d", i)
		require.ErrorIs(t, c.UnmarshalBinary(data[:i]), ErrFormat, "first %d bytes", i)
	}
	require.ErrorIs(t, c.UnmarshalBinary(append(data, 0)), ErrFormat)
	require.Zero(t, c.Cols(), "a rejected model does not change the receiver")
}

// seal appends a valid checksum, so that decoding reaches the later checks.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(append([]byte(nil), body...), sum[:]...)
}

func TestAForgeryWithAValidChecksumIsRejected(t *testing.T) {
	_, data := encodedClassifier(t)
	body := data[:len(data)-sha256.Size]
	const firstTree = headerSize + 3*8
	for claim, forge := range map[string]func(b []byte) []byte{
		"another version":       func(b []byte) []byte { b[4] = 9; return b },
		"another kind":          func(b []byte) []byte { b[6] = kindRegressor; return b },
		"no outputs":            func(b []byte) []byte { b[12] = 0; return b },
		"an incomplete round":   func(b []byte) []byte { b[16]++; return b },
		"missing trees":         func(b []byte) []byte { b[19] = 0xf0; return b },
		"an unknown column":     func(b []byte) []byte { b[firstTree+1] = 2; return b },
		"an unknown tag":        func(b []byte) []byte { b[firstTree] = 3; return b },
		"a cut of NaN":          func(b []byte) []byte { copy(b[firstTree+3:], appendFloat(nil, math.NaN())); return b },
		"an infinite intercept": func(b []byte) []byte { copy(b[headerSize:], appendFloat(nil, math.Inf(1))); return b },
		"trailing bytes":        func(b []byte) []byte { return append(b, 0) },
		"a truncated tree":      func(b []byte) []byte { return b[:len(b)-1] },
	} {
		t.Run(claim, func(t *testing.T) {
			var c Classifier
			require.ErrorIs(t, c.UnmarshalBinary(seal(forge(append([]byte(nil), body...)))), ErrFormat)
		})
	}
}

// If every split of a tree has a leaf on the right, the depth of the tree is the number of its splits.
func TestATooDeepTreeIsRejected(t *testing.T) {
	_, data := encodedClassifier(t)
	chain := func(splits int) []byte {
		body := append([]byte(nil), data[:headerSize]...)
		body[12], body[16] = 1, 1 // one output, one tree
		body = appendFloat(body, 0)
		for range splits {
			body = appendFloat(append(body, tagMissingLeft, 0, 0), 1)
		}
		for range splits + 1 {
			body = appendFloat(appendFloat(append(body, tagLeaf), 2), 1)
		}
		return seal(body)
	}
	var c Classifier
	require.NoError(t, c.UnmarshalBinary(chain(maxDepth)))
	require.ErrorIs(t, c.UnmarshalBinary(chain(maxDepth+1)), ErrFormat)
}

// Every accepted input decodes to a model that can predict and explain, and that encodes to the
// same bytes.
func FuzzUnmarshal(f *testing.F) {
	_, data := encodedClassifier(f)
	f.Add(data[:len(data)-sha256.Size])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, body []byte) {
		var c Classifier
		sealed := seal(body)
		if c.UnmarshalBinary(sealed) != nil {
			return
		}
		again, err := c.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, sealed, again)
		x, p := make([]float64, c.Cols()), make([]float64, c.Bins())
		for _, v := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)} {
			for j := range x {
				x[j] = v
			}
			c.Probabilities(x, p)
			c.Explain(x, 0, make([]float64, c.Cols()))
		}
	})
}
