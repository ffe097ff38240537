package svm

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

func stored(t testing.TB) (*Classifier, []byte) {
	rows, signs, _ := problem(12, 1, 11)
	data := &table.Table{Names: make([]string, 3), X: rows.z}
	for i, sign := range signs {
		data.Y = append(data.Y, (sign+1)/2+2*float64(i%3/2))
	}
	c, err := Fit(data, 4, Config{}, 1)
	require.NoError(t, err)
	out, err := c.MarshalBinary()
	require.NoError(t, err)
	return c, out
}

func TestRoundTripIsTheIdentity(t *testing.T) {
	c, data := stored(t)
	var d Classifier
	require.NoError(t, d.UnmarshalBinary(data))
	require.Equal(t, c.model, d.model)
}

func TestEveryFlippedByteAndTruncationIsRejected(t *testing.T) {
	_, data := stored(t)
	var c Classifier
	for i := range data {
		flipped := append([]byte(nil), data...)
		flipped[i] ^= 0x10
		require.ErrorIs(t, c.UnmarshalBinary(flipped), ErrFormat, "byte %d", i)
		require.ErrorIs(t, c.UnmarshalBinary(data[:i]), ErrFormat, "first %d bytes", i)
	}
	require.ErrorIs(t, c.UnmarshalBinary(append(data, 0)), ErrFormat)
	require.Nil(t, c.model, "a rejected model does not change the receiver")
}

// seal adds a valid checksum to a forged body, so that verify accepts it.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(append([]byte(nil), body...), sum[:]...)
}

func TestAForgeryWithAValidChecksumIsRejected(t *testing.T) {
	c, data := stored(t)
	body := data[:len(data)-sha256.Size]
	number := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	float := func(at int, v float64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], math.Float64bits(v)); return b }
	}
	const gamma, columns = 28, headerSize
	classes := columns + columnSize*len(c.scale.used)
	boundaries := classes + classSize*len(c.classes)
	vectors := boundaries + boundarySize*len(c.boundaries)
	for claim, forge := range map[string]func(b []byte) []byte{
		"another version":            func(b []byte) []byte { b[4] = 9; return b },
		"a reserved byte is set":     func(b []byte) []byte { b[6] = 1; return b },
		"no bins":                    number(12, 0),
		"too many bins":              number(12, maxBins+1),
		"a column number too high":   number(8, 2),
		"too many used columns":      number(16, math.MaxUint32),
		"no classes":                 number(20, 0),
		"more classes than bins":     number(20, 5),
		"too many vectors":           number(24, math.MaxUint32),
		"one vector fewer":           number(24, uint32(c.Vectors()-1)),
		"a γ of zero":                float(gamma, 0),
		"a γ of NaN":                 float(gamma, math.NaN()),
		"a uniform share over 1":     float(gamma+8, 1.5),
		"the same column twice":      number(columns+columnSize, 0),
		"an infinite mean":           float(columns+4, math.Inf(1)),
		"a deviation of zero":        float(columns+12, 0),
		"the same bin twice":         number(classes+classSize, c.classes[0].bin),
		"an unknown bin":             number(classes+2*classSize, 4),
		"a wrong number of vectors":  number(classes+4, c.classes[0].vectors+1),
		"a bias of NaN":              float(boundaries, math.NaN()),
		"an infinite slope":          float(boundaries+8, math.Inf(-1)),
		"a vector out of range":      float(vectors, 2*maxStandardised),
		"a coefficient out of range": float(len(body)-8, 2*maxPenalty),
		"trailing bytes":             func(b []byte) []byte { return append(b, 0) },
		"a truncated vector":         func(b []byte) []byte { return b[:len(b)-1] },
		"only the header":            func(b []byte) []byte { return b[:headerSize] },
	} {
		t.Run(claim, func(t *testing.T) {
			var c Classifier
			require.ErrorIs(t, c.UnmarshalBinary(seal(forge(append([]byte(nil), body...)))), ErrFormat)
		})
	}
}

// Every accepted input decodes to a model that can predict and that encodes to the same bytes.
func FuzzUnmarshal(f *testing.F) {
	_, data := stored(f)
	f.Add(data[:len(data)-sha256.Size])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, body []byte) {
		var c Classifier
		sealed := seal(body)
		if c.UnmarshalBinary(sealed) != nil || c.Cols() > 1e6 {
			return
		}
		again, err := c.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, sealed, again)
		x, p := make([]float64, c.Cols()), make([]float64, c.Bins())
		for _, v := range []float64{0, math.NaN(), math.Inf(1), 1e300, -1e300} {
			for j := range x {
				x[j] = v
			}
			c.Probabilities(x, p)
			sum := 0.0
			for _, v := range p {
				require.True(t, v >= 0 && v <= 1, "%v", p)
				sum += v
			}
			require.InDelta(t, 1, sum, 1e-9)
		}
	})
}
