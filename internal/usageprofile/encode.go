package usageprofile

import (
	"errors"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/density"
)

// Format is the version of the encoding. The next search for profiles replaces a stored set of another format.
const Format = 1

// MaxSize bounds an encoded set, in bytes.
const MaxSize = 5 << 20

// ErrFormat reports an encoded set that cannot be read.
var ErrFormat = errors.New("usage profiles cannot be decoded")

// Encode encodes a set for the store. Equal sets have equal bytes.
func Encode(s *Set) ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	b, err := mode.Marshal(s)
	if err == nil && len(b) > MaxSize {
		err = fmt.Errorf("they have %d bytes, more than %d", len(b), MaxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("encode usage profiles: %w", err)
	}
	return b, nil
}

// Decode decodes the output of Encode. It returns ErrFormat if format is not Format, or if b is damaged.
func Decode(format int, b []byte) (*Set, error) {
	if format != Format {
		return nil, fmt.Errorf("%w: they have the format %d, not %d", ErrFormat, format, Format)
	}
	s := new(Set)
	if err := cbor.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if problem := s.problem(); problem != "" {
		return nil, fmt.Errorf("%w: %s", ErrFormat, problem)
	}
	s.byTask = make(map[Task]int32, len(s.Tasks))
	for i, task := range s.Tasks {
		s.byTask[task] = int32(i)
	}
	return s, nil
}

// problem returns what makes a decoded set unusable; "" if it is usable.
func (s *Set) problem() string {
	n, columns := len(s.Labels), len(s.Quantities)
	if n == 0 || columns == 0 || columns > clustered {
		return fmt.Sprintf("%d runs and %d columns are out of range", n, columns)
	}
	if len(s.Median) != columns || len(s.Scale) != columns {
		return "the lists of columns differ in length"
	}
	if len(s.Points) != n*columns || len(s.Core) != n || len(s.MinBranchDistance) != n || len(s.Scores) != n || len(s.TaskOf) != n {
		return "the lists of runs differ in length"
	}
	for _, q := range s.Quantities {
		if int(q) >= clustered {
			return fmt.Sprintf("quantity %d cannot be a column", q)
		}
	}
	for i, label := range s.Labels {
		if int(label) < density.Noise || int(label) >= len(s.Profiles) || s.TaskOf[i] < 0 || int(s.TaskOf[i]) >= len(s.Tasks) {
			return fmt.Sprintf("run %d has label %d of %d profiles and task %d of %d tasks", i, label, len(s.Profiles), s.TaskOf[i], len(s.Tasks))
		}
	}
	for _, v := range s.Points {
		if math.IsNaN(float64(v)) {
			return "a coordinate is not a number"
		}
	}
	return ""
}
