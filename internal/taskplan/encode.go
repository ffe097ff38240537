package taskplan

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/plan"
)

// Format is the version of the encoding of a State and of a plan.Pool. States and pools of another format are learned again
// from the stored series.
const Format = 4

// MaxSize bounds an encoded state or pool, in compressed bytes.
const MaxSize = 2 << 20

// ErrFormat reports a state or pool that cannot be decoded. ErrDamaged, which wraps ErrFormat, reports bytes of the right
// format that cannot be decompressed, that are not valid CBOR, or that give a state that cannot be used: a part is missing, two
// parts contradict each other, a value is out of range, or the state has tallies of other rules than those of this release.
var (
	ErrFormat  = errors.New("the learned state or pool of plans cannot be decoded")
	ErrDamaged = fmt.Errorf("%w: the bytes are damaged", ErrFormat)
)

// Encode encodes a state for the store. Equal states have equal bytes.
func Encode(s *State) ([]byte, error) { return encode(s) }

// EncodePool encodes the plan.Pool of a namespace for the store.
func EncodePool(p *plan.Pool) ([]byte, error) { return encode(p) }

// encode encodes a value as compressed CBOR. The learned curves are running maxima, which repeat their values, so the bytes
// are worth compressing.
func encode(v any) ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	content, err := mode.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the state or pool of plans: %w", err)
	}
	if len(content) > maxDecoded {
		return nil, fmt.Errorf("encode the state or pool of plans: it has %d bytes before compression, more than %d", len(content), maxDecoded)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress the state or pool of plans: %w", err)
	}
	if b.Len() > MaxSize {
		return nil, fmt.Errorf("encode the state or pool of plans: it has %d bytes after compression, more than %d", b.Len(), MaxSize)
	}
	return b.Bytes(), nil
}

// Decode decodes the output of Encode.
func Decode(format int, b []byte) (*State, error) {
	s := new(State)
	if err := decode(format, b, s); err != nil {
		return nil, err
	}
	if !s.isUsable() {
		return nil, fmt.Errorf("%w: a part of the state is missing, contradicts another part or is out of range, or the state has tallies of other rules than those of this release", ErrDamaged)
	}
	return s, nil
}

// DecodePool decodes the output of EncodePool.
func DecodePool(format int, b []byte) (*plan.Pool, error) {
	p := new(plan.Pool)
	err := decode(format, b, p)
	if err == nil && !p.IsUsable() {
		err = fmt.Errorf("%w: the pool has outcomes of other rules than those of this release", ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// maxDecoded bounds the bytes of a state or pool before compression, because damaged bytes may decompress to any size.
const maxDecoded = 16 << 20

func decode(format int, b []byte, v any) error {
	if format != Format {
		return fmt.Errorf("%w: it has the format %d, not %d", ErrFormat, format, Format)
	}
	content, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxDecoded))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := cbor.Unmarshal(content, v); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// isUsable checks the parts, lengths and ranges that the methods rely on.
func (s *State) isUsable() bool {
	if !s.Learner.IsUsable() || !s.Cores.IsUsable() {
		return false
	}
	p := s.Phases
	if p == nil {
		return true
	}
	n := len(p.IDs)
	if n == 0 || p.Model == nil || p.Model.Clusters == nil || len(p.Model.Phases) != n || len(p.Next) != n || len(p.Dwell) != n || len(p.Visits) != n || !(p.Step > 0) {
		return false
	}
	channels := 1
	if p.HasCPU {
		channels = 2
	}
	if !p.Model.IsUsable(channels) {
		return false
	}
	for i, id := range p.IDs {
		if id < 0 || id >= n || len(p.Next[i]) != n+1 {
			return false
		}
	}
	return true
}
