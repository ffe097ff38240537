package gbt

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// FormatVersion increases with any change to the format below or to the meaning of a cut.
const FormatVersion = 1

// Format of a stored forest, little endian. Trees are in pre-order, left before right, so
// the format contains no references:
//
//	"gbtf", version u16, kind u8, 0 u8, columns u32, outputs u32, trees u32
//	an intercept f64 per output
//	a split: 1 or 2, column u16, cut f64, left tree, right tree   1: NaN goes right, 2: left
//	a leaf:  0, value f64, cover f64
//	SHA-256 of all bytes before
const (
	magic      = "gbtf"
	headerSize = 4 + 2 + 2 + 3*4
	leafSize   = 1 + 8 + 8
	splitSize  = 1 + 2 + 8

	kindRegressor  = 1
	kindClassifier = 2

	tagLeaf         = 0
	tagMissingRight = 1
	tagMissingLeft  = 2
)

// MarshalBinary encodes the model in format FormatVersion. It never fails, and the same model
// gives the same bytes.
func (r *Regressor) MarshalBinary() ([]byte, error) { return r.full().encode(kindRegressor), nil }

// MarshalBinary encodes the model in format FormatVersion. It never fails, and the same model
// gives the same bytes.
func (c *Classifier) MarshalBinary() ([]byte, error) { return c.encode(kindClassifier), nil }

func (f *forest) encode(kind byte) []byte {
	leaves := (len(f.nodes) + len(f.roots)) / 2 // a tree has one more leaf than splits
	size := headerSize + 8*f.outputs() + leaves*leafSize + (len(f.nodes)-leaves)*splitSize + sha256.Size
	out := append(make([]byte, 0, size), magic...)
	out = binary.LittleEndian.AppendUint16(out, FormatVersion)
	out = append(out, kind, 0)
	for _, n := range []int{f.cols, f.outputs(), len(f.roots)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	for _, v := range f.intercept {
		out = appendFloat(out, v)
	}
	cover := f.leafCovers()
	for _, root := range f.roots {
		out = f.appendTree(out, root, &cover)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// appendTree appends the subtree at a node, and removes the covers of the leaves of this subtree from the front
// of cover.
func (f *forest) appendTree(out []byte, at int32, cover *[]float64) []byte {
	n := f.nodes[at]
	if f.isLeaf(at) {
		out = append(out, tagLeaf)
		out = appendFloat(out, n.cut)
		out = appendFloat(out, (*cover)[0])
		*cover = (*cover)[1:]
		return out
	}
	tag := byte(tagMissingRight)
	if n.missing == 0 {
		tag = tagMissingLeft
	}
	out = append(out, tag)
	out = binary.LittleEndian.AppendUint16(out, n.feature)
	out = appendFloat(out, n.splitCut())
	out = f.appendTree(out, n.child, cover)
	return f.appendTree(out, n.child+1, cover)
}

func appendFloat(out []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
}
