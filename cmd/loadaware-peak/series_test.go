//go:build linux

package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

func TestSlotKeepsMaximum(t *testing.T) {
	s := newSeries()
	for _, p := range []point{{at: 20 * ms, memory: 5}, {at: 40 * ms, memory: 90}, {at: 60 * ms, memory: 4}, {at: 120 * ms, memory: 6}} {
		s.add(p)
	}
	assert.Equal(t, []int64{90, 6}, memories(s))
}

func TestGapRepeatsPreviousSample(t *testing.T) {
	s := newSeries()
	s.add(point{at: 50 * ms, memory: 7})
	s.add(point{at: 350 * ms, memory: 2})
	assert.Equal(t, []int64{7, 7, 7, 2}, memories(s))
}

func TestCoresAreInterpolated(t *testing.T) {
	s := newSeries()
	s.add(point{at: 0})
	s.add(point{at: 100 * ms, cpu: 100 * ms}) // one core
	s.add(point{at: 400 * ms, cpu: 700 * ms}) // two cores over three slots
	assert.InDeltaSlice(t, []float64{1, 2, 2, 2, 0}, s.cores(), 1e-9)
}

func TestMergePairsKeepsMaximumAndCPU(t *testing.T) {
	got := mergePairs([]slot{{2, 1 * ms}, {9, 2 * ms}, {3, 5 * ms}, {3, 6 * ms}, {1, 8 * ms}})
	assert.Equal(t, []slot{{9, 2 * ms}, {3, 6 * ms}, {1, 8 * ms}}, got)
}

func TestSeriesHasAtMost120PointsAndKeepsMaximum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s, at, largest, cpu := newSeries(), time.Duration(0), int64(0), time.Duration(0)
		for range rng.IntN(2000) {
			gap := time.Duration(rng.ExpFloat64() * float64(time.Second))
			at, cpu = at+gap, cpu+time.Duration(rng.Float64()*2*float64(gap))
			memory := rng.Int64N(1 << 40)
			largest = max(largest, memory)
			s.add(point{at, memory, cpu})
		}
		assert.LessOrEqual(t, len(s.slots), maxPoints)
		var top int64
		var total float64
		for i, cores := range s.cores() {
			top = max(top, s.slots[i].memory)
			assert.GreaterOrEqual(t, cores, 0.0)
			assert.LessOrEqual(t, cores, 2.0+1e-6)
			if i < len(s.slots)-1 {
				total += cores * s.step.Seconds()
			}
		}
		assert.Equal(t, largest, top)
		assert.LessOrEqual(t, total, cpu.Seconds()+1e-6)
		few := s.downsample(10)
		assert.LessOrEqual(t, len(few.slots), 10)
	}
}

func memories(s *series) []int64 {
	var all []int64
	for _, slot := range s.slots {
		all = append(all, slot.memory)
	}
	return all
}
