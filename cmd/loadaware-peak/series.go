//go:build linux

package main

import "time"

const (
	mostPoints = 120
	firstStep  = 100 * time.Millisecond
)

// series keeps the usage over time in at most 120 slots of equal width. A slot keeps its
// largest memory, so that spikes survive. When a try outlives its slots, two become one:
//
//	│2│9│3│3│  4 slots of 0.1 s   ─▶   │9│3│ │ │  of 0.2 s
type series struct {
	step  time.Duration
	slots []slot
	last  point
}

type slot struct {
	memory int64         // bytes, the most
	cpu    time.Duration // spent until the slot's end
}

// point is what was seen at a time since the start.
type point struct {
	at     time.Duration
	memory int64
	cpu    time.Duration
}

func newSeries() *series {
	return &series{step: firstStep, slots: make([]slot, 0, mostPoints)}
}

// add takes points in the order of their time.
func (s *series) add(p point) {
	for p.at >= mostPoints*s.step {
		s.slots = halved(s.slots)
		s.step *= 2
	}
	for len(s.slots) <= int(p.at/s.step) {
		s.open(p)
	}
	now := &s.slots[len(s.slots)-1]
	now.memory, now.cpu = max(now.memory, p.memory), p.cpu
	s.last = p
}

// open begins the next slot, on the way from the last point to the next.
func (s *series) open(next point) {
	n := len(s.slots)
	begin := time.Duration(n) * s.step
	if n > 0 {
		s.slots[n-1].cpu = s.between(next, begin)
	}
	var memory int64
	if next.at >= begin+s.step {
		memory = s.last.memory // nobody looked in this slot: it is as it was before
	}
	s.slots = append(s.slots, slot{memory: memory})
}

// between is the CPU spent at a time between the last point and the next, on a line.
func (s *series) between(next point, at time.Duration) time.Duration {
	if next.at <= s.last.at {
		return next.cpu
	}
	share := float64(at-s.last.at) / float64(next.at-s.last.at)
	return s.last.cpu + time.Duration(share*float64(next.cpu-s.last.cpu))
}

// cores of each slot: CPU time over time.
func (s *series) cores() []float64 {
	cores := make([]float64, len(s.slots))
	var before time.Duration
	for i, slot := range s.slots {
		width := s.step
		if i == len(s.slots)-1 {
			// The last slot is cut short; of a sliver, the clock's grain would make many cores.
			width = max(s.last.at-time.Duration(i)*s.step, s.step/4)
		}
		cores[i] = float64(slot.cpu-before) / float64(width)
		before = slot.cpu
	}
	return cores
}

// halved joins neighbours: the larger memory, and the CPU at the end of the second.
func halved(slots []slot) []slot {
	half := slots[:(len(slots)+1)/2]
	for i := range half {
		pair := slots[2*i : min(2*i+2, len(slots))]
		joined := pair[len(pair)-1]
		for _, s := range pair {
			joined.memory = max(joined.memory, s.memory)
		}
		half[i] = joined
	}
	return half
}

// within is the series in at most so many points.
func (s *series) within(points int) *series {
	fewer := &series{step: s.step, slots: append([]slot(nil), s.slots...), last: s.last}
	for len(fewer.slots) > points {
		fewer.slots = halved(fewer.slots)
		fewer.step *= 2
	}
	return fewer
}
