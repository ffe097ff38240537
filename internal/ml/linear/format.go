package linear

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// FormatVersion moves with any change to Ridge or to its bytes.
const FormatVersion = 1

// ErrFormat reports bytes that are not an intact Ridge of this version. The
// remedy is to fit again.
var ErrFormat = errors.New("linear: not an intact model")

var magic = []byte("LARIDGE\x00")

// MarshalBinary writes, little-endian:
//
//	magic 8 · version u16 · p u32 · level f64 · p means f64 · p coefficients f64 · CRC-32 (IEEE) of all before
func (r *Ridge) MarshalBinary() ([]byte, error) {
	b := append([]byte(nil), magic...)
	b = binary.LittleEndian.AppendUint16(b, FormatVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.coef)))
	b = appendFloats(b, r.level)
	b = appendFloats(b, r.mean...)
	b = appendFloats(b, r.coef...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// UnmarshalBinary reads what MarshalBinary wrote. ErrFormat for anything else: r
// is then left as it was.
func (r *Ridge) UnmarshalBinary(b []byte) error {
	const head, tail = 8 + 2 + 4 + 8, 4
	if len(b) < head+tail || !bytes.Equal(b[:8], magic) {
		return fmt.Errorf("%w: no such header", ErrFormat)
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != FormatVersion {
		return fmt.Errorf("%w: version %d, not %d", ErrFormat, v, FormatVersion)
	}
	body := b[:len(b)-tail]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[len(body):]) {
		return fmt.Errorf("%w: checksum", ErrFormat)
	}
	p := int(binary.LittleEndian.Uint32(b[10:]))
	if len(body) != head+16*p {
		return fmt.Errorf("%w: %d bytes for %d columns", ErrFormat, len(b), p)
	}
	r.level = floats(b[14:], 1)[0]
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
