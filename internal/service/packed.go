package service

import (
	"encoding/binary"
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A record is a try's key, what it was answered, and its features. Every part says where
// it ends, so that no key begins with another.

func appendTask(b []byte, task sizing.TaskKey) []byte {
	return appendText(appendText(appendText(b, task.Namespace), task.DAG), task.Task)
}

func appendTry(b []byte, try *sizing.TryKey) []byte {
	b = appendText(appendTask(b, try.TaskKey), try.RunID)
	return binary.AppendVarint(binary.AppendVarint(b, int64(try.MapIndex)), int64(try.Number))
}

func appendAnswer(b []byte, a *asked) []byte {
	b = binary.AppendVarint(b, int64(a.limit))
	b = binary.AppendVarint(b, int64(a.terms.requested.Memory))
	b = appendNumber(b, float64(a.terms.requested.CPU))
	b = binary.AppendVarint(b, int64(a.terms.most))
	if a.promised == nil {
		return append(b, 0)
	}
	return appendNumber(append(b, 1), *a.promised)
}

// appendFeatures writes one more than their number; nothing but 0 where they are not known.
func appendFeatures(b []byte, features sizing.Features) []byte {
	if features == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(features))+1)
	for name, v := range features {
		b = append(appendText(b, name), byte(v.Kind))
		if v.Kind != sizing.Category {
			b = appendNumber(b, v.Num)
		}
		if v.Kind == sizing.Category || v.Kind == sizing.Date {
			b = appendText(b, v.Text)
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendNumber(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// answerOf reads what appendAnswer wrote. The features behind it are read when they are
// asked for.
func answerOf(record packed) asked {
	a := asked{limit: sizing.Bytes(record.int())}
	a.terms.requested.Memory = sizing.Bytes(record.int())
	a.terms.requested.CPU = sizing.Cores(record.number())
	a.terms.most = sizing.Bytes(record.int())
	if record.byte() == 1 {
		v := record.number()
		a.promised = &v
	}
	a.features = record
	return a
}

// packed is the rest of a record that is being read.
type packed []byte

// read are the features that appendFeatures wrote.
func (p packed) read() sizing.Features {
	if len(p) == 0 {
		return nil
	}
	n := p.uint()
	if n == 0 {
		return nil
	}
	features := make(sizing.Features, n-1)
	for range n - 1 {
		name, v := p.text(), sizing.Value{Kind: sizing.ValueKind(p.byte())}
		if v.Kind != sizing.Category {
			v.Num = p.number()
		}
		if v.Kind == sizing.Category || v.Kind == sizing.Date {
			v.Text = p.text()
		}
		features[name] = v
	}
	return features
}

func (p *packed) byte() byte {
	b := (*p)[0]
	*p = (*p)[1:]
	return b
}

func (p *packed) int() int64 {
	v, n := binary.Varint(*p)
	*p = (*p)[n:]
	return v
}

func (p *packed) uint() uint64 {
	v, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return v
}

func (p *packed) number() float64 {
	v := binary.LittleEndian.Uint64(*p)
	*p = (*p)[8:]
	return math.Float64frombits(v)
}

func (p *packed) text() string {
	n := p.uint()
	s := string((*p)[:n])
	*p = (*p)[n:]
	return s
}
