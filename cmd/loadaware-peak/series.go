//go:build linux

package main

import "time"

const (
	maxPoints = 120
	firstStep = 100 * time.Millisecond
)

// series has the usage over time in at most maxPoints slots of equal width. A slot keeps its
// maximum memory, so spikes survive. If the run is longer than all slots together, each pair of slots
// becomes one slot of twice the width:
//
//	│2│9│3│3│  4 slots of 0.1 s   ─▶   │9│3│ │ │  of 0.2 s
type series struct {
	step  time.Duration
	slots []slot
	last  point
}

type slot struct {
	memory int64         // bytes, the maximum
	cpu    time.Duration // from the start of the run until the end of the slot
}

type point struct {
	at     time.Duration // since the start
	memory int64         // bytes
	cpu    time.Duration // since the start
}

func newSeries() *series {
	return &series{step: firstStep, slots: make([]slot, 0, maxPoints)}
}

// add adds a point. Points must be added in time order.
func (s *series) add(p point) {
	for p.at >= maxPoints*s.step {
		s.slots = mergePairs(s.slots)
		s.step *= 2
	}
	for len(s.slots) <= int(p.at/s.step) {
		s.open(p)
	}
	now := &s.slots[len(s.slots)-1]
	now.memory, now.cpu = max(now.memory, p.memory), p.cpu
	s.last = p
}

// open completes the last slot and appends an empty one. The argument `next` is the point that is being added.
func (s *series) open(next point) {
	n := len(s.slots)
	begin := time.Duration(n) * s.step
	if n > 0 {
		s.slots[n-1].cpu = s.interpolateCPU(next, begin)
	}
	var memory int64
	if next.at >= begin+s.step {
		memory = s.last.memory // no sample in this slot: repeat the last one
	}
	s.slots = append(s.slots, slot{memory: memory})
}

// interpolateCPU returns the CPU time at `at`, a time between the last point and the point `next`.
func (s *series) interpolateCPU(next point, at time.Duration) time.Duration {
	if next.at <= s.last.at {
		return next.cpu
	}
	share := float64(at-s.last.at) / float64(next.at-s.last.at)
	return s.last.cpu + time.Duration(share*float64(next.cpu-s.last.cpu))
}

// cores returns the mean CPU rate of each slot.
func (s *series) cores() []float64 {
	cores := make([]float64, len(s.slots))
	var before time.Duration
	for i, slot := range s.slots {
		width := s.step
		if i == len(s.slots)-1 {
			// The last slot is partial. A minimum width avoids huge rates from clock granularity.
			width = max(s.last.at-time.Duration(i)*s.step, s.step/4)
		}
		cores[i] = float64(slot.cpu-before) / float64(width)
		before = slot.cpu
	}
	return cores
}

// mergePairs merges each pair of slots into one slot, and returns the merged slots. It overwrites its argument.
func mergePairs(slots []slot) []slot {
	half := slots[:(len(slots)+1)/2]
	for i := range half {
		pair := slots[2*i : min(2*i+2, len(slots))]
		merged := pair[len(pair)-1]
		for _, s := range pair {
			merged.memory = max(merged.memory, s.memory)
		}
		half[i] = merged
	}
	return half
}

// downsample returns a copy of the series with at most `points` points, which must be 1 or more.
func (s *series) downsample(points int) *series {
	fewer := &series{step: s.step, slots: append([]slot(nil), s.slots...), last: s.last}
	for len(fewer.slots) > points {
		fewer.slots = mergePairs(fewer.slots)
		fewer.step *= 2
	}
	return fewer
}
