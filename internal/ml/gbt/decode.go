package gbt

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat reports bytes that are not an intact model of this kind and FormatVersion.
var ErrFormat = errors.New("gbt: not a stored model")

// UnmarshalBinary reads the output of MarshalBinary. It returns ErrFormat for anything else
// and then leaves r unchanged. It does not panic, and allocates at most a small multiple of
// len(data) plus 26 bytes for each of the at most 65,535 columns.
func (r *Regressor) UnmarshalBinary(data []byte) error {
	var decoded forest
	if err := decoded.replace(data, kindRegressor); err != nil {
		return err
	}
	r.forest, r.packed = decoded, decoded.pack()
	if r.packed == nil {
		return nil
	}
	r.forest = forest{cols: decoded.cols, intercept: decoded.intercept}
	if r.packed.cover16 == nil {
		r.cover, r.cover32 = decoded.cover, decoded.cover32
	}
	return nil
}

// UnmarshalBinary reads the output of MarshalBinary. It returns ErrFormat for anything else
// and then leaves c unchanged. It does not panic, and allocates at most a small multiple of
// len(data).
func (c *Classifier) UnmarshalBinary(data []byte) error { return c.replace(data, kindClassifier) }

func (f *forest) replace(data []byte, kind byte) error {
	body, err := verify(data)
	if err != nil {
		return err
	}
	decoded, err := decode(body, kind)
	if err != nil {
		return err
	}
	*f = *decoded
	return nil
}

func verify(data []byte) (body []byte, err error) {
	if len(data) < headerSize+sha256.Size || string(data[:4]) != magic {
		return nil, fmt.Errorf("%w: no %q header", ErrFormat, magic)
	}
	if v := binary.LittleEndian.Uint16(data[4:]); v != FormatVersion {
		return nil, fmt.Errorf("%w: version %d, this program reads %d; train the model again", ErrFormat, v, FormatVersion)
	}
	body = data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); string(sum[:]) != string(data[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum does not match; fetch or train it again", ErrFormat)
	}
	return body, nil
}

// decode decodes a body that verify has returned. It validates every value, because a checksum does not prevent deliberate
// changes.
func decode(body []byte, kind byte) (*forest, error) {
	if body[6] != kind || body[7] != 0 {
		return nil, fmt.Errorf("%w: kind %d and reserved byte %d, want %d and 0", ErrFormat, body[6], body[7], kind)
	}
	r := reader{rest: body[8:]}
	columns, outputs, trees := r.uint32(), r.uint32(), r.uint32()
	if columns > math.MaxUint16 || outputs < 1 || outputs > maxClasses || kind == kindRegressor && outputs > 1 || trees%outputs != 0 {
		return nil, fmt.Errorf("%w: its header has invalid numbers: %d columns, %d outputs, %d trees", ErrFormat, columns, outputs, trees)
	}
	f := &forest{cols: int(columns)}
	for range outputs {
		f.intercept = append(f.intercept, r.float())
	}
	for range trees {
		f.startTree()
		if !f.read(&r, f.roots[len(f.roots)-1], 0) {
			return nil, fmt.Errorf("%w: invalid tree %d", ErrFormat, len(f.roots)-1)
		}
	}
	if r.short || len(r.rest) > 0 || !f.finite() {
		return nil, fmt.Errorf("%w: truncated, trailing bytes, or a value that is not finite", ErrFormat)
	}
	f.trim()
	return f, nil
}

// read stores one encoded subtree at a node and reports whether it is valid.
func (f *forest) read(r *reader, at int32, depth uint8) bool {
	switch tag := r.byte(); {
	case r.short:
		return false
	case tag == tagLeaf:
		value, cover := r.float(), r.float()
		f.setLeaf(at, depth, value, cover)
		return cover > 0
	case tag == tagMissingRight || tag == tagMissingLeft:
		column, cut := int(r.uint16()), r.float()
		if column >= f.cols || math.IsNaN(cut) || math.IsInf(cut, -1) || depth == maxDepth {
			return false
		}
		child := f.addNodes(2)
		f.nodes[at] = newNode(cut, tag == tagMissingLeft, column, child)
		return f.read(r, child, depth+1) && f.read(r, child+1, depth+1)
	}
	return false
}

// reader reads values from the front of r.rest. Beyond the end it returns zeros and sets r.short.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) next(n int) []byte {
	if len(r.rest) < n {
		r.rest, r.short = nil, true
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte     { return r.next(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.next(2)) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.next(4)) }
func (r *reader) float() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r.next(8))) }
