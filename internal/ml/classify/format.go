package classify

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/conformal"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/svm"
)

// FormatVersion increases with any change to the bytes that Encode writes.
const FormatVersion = 1

// ErrFormat reports a classifier that cannot be stored, or bytes that are not an intact
// classifier of this version. The remedy for such bytes is a new fit.
var ErrFormat = errors.New("classify: not a stored classifier")

const (
	magic      = "clsf"
	headerSize = 4 + 2 + 1 + 1
)

// Kinds of stored classifiers. Never reuse a number.
const (
	kindPrior = iota + 1
	kindTrees
	kindLevels
	kindMean
	kindSVM
)

// Encode encodes the classifier in format FormatVersion, for Decode:
//
//	"clsf" version u16, kind u8, 0 u8 · bytes of the kind · SHA-256
//
// It returns ErrFormat for a classifier that is only for evaluation, such as CART.
func Encode(c Classifier) ([]byte, error) {
	kind := byte(0)
	switch c.(type) {
	case frequencies:
		kind = kindPrior
	case *gbt.Classifier:
		kind = kindTrees
	case *Levels:
		kind = kindLevels
	case *mean:
		kind = kindMean
	case *svm.Classifier:
		kind = kindSVM
	default:
		return nil, fmt.Errorf("%w: %T is for evaluation only and cannot be stored", ErrFormat, c)
	}
	body, err := c.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint16([]byte(magic), FormatVersion)
	out = append(append(out, kind, 0), body...)
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

// Decode reads the output of Encode. It returns ErrFormat for anything else.
func Decode(data []byte) (Classifier, error) {
	if len(data) < headerSize+sha256.Size || string(data[:4]) != magic {
		return nil, fmt.Errorf("%w: no %q header", ErrFormat, magic)
	}
	if v := binary.LittleEndian.Uint16(data[4:]); v != FormatVersion {
		return nil, fmt.Errorf("%w: version %d, this program reads %d; train the model again", ErrFormat, v, FormatVersion)
	}
	body := data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); string(sum[:]) != string(data[len(body):]) {
		return nil, fmt.Errorf("%w: checksum does not match", ErrFormat)
	}
	if body[7] != 0 {
		return nil, fmt.Errorf("%w: reserved byte is not zero", ErrFormat)
	}
	r := &reader{rest: body[headerSize:]}
	c := r.classifier(body[6])
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d trailing bytes", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

func (f frequencies) MarshalBinary() ([]byte, error) { return appendFloats(nil, f), nil }

// MarshalBinary encodes the field near, the edges, the residuals by level and the two models.
func (l *Levels) MarshalBinary() ([]byte, error) {
	out := binary.LittleEndian.AppendUint32(nil, uint32(l.near))
	out = appendFloats(out, l.edges)
	levels, residuals, weights := l.residuals.Rows()
	out = appendFloats(appendFloats(appendFloats(out, levels), residuals), weights)
	for _, part := range []encoding.BinaryMarshaler{l.Ridge, l.Trees} {
		b, err := part.MarshalBinary()
		if err != nil {
			return nil, err
		}
		out = appendBytes(out, b)
	}
	return out, nil
}

func (m *mean) MarshalBinary() ([]byte, error) {
	var out []byte
	for _, c := range m.members {
		b, err := Encode(c)
		if err != nil {
			return nil, err
		}
		out = appendBytes(out, b)
	}
	return out, nil
}

func appendBytes(out, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
}

func appendFloats(out []byte, values []float64) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(len(values)))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// reader decodes a body. After the first error it has no more bytes, and Decode returns the error.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
	}
	r.rest = nil
}

func (r *reader) next(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail("truncated body: %d bytes expected, %d left", n, len(r.rest))
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) number() int {
	if b := r.next(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (r *reader) floats() []float64 {
	b := r.next(8 * r.number())
	out := make([]float64, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}

func (r *reader) part(into encoding.BinaryUnmarshaler, b []byte) {
	if r.err != nil {
		return
	}
	if err := into.UnmarshalBinary(b); err != nil {
		r.fail("%v", err)
	}
}

func (r *reader) classifier(kind byte) Classifier {
	switch kind {
	case kindPrior:
		return frequencies(r.floats())
	case kindTrees:
		c := &gbt.Classifier{}
		r.part(c, r.next(len(r.rest)))
		return c
	case kindLevels:
		return r.levels()
	case kindMean:
		return r.mean()
	case kindSVM:
		c := &svm.Classifier{}
		r.part(c, r.next(len(r.rest)))
		return c
	}
	r.fail("unknown kind %d", kind)
	return nil
}

func (r *reader) levels() *Levels {
	l := &Levels{Model: Model{Ridge: &linear.Ridge{}, Trees: &gbt.Regressor{}}}
	l.near, l.edges = r.number(), r.floats()
	levels, residuals, weights := r.floats(), r.floats(), r.floats()
	r.part(l.Ridge, r.next(r.number()))
	r.part(l.Trees, r.next(r.number()))
	byLevel, err := conformal.NewResiduals(levels, residuals, weights)
	if err != nil {
		r.fail("%v", err)
	}
	l.residuals = byLevel
	return l
}

func (r *reader) mean() Classifier {
	var members []Classifier
	for len(r.rest) > 0 {
		c, err := Decode(r.next(r.number()))
		if err != nil {
			r.fail("member %d: %v", len(members), err)
			return nil
		}
		members = append(members, c)
	}
	if len(members) == 0 {
		r.fail("an average without members")
		return nil
	}
	return Mean(members...)
}
