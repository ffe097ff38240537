package svm

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// FormatVersion increases with any change to the layout below or to its meaning.
const FormatVersion = 1

// This is the layout of a stored classifier, little endian:
//
//	"svmf", version u16, 0 u16, columns u32, bins u32, used u32, classes u32, vectors u32
//	γ f64, uniformShare f64 (the part of the probability that is divided equally among all bins)
//	by used column: number u32, mean f64, deviation f64
//	by class:       bin u32, vectors u32
//	by pair:        bias f64, slope f64, level f64
//	by vector:      as many standardised values f64 as used, as many coefficients f64 as classes − 1
//	SHA-256 of all bytes before it
const (
	magic        = "svmf"
	headerSize   = 4 + 2 + 2 + 5*4 + 2*8
	columnSize   = 4 + 8 + 8
	classSize    = 4 + 4
	boundarySize = 3 * 8
)

// MarshalBinary encodes the model in format FormatVersion. It never fails; the same model
// gives the same bytes.
func (c *Classifier) MarshalBinary() ([]byte, error) {
	m := c.model
	size := headerSize + columnSize*len(m.scale.used) + classSize*len(m.classes) + boundarySize*len(m.boundaries) +
		8*(len(m.vectors.z)+len(m.beta)) + sha256.Size
	out := append(make([]byte, 0, size), magic...)
	out = binary.LittleEndian.AppendUint16(out, FormatVersion)
	out = append(out, 0, 0)
	for _, n := range []int{m.scale.cols, m.bins, len(m.scale.used), len(m.classes), len(m.vectors.squares)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = appendFloats(out, m.gamma, m.uniformShare)
	for u, column := range m.scale.used {
		out = binary.LittleEndian.AppendUint32(out, column)
		out = appendFloats(out, m.scale.mean[u], m.scale.deviation[u])
	}
	for _, class := range m.classes {
		out = binary.LittleEndian.AppendUint32(out, class.bin)
		out = binary.LittleEndian.AppendUint32(out, class.vectors)
	}
	for _, b := range m.boundaries {
		out = appendFloats(out, b.bias, b.sigmoid.slope, b.sigmoid.level)
	}
	others := len(m.classes) - 1
	for i := range m.vectors.squares {
		out = appendFloats(out, m.vectors.row(i)...)
		out = appendFloats(out, m.beta[i*others:(i+1)*others]...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

func appendFloats(out []byte, values ...float64) []byte {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}
