package gbt

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// FormatVersion moves with any change to the bytes below, to node or to the
// meaning of a cut.
const FormatVersion = 1

// A stored forest, little endian:
//
//	"gbtf" version u16, kind u8, 0 u8, columns, outputs, trees, nodes, leaves u32
//	intercepts f64 · roots i32 · nodes (cut f64, left i32, right i32, feature u16,
//	missing-left u8) · node covers f64 · leaves f64 · leaf covers f64 · SHA-256
const (
	magic      = "gbtf"
	headerSize = 8 + 5*4
	nodeSize   = 8 + 4 + 4 + 2 + 1

	kindRegressor  = 1
	kindClassifier = 2
)

// MarshalBinary is the model in format FormatVersion. It never fails; the same
// model gives the same bytes.
func (r *Regressor) MarshalBinary() ([]byte, error) { return r.encode(kindRegressor), nil }

// MarshalBinary is the model in format FormatVersion. It never fails; the same
// model gives the same bytes.
func (c *Classifier) MarshalBinary() ([]byte, error) { return c.encode(kindClassifier), nil }

// size is the number of bytes of a stored forest. uint64 holds it for any header.
func size(outputs, trees, nodes, leaves uint64) uint64 {
	return headerSize + outputs*8 + trees*4 + nodes*(nodeSize+8) + leaves*16 + sha256.Size
}

func (f *forest) encode(kind byte) []byte {
	outputs, trees, nodes, leaves := len(f.intercept), len(f.roots), len(f.nodes), len(f.leaves)
	out := make([]byte, 0, size(uint64(outputs), uint64(trees), uint64(nodes), uint64(leaves)))
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint16(out, FormatVersion)
	out = append(out, kind, 0)
	for _, n := range []int{f.cols, outputs, trees, nodes, leaves} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = appendFloats(out, f.intercept)
	for _, r := range f.roots {
		out = binary.LittleEndian.AppendUint32(out, uint32(r))
	}
	for _, n := range f.nodes {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(n.cut))
		out = binary.LittleEndian.AppendUint32(out, uint32(n.left))
		out = binary.LittleEndian.AppendUint32(out, uint32(n.right))
		out = binary.LittleEndian.AppendUint16(out, n.feature)
		missing := byte(0)
		if n.missingLeft {
			missing = 1
		}
		out = append(out, missing)
	}
	out = appendFloats(out, f.nodeCover)
	out = appendFloats(out, f.leaves)
	out = appendFloats(out, f.leafCover)
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

func appendFloats(out []byte, values []float64) []byte {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}
