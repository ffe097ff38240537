package classify_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
)

func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(body[:len(body):len(body)], sum[:]...)
}

func TestDecodeRejectsANonzeroReservedByte(t *testing.T) {
	prior := []byte{'c', 'l', 's', 'f', classify.FormatVersion, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f}
	_, err := classify.Decode(sealed(prior))
	require.NoError(t, err)
	prior[7] = 1
	_, err = classify.Decode(sealed(prior))
	require.ErrorIs(t, err, classify.ErrFormat)
}

// Every accepted input can be encoded and decoded again. The test adds a valid checksum to
// the bodies of the fuzzer, because Decode would otherwise reject all of them.
func FuzzDecode(f *testing.F) {
	head := []byte{'c', 'l', 's', 'f', classify.FormatVersion, 0}
	for kind := range byte(7) {
		f.Add(append(head[:6:6], kind, 0))
		f.Add(append(head[:6:6], kind, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f))
		f.Add(append(head[:6:6], kind, 0, 0xff, 0xff, 0xff, 0xff))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := classify.Decode(sealed(body))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := classify.Encode(c)
		require.NoError(t, err)
		back, err := classify.Decode(again)
		require.NoError(t, err)
		require.Equal(t, c.Bins(), back.Bins())
	})
}
