package linear

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// FormatVersion increases with any change to Ridge or to its bytes.
const FormatVersion = 1

// ErrFormat reports bytes that are not an intact Ridge of FormatVersion, or an invalid State. The remedy
// is to fit the regression again.
var ErrFormat = errors.New("linear: not an intact model")

const magic = "ridg"

// MarshalBinary writes, little-endian:
//
//	"ridg" version u16, 0 u16, p u32 · level f64 · p means f64 · p coefficients f64 · SHA-256
func (r *Ridge) MarshalBinary() ([]byte, error) {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint16(b, FormatVersion)
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.coef)))
	b = appendFloats(b, r.level)
	b = appendFloats(b, r.mean...)
	b = appendFloats(b, r.coef...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// UnmarshalBinary reads the output of MarshalBinary. It returns ErrFormat for anything
// else and then leaves r unchanged.
func (r *Ridge) UnmarshalBinary(b []byte) error {
	const head, tail = 4 + 2 + 2 + 4 + 8, sha256.Size
	if len(b) < head+tail || string(b[:4]) != magic {
		return fmt.Errorf("%w: wrong header", ErrFormat)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != FormatVersion {
		return fmt.Errorf("%w: version %d, not %d", ErrFormat, v, FormatVersion)
	}
	if b[6]|b[7] != 0 {
		return fmt.Errorf("%w: reserved bytes are not zero", ErrFormat)
	}
	body := b[:len(b)-tail]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], b[len(body):]) {
		return fmt.Errorf("%w: checksum does not match", ErrFormat)
	}
	p := int(binary.LittleEndian.Uint32(b[8:]))
	if len(body) != head+16*p {
		return fmt.Errorf("%w: %d bytes for %d columns", ErrFormat, len(b), p)
	}
	r.level = floats(b[12:], 1)[0]
	r.mean, r.coef = floats(b[head:], p), floats(b[head+8*p:], p)
	return nil
}

func appendFloats(b []byte, values ...float64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func floats(b []byte, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}
