package usagelog

import (
	"math"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

const firstStep = time.Second

// points keep the samples in at most sizing.MaxPoints slots of equal width, each the
// largest of its own, so that no peak is lost. When a sample falls outside of what they
// span, two become one:
//
//	│2│9│3│3│  4 slots of 1 s   ─▶   │9│3│ │ │  of 2 s
//
// Slots count from the first sample that was read; one from before has a negative number.
type points struct {
	from  time.Time
	step  time.Duration
	first int // number of slots[0]
	slots []slot
}

type slot struct{ memory, cpu float64 }

func (p *points) add(at time.Time, memory, cpu float64) {
	if p.step == 0 {
		*p = points{from: at, step: firstStep, slots: make([]slot, 1, sizing.MaxPoints)}
	}
	n := p.number(at)
	for max(n, p.last())-min(n, p.first) >= sizing.MaxPoints {
		p.halve()
		n = p.number(at)
	}
	if n < p.first {
		p.slots = append(make([]slot, p.first-n, sizing.MaxPoints), p.slots...)
		p.first = n
	}
	for p.last() < n {
		p.slots = append(p.slots, slot{})
	}
	p.slots[n-p.first].raise(slot{memory, cpu})
}

func (p *points) last() int { return p.first + len(p.slots) - 1 }

// number of the slot of a time: rounded down, also below zero.
func (p *points) number(at time.Time) int {
	return int(math.Floor(float64(at.Sub(p.from)) / float64(p.step)))
}

// halve joins each slot of an even number with the next.
func (p *points) halve() {
	joined := make([]slot, p.last()>>1-p.first>>1+1, sizing.MaxPoints)
	for i, s := range p.slots {
		joined[(p.first+i)>>1-p.first>>1].raise(s)
	}
	p.slots, p.first, p.step = joined, p.first>>1, 2*p.step
}

func (s *slot) raise(by slot) { s.memory, s.cpu = max(s.memory, by.memory), max(s.cpu, by.cpu) }

// series of what was seen; nil where no sample has memory. Where nobody looked, it is
// as it was before. Cores are rounded to thousandths.
func (p *points) series() *sizing.Series {
	s := &sizing.Series{Step: p.step}
	var before, most slot
	for _, now := range p.slots {
		if now == (slot{}) {
			now = before
		}
		s.Memory = append(s.Memory, int64(math.Ceil(now.memory)))
		s.CPU = append(s.CPU, math.Round(now.cpu*1000)/1000)
		most.raise(now)
		before = now
	}
	if most.memory == 0 {
		return nil
	}
	if most.cpu == 0 {
		s.CPU = nil
	}
	return s
}
