package postgres

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A series from which plans are learned (sizing.Observation.PlanSeries) is stored as the differences of successive
// values, in varints: while the usage is constant, each step takes one byte for memory and one for CPU. Memory is rounded
// up to a multiple of memoryUnit, CPU to the nearest multiple of cpuUnit.
const (
	memoryUnit = 64 << 10 // bytes
	cpuUnit    = 0.001    // cores
)

// encodeSeries returns the stored form of a valid series without its step: the number of values, the
// values of memory, and those of CPU if they are known.
func encodeSeries(s *sizing.Series) []byte {
	b := binary.AppendUvarint(nil, uint64(len(s.Memory)))
	last := int64(0)
	for _, m := range s.Memory {
		v := (m + memoryUnit - 1) / memoryUnit
		b = binary.AppendVarint(b, v-last)
		last = v
	}
	last = 0
	for _, c := range s.CPU {
		v := int64(math.Round(c / cpuUnit))
		b = binary.AppendVarint(b, v-last)
		last = v
	}
	return b
}

var errSeries = errors.New("a stored series is malformed")

func decodeSeries(step time.Duration, b []byte) (sizing.Series, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > sizing.MaxDetailedPoints {
		return sizing.Series{}, errSeries
	}
	b = b[size:]
	memory, b, ok := readDeltas(b, int(n))
	s := sizing.Series{Step: step, Memory: memory}
	for i := range memory {
		memory[i] *= memoryUnit
	}
	if ok && len(b) > 0 {
		var cpu []int64
		cpu, b, ok = readDeltas(b, int(n))
		s.CPU = make([]float64, len(cpu))
		for i, c := range cpu {
			s.CPU[i] = float64(c) * cpuUnit
		}
	}
	if !ok || len(b) > 0 {
		return sizing.Series{}, errSeries
	}
	return s, nil
}

func readDeltas(b []byte, n int) (values []int64, rest []byte, ok bool) {
	values = make([]int64, n)
	last := int64(0)
	for i := range values {
		delta, size := binary.Varint(b)
		if size <= 0 {
			return nil, nil, false
		}
		last += delta
		values[i], b = last, b[size:]
	}
	return values, b, true
}
