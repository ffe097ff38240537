// Package packed encodes values as plain bytes. The garbage collector does not scan byte slices for pointers, so it
// delays predictions less with 100,000 packed tries in memory than with as many tries in maps.
package packed

import (
	"encoding/binary"
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// AppendText appends a length-prefixed string.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendNumber appends a float64 bit for bit.
func AppendNumber(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendInt appends a signed integer.
func AppendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// withText is the bit in the encoded kind that says that a text follows.
const withText = 1 << 7

// AppendFeatures appends features. It writes their number plus one first, or 0 for nil, so that
// unknown features differ from an empty set.
func AppendFeatures(b []byte, features sizing.Features) []byte {
	if features == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(features))+1)
	for name, v := range features {
		kind := byte(v.Kind)
		if v.Text != "" {
			kind |= withText
		}
		b = append(AppendText(b, name), kind)
		if v.Kind != sizing.Category {
			b = AppendNumber(b, v.Code())
		}
		if v.Text != "" {
			b = AppendText(b, v.Text)
		}
	}
	return b
}

// Reader is the unread rest of an encoded record. Its methods read values in the order in
// which they were appended.
type Reader []byte

// Byte reads one byte.
func (r *Reader) Byte() byte {
	b := (*r)[0]
	*r = (*r)[1:]
	return b
}

// Int reads a signed integer.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(*r)
	*r = (*r)[n:]
	return v
}

func (r *Reader) uint() uint64 {
	v, n := binary.Uvarint(*r)
	*r = (*r)[n:]
	return v
}

// Number reads a float64.
func (r *Reader) Number() float64 {
	v := binary.LittleEndian.Uint64(*r)
	*r = (*r)[8:]
	return math.Float64frombits(v)
}

// Text reads a string.
func (r *Reader) Text() string {
	n := r.uint()
	s := string((*r)[:n])
	*r = (*r)[n:]
	return s
}

// Features decodes the features at the start of r and leaves r unchanged. For an empty
// Reader it returns nil: unknown features.
func (r Reader) Features() sizing.Features {
	if len(r) == 0 {
		return nil
	}
	n := r.uint()
	if n == 0 {
		return nil
	}
	features := make(sizing.Features, n-1)
	for range n - 1 {
		name, kind := r.Text(), r.Byte()
		v := sizing.Value{Kind: sizing.ValueKind(kind &^ withText)}
		if v.Kind != sizing.Category {
			v = sizing.DecodeValue(v.Kind, r.Number())
		}
		if kind&withText != 0 {
			v.Text = r.Text()
		}
		features[name] = v
	}
	return features
}
