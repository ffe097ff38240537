package gbt

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat reports bytes that are not a model of this kind and FormatVersion, or
// no longer one: cut short, flipped, or pointing outside themselves.
var ErrFormat = errors.New("gbt: not a stored model")

// UnmarshalBinary reads what MarshalBinary wrote. Errors: ErrFormat; r is then as
// it was. It never panics and allocates no more than a small multiple of data.
func (r *Regressor) UnmarshalBinary(data []byte) error { return r.replace(data, kindRegressor) }

// UnmarshalBinary reads what MarshalBinary wrote. Errors: ErrFormat; c is then as
// it was. It never panics and allocates no more than a small multiple of data.
func (c *Classifier) UnmarshalBinary(data []byte) error { return c.replace(data, kindClassifier) }

func (f *forest) replace(data []byte, kind byte) error {
	decoded, err := decode(data, kind)
	if err != nil {
		return err
	}
	*f = *decoded
	return nil
}

func decode(data []byte, kind byte) (*forest, error) {
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
	if body[6] != kind || body[7] != 0 {
		return nil, fmt.Errorf("%w: kind %d, want %d", ErrFormat, body[6], kind)
	}
	f, err := read(body)
	if err != nil {
		return nil, err
	}
	if kind == kindRegressor && f.outputs() != 1 {
		return nil, fmt.Errorf("%w: a regressor with %d outputs", ErrFormat, f.outputs())
	}
	return f, f.validate()
}

// read takes the arrays apart. The lengths must add up to len(body) before
// anything is allocated.
func read(body []byte) (*forest, error) {
	var n [5]uint64 // columns, outputs, trees, nodes, leaves
	for i := range n {
		n[i] = uint64(binary.LittleEndian.Uint32(body[8+4*i:]))
	}
	if size(n[1], n[2], n[3], n[4]) != uint64(len(body)+sha256.Size) {
		return nil, fmt.Errorf("%w: lengths do not add up", ErrFormat)
	}
	c := cursor(body[headerSize:])
	f := &forest{cols: int(n[0]), intercept: c.floats(n[1])}
	f.roots = make([]int32, n[2])
	for i := range f.roots {
		f.roots[i] = c.int32()
	}
	f.nodes = make([]node, n[3])
	for i := range f.nodes {
		f.nodes[i] = node{cut: c.float(), left: c.int32(), right: c.int32(), feature: c.uint16(), missingLeft: c.byte() == 1}
	}
	f.nodeCover, f.leaves, f.leafCover = c.floats(n[3]), c.floats(n[4]), c.floats(n[4])
	return f, nil
}

// cursor is the bytes not yet read; read has made sure that there are enough.
type cursor []byte

func (c *cursor) next(n int) []byte {
	b := (*c)[:n]
	*c = (*c)[n:]
	return b
}

func (c *cursor) byte() byte     { return c.next(1)[0] }
func (c *cursor) uint16() uint16 { return binary.LittleEndian.Uint16(c.next(2)) }
func (c *cursor) int32() int32   { return int32(binary.LittleEndian.Uint32(c.next(4))) }
func (c *cursor) float() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(c.next(8))) }

func (c *cursor) floats(n uint64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = c.float()
	}
	return out
}

// validate holds what walking and explaining rely on: every node and leaf hangs
// in exactly one tree, below its parent, no deeper than deepest; columns exist;
// values are finite; whole rounds.
func (f *forest) validate() error {
	if f.outputs() == 0 || len(f.roots)%f.outputs() != 0 || f.cols > math.MaxUint16 || !f.finite() {
		return fmt.Errorf("%w: %d outputs, %d trees, %d columns, or a value that is not finite", ErrFormat, f.outputs(), len(f.roots), f.cols)
	}
	v := validator{forest: f, node: make([]bool, len(f.nodes)), leaf: make([]bool, len(f.leaves))}
	for _, root := range f.roots {
		if !v.tree(root, -1, 0) {
			return fmt.Errorf("%w: broken tree", ErrFormat)
		}
	}
	if v.seen != len(f.nodes)+len(f.leaves) {
		return fmt.Errorf("%w: nodes outside any tree", ErrFormat)
	}
	return nil
}

type validator struct {
	forest     *forest
	node, leaf []bool
	seen       int
}

// tree checks the subtree at a node; deepest bounds the recursion.
func (v *validator) tree(at, parent int32, depth int) bool {
	v.seen++
	if at < 0 {
		i := int(^at)
		return i < len(v.leaf) && first(v.leaf, i) && v.forest.leafCover[i] >= 0
	}
	i := int(at)
	if at <= parent || i >= len(v.node) || !first(v.node, i) || depth >= deepest {
		return false
	}
	n := v.forest.nodes[i]
	return int(n.feature) < v.forest.cols && !math.IsNaN(n.cut) && v.forest.nodeCover[i] > 0 &&
		v.tree(n.left, at, depth+1) && v.tree(n.right, at, depth+1)
}

// first marks i as seen and reports whether it was new.
func first(seen []bool, i int) bool {
	was := seen[i]
	seen[i] = true
	return !was
}
