package svm

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat reports bytes that are not an intact model of FormatVersion, such as truncated or corrupt bytes.
var ErrFormat = errors.New("svm: not a stored model")

// UnmarshalBinary reads the output of MarshalBinary. It returns ErrFormat for anything
// else and then leaves c unchanged. It never panics, and allocates at most a small
// multiple of len(data).
func (c *Classifier) UnmarshalBinary(data []byte) error {
	body, err := verify(data)
	if err != nil {
		return err
	}
	m, err := decode(body)
	if err != nil {
		return err
	}
	*c = *newClassifier(m)
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
// changes. It compares sizes with the remaining bytes before it allocates.
func decode(body []byte) (*model, error) {
	r := reader{rest: body[8:], valid: body[6] == 0 && body[7] == 0}
	columns, bins, used, classes, vectors := r.uint32(), r.uint32(), r.uint32(), r.uint32(), r.uint32()
	m := &model{gamma: r.float(), uniformShare: r.float(), bins: bins, scale: scale{cols: columns}}
	r.require(bins >= 1 && bins <= maxBins && classes >= 1 && classes <= bins)
	r.require(m.gamma > 0 && m.uniformShare > 0 && m.uniformShare <= 1)
	r.columns(&m.scale, used)
	r.classes(m, classes, vectors)
	r.boundaries(m, classes)
	r.vectors(m, used, classes, vectors)
	if !r.valid || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: too short, too long, or a value is out of its range", ErrFormat)
	}
	return m, nil
}

// reader consumes values from the front of rest. After the first invalid value it returns
// zeros.
type reader struct {
	rest  []byte
	valid bool
}

func (r *reader) require(ok bool) { r.valid = r.valid && ok }

func (r *reader) fits(n, size int) bool {
	r.require(size == 0 || n <= len(r.rest)/size)
	return r.valid
}

func (r *reader) uint32() int {
	if !r.fits(1, 4) {
		return 0
	}
	v := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return int(v)
}

func (r *reader) float() float64 {
	if !r.fits(1, 8) {
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	r.require(finite(v))
	return v
}

func (r *reader) columns(s *scale, n int) {
	if !r.fits(n, columnSize) {
		return
	}
	for u := range n {
		column, mean, deviation := r.uint32(), r.float(), r.float()
		r.require(column < s.cols && (u == 0 || column > int(s.used[u-1])) && deviation > 0)
		s.used = append(s.used, uint32(column))
		s.mean, s.deviation = append(s.mean, mean), append(s.deviation, deviation)
	}
}

func (r *reader) classes(m *model, n, vectors int) {
	if !r.fits(n, classSize) {
		return
	}
	for i := range n {
		bin, own := r.uint32(), r.uint32()
		r.require(bin < m.bins && (i == 0 || bin > int(m.classes[i-1].bin)))
		m.classes = append(m.classes, member{uint32(bin), uint32(own)})
		vectors -= own
	}
	r.require(vectors == 0)
}

func (r *reader) boundaries(m *model, classes int) {
	n := classes * (classes - 1) / 2
	if !r.fits(n, boundarySize) {
		return
	}
	for range n {
		m.boundaries = append(m.boundaries, boundary{r.float(), sigmoid{r.float(), r.float()}})
	}
}

// vectors reads n support vectors. Their values must be within the bounds of Fit, so that sums
// stay finite.
func (r *reader) vectors(m *model, used, classes, n int) {
	others := classes - 1
	r.require(others > 0 || n == 0) // a single class has no boundary
	if !r.fits(n, 8*(used+others)) {
		return
	}
	m.vectors.p = used
	z := make([]float64, used)
	for range n {
		for u := range z {
			z[u] = r.float()
			r.require(math.Abs(z[u]) <= maxStandardised)
		}
		m.vectors.add(z)
		for range others {
			beta := r.float()
			r.require(math.Abs(beta) <= maxPenalty)
			m.beta = append(m.beta, beta)
		}
	}
}
